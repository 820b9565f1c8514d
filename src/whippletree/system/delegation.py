"""Methods of a system that belong to one of the groups it is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

__all__ = ["Delegated"]

G = TypeVar("G")
P = ParamSpec("P")
R = TypeVar("R")


class Delegated(Generic[P, R]):
    """A method that is a group's: `pose = Delegated("_kinematics", KinematicCalls.pose)`.

    The group's method is written, typed and documented once. When it is first asked for, the group's bound method is
    put into the object's own dictionary, so that calls go to the group without a frame in between.

    >>> class Wheel:
    ...     def turn(self, angle: float) -> str:
    ...         return f"turned by {angle}"
    >>> class Car:
    ...     turn = Delegated("wheel", Wheel.turn)
    ...     def __init__(self):
    ...         self.wheel = Wheel()
    >>> Car().turn(2.0)
    'turned by 2.0'
    """

    def __init__(self, group: str, method: Callable[Concatenate[Any, P], R]) -> None:
        self._group, self._method = group, method
        self.__doc__ = method.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, whole: None, owner: type) -> Callable[Concatenate[Any, P], R]: ...

    @overload
    def __get__(self, whole: object, owner: type) -> Callable[P, R]: ...

    def __get__(self, whole: object | None, owner: type) -> Any:
        if whole is None:
            return self._method
        bound = getattr(getattr(whole, self._group), self._method.__name__)
        setattr(whole, self._name, bound)
        return bound
