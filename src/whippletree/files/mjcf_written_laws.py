"""Writing MJCF: couplings as equalities, sums of coordinates as tendons, laws as actuators."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.polynomial import Polynomial

from whippletree.files.writable_laws import AffineLaw
from whippletree.files.writable_model import WritableModel
from whippletree.files.xml_text import XmlTag, numbers

__all__ = ["write_couplings", "write_laws"]


def write_couplings(whole: WritableModel, root: XmlTag, equality: XmlTag) -> None:
    """Write couplings: of two joints by a polynomial, of more by a tendon whose length is fixed."""
    for one in whole.couplings:
        if len(one.ratios) == 1:
            ((joint, ratio),) = one.ratios.items()
            _polynomial(whole, equality, one.name, joint, "", (one.offset / ratio,))
        elif len(one.ratios) == 2:
            # not empty: there are two joints; the one with the ratio 1 is meant
            joint = min(one.ratios, key=lambda name: one.ratios[name] != 1.0)
            leader, ratio, offset = one.solved_for(joint)
            _polynomial(whole, equality, one.name, joint, leader, (offset, ratio))
        else:
            _tendon(root, one.name, one.ratios)
            length = sum(ratio * _reference(whole, joint) for joint, ratio in one.ratios.items())
            equality.add("tendon", name=one.name, tendon1=one.name, polycoef=_five((one.offset - length,)))
    for law in whole.polynomials:
        _polynomial(whole, equality, law.name, law.joint, law.leader, law.powers)


def _polynomial(
    whole: WritableModel, equality: XmlTag, name: str, joint: str, leader: str, powers: tuple[float, ...]
) -> None:
    """Write a coordinate as a polynomial of another; in the file, both count from where the model starts."""
    start = _reference(whole, leader) if leader else 0.0
    shifted = Polynomial(powers)(Polynomial([start, 1.0])) if start else Polynomial(powers)
    constant, *higher = (float(c) for c in shifted.coef)
    others = {"joint2": leader} if leader else {}
    coefficients = _five((constant - _reference(whole, joint), *higher))
    equality.add("joint", name=name, joint1=joint, **others, polycoef=coefficients)


def _five(powers: tuple[float, ...]) -> str:
    return numbers([*powers, 0.0, 0.0, 0.0, 0.0][:5])


def _reference(whole: WritableModel, joint: str) -> float:
    """Return the coordinate of a joint where the file starts."""
    return (*whole.tree[joint].start, 0.0)[0]


def write_laws(whole: WritableModel, root: XmlTag) -> None:
    """Write laws: springs and dampers of tendons as such, all others as actuators, and motors."""
    actuators = XmlTag("actuator")
    for law in whole.laws:
        constant, slope, rate = law.bias
        several = len(law.ratios) > 1
        spring = (
            several
            and not law.controlled
            and law.forces is None
            and slope <= 0.0
            and rate <= 0.0
            and (slope or not constant)
        )
        length = constant / -slope if slope else 0.0
        if spring and length != _AT_START:
            given = {"stiffness": -slope, "damping": -rate, "springlength": length}
            _tendon(root, law.name, law.ratios, {key: numbers([value]) for key, value in given.items()})
            continue
        if several:
            _tendon(root, law.name, law.ratios)
        target = {"tendon": law.name} if several else {"joint": min(law.ratios)}  # not empty: it has one joint
        _actuator(actuators, law, target)
    for name, motor in whole.motors.items():
        several = len(motor.efforts) > 1
        if several:
            _tendon(root, name, motor.efforts)
        target = {"tendon": name} if several else {"joint": min(motor.efforts)}  # not empty: it has one joint
        gear = 1.0 if several else sum(motor.efforts.values())
        limited = motor.lower is not None and motor.upper is not None
        ends = {"ctrlrange": numbers([motor.lower, motor.upper])} if limited else {}  # type: ignore[list-item]
        actuators.add("motor", name=name, **target, gear=numbers([gear]), ctrllimited=str(limited).lower(), **ends)
    if actuators.has_children:
        root.append(actuators)


_AT_START = -1.0
"""A tendon's `springlength` with this value stands for the length at the start, so it must not be written."""


def _actuator(actuators: XmlTag, law: AffineLaw, target: Mapping[str, str]) -> None:
    affine = {"gaintype": "affine", "gainprm": numbers(law.gain), "biastype": "affine", "biasprm": numbers(law.bias)}
    for word, limits in (("ctrl", law.controls), ("force", law.forces)):
        affine[f"{word}limited"] = "false" if limits is None else "true"
        if limits is not None:
            affine[f"{word}range"] = numbers(limits)
    actuators.add("general", name=law.name, **target, **affine)


def _tendon(root: XmlTag, name: str, ratios: Mapping[str, float], given: Mapping[str, str] | None = None) -> None:
    tendons = root.child("tendon") or root.add("tendon")
    fixed = tendons.add("fixed", name=name, **(given or {}))
    for joint, ratio in ratios.items():
        fixed.add("joint", joint=joint, coef=numbers([ratio]))
