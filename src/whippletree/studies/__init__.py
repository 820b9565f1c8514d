"""Studies of a system: simulations that become trajectories, one or many, checkpoints, and studies of cases."""

from typing import TYPE_CHECKING

from whippletree.foundation.late_imports import late_names
from whippletree.studies import cases
from whippletree.studies.many_runs import simulate_many
from whippletree.studies.simulations import resume, simulate

if TYPE_CHECKING:
    from whippletree.studies.study import Study
    from whippletree.studies.study_files import read_study

__all__ = ["Study", "cases", "read_study", "resume", "simulate", "simulate_many"]

__getattr__ = late_names(
    __name__, {"whippletree.studies.study": "Study", "whippletree.studies.study_files": "read_study"}
)
