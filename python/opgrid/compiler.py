"""``compile`` and what programs say to compilers. Nothing is compiled: functions run as they are, one operator at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ._notes import note

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
]

_Called = TypeVar("_Called", bound=Callable[..., Any])


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """The function or module itself, which runs as it is; a note says so once. Without one, a decorator.

    Raises: RuntimeError for both a ``mode`` and ``options``, and TypeError for what cannot be called.
    """
    if mode is not None and options is not None:
        raise RuntimeError("compile(): either `mode` or `options` can be given, found both")
    if model is None:
        return lambda function: compile(function, disable=disable)
    if not callable(model):
        raise TypeError(f"compile(): expected a function or a module, found {type(model).__name__}")
    if not disable:
        note("compile(): nothing is compiled; the function runs as it is")
    return model


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function, which is not compiled; without one, a decorator."""
    return (lambda function: function) if fn is None else fn


def allow_in_graph(fn: _Called) -> _Called:
    """The function; a compiler would not look into it."""
    return fn


def assume_constant_result(fn: _Called) -> _Called:
    """The function; a compiler would call it once."""
    return fn


def is_compiling() -> bool:
    """Whether the caller is being compiled: no."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names of compilers: none."""
    return []


def reset() -> None:
    """Forgets what was compiled: nothing."""


def cudagraph_mark_step_begin() -> None:
    """Says that a step begins; nothing is replayed."""


class set_stance:
    """How compiled functions are to run, at once, as a context manager or a decorator. They run as they are."""

    def __init__(self, stance: str = "default", **_options: Any) -> None:
        self.stance = stance

    def __call__(self, fn: _Called) -> _Called:
        return fn

    def __enter__(self) -> set_stance:
        return self

    def __exit__(self, *_raised: object) -> None:
        pass
