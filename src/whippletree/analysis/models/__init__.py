"""The papers' models: mechanisms with the numbers of bodies, joints and freedoms that the papers state.

Where a paper gives no dimensions, and most give none, they are plausible ones, in metres and kilograms, stated here.
Every function returns a `PaperModel`: a mechanism, roughly where its joints are, and where its loops are cut.
"""

from __future__ import annotations

from collections.abc import Callable

from whippletree.analysis.models.common import PaperModel, body_joint_pairs
from whippletree.analysis.models.garcia_de_jalon_models import bricard, five_bar_pendulum, human_body, two_arms
from whippletree.analysis.models.kang_yoon_models import quarter_car
from whippletree.analysis.models.nikravesh_models import (
    closed_chain,
    deformable_chain,
    serial_chain,
    slider_four_bar,
    stanford_arm,
    star,
)
from whippletree.analysis.models.vehicles import car, heavy_truck

__all__ = [
    "MODELS",
    "PaperModel",
    "body_joint_pairs",
    "bricard",
    "car",
    "closed_chain",
    "deformable_chain",
    "five_bar_pendulum",
    "heavy_truck",
    "human_body",
    "quarter_car",
    "serial_chain",
    "slider_four_bar",
    "stanford_arm",
    "star",
    "two_arms",
]

MODELS: dict[str, Callable[[], PaperModel]] = {
    "quarter car": quarter_car,
    "Stanford arm": stanford_arm,
    "four-bar on a slide": slider_four_bar,
    "Bricard": bricard,
    "five-bar pendulum": five_bar_pendulum,
    "car": car,
    "human body": human_body,
    "heavy truck": heavy_truck,
}
"""The papers' models by name; families are `serial_chain` and `star`."""
