"""The methods of the package, by name."""

from __future__ import annotations

from functools import partial

from whippletree.simulate.adams import Adams
from whippletree.simulate.generalized_alpha import IMPLICIT
from whippletree.simulate.implicit import Implicit
from whippletree.simulate.run_tolerances import TOLERANCE_ACROSS
from whippletree.simulate.runge_kutta import RungeKutta
from whippletree.simulate.steppers import MethodOptions, Stepper, register_stepper
from whippletree.simulate.tableaus import METHODS

__all__ = ["crossing_stepper"]

for _name, _tableau in METHODS.items():
    register_stepper(_name, partial(RungeKutta, _tableau))
register_stepper("adams", Adams)
register_stepper("semi_implicit_euler", partial(RungeKutta, None))
for _name in IMPLICIT:
    register_stepper(_name, Implicit)


def crossing_stepper(tolerance: float) -> Stepper:
    """Return the method that goes across singular positions for those that do not do so themselves."""
    options = MethodOptions("dop853", min(tolerance, TOLERANCE_ACROSS), adaptive=True)
    return RungeKutta(METHODS["dop853"], options)
