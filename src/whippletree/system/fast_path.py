"""The second call of a function in one Python frame.

A kernel of a small mechanism takes less time than Python needs to call a function. So a method such as
`System.forward_dynamics` looks for a cached call first and hands the arrays to machine code from its own frame; all
else (options, first calls) is left to what is written in the method. `fast_path` puts that look in front of a method.
To cost nothing more, it has to be code with the method's own arguments, which is written here as text and compiled, as
`dataclasses` and `namedtuple` do.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from whippletree.foundation.user_frames import user_facing
from whippletree.system.calls import Call
from whippletree.system.evaluator import AUTO, cache_key

__all__ = ["arguments_of", "fast_path"]

P = ParamSpec("P")
R = TypeVar("R")

_TEXT = """
def bind(method, AUTO, START, slow_path):
    def {name}(self, {arguments}):
        if {plain}:
            call = self._cached.get({key})
            if call is not None:
                result = call.empty() if out is None else out
                if call.entry(result, {state}) == 0:
                    return result
                return slow_path(call, ({state},), out, threads)
        return method(self, {passed})
    return {name}
"""
_NEVER_PLAIN = frozenset({"out", "threads", "t", "check"})
"""Options that do not keep a call from being the cached one: where the time counts, no call is cached."""

_GOOD = {
    "t": "(t is START or t.__class__ is float and t - t == 0.0)",
    "threads": "(threads is None or threads.__class__ is int and threads > 0)",
}
"""What these are like if nothing has to be said about them, as code: anything else is looked at in the method."""


def fast_path(method: Callable[P, R]) -> Callable[P, R]:
    """Let a method of `System` hand its arguments to the cached call of the same name, if it got a state only.

    The method takes the state by position, and `out` and `threads` by keyword.
    """
    return _with_fast_path(method, inspect.signature(method))


def arguments_of(like: Callable[P, R]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """Give a method the fast path, the arguments and the defaults of another method."""

    def decorated(method: Callable[..., R]) -> Callable[P, R]:
        return _with_fast_path(method, inspect.signature(like))

    return decorated


def _with_fast_path(method: Callable[..., Any], signature: inspect.Signature) -> Callable[..., Any]:
    _, *arguments = signature.parameters.values()
    state = [a.name for a in arguments if a.kind is a.POSITIONAL_OR_KEYWORD]
    options = [a.name for a in arguments if a.kind is a.KEYWORD_ONLY]
    choice = [a.name for a in arguments if a.kind is a.VAR_KEYWORD]
    plain = [f"{name} is None" for name in options if name not in _NEVER_PLAIN and name != "formulation"]
    plain += ["formulation is AUTO", *(f"not {name}" for name in choice)]
    plain += [text for name, text in _GOOD.items() if name in options]
    name = method.__name__
    checked = f"{cache_key(name, True)!r} if check is True else None if check is not False else "
    text = _TEXT.format(
        name=name,
        arguments=", ".join([*state, "*", *options, *(f"**{name}" for name in choice)]),
        plain=" and ".join(plain),
        key=f"{checked if 'check' in options else ''}{cache_key(name, False)!r}",
        state=", ".join(state),
        passed=", ".join([*state, *(f"{name}={name}" for name in options), *(f"**{name}" for name in choice)]),
    )
    namespace: dict[str, Any] = {}
    exec(compile(text, f"<fast path of {name}>", "exec"), method.__globals__, namespace)
    start = signature.parameters["t"].default
    fast: Any = namespace["bind"](user_facing(method), AUTO, start, user_facing(Call.slow_path))
    functools.update_wrapper(fast, method)
    fast.__defaults__ = tuple(a.default for a in arguments if a.name in state and a.default is not a.empty)
    fast.__kwdefaults__ = {a.name: a.default for a in arguments if a.name in options}
    fast.__signature__ = signature
    fast.user_facing = True
    return fast  # type: ignore[no-any-return]
