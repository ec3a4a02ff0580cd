"""``compile``, and what programs say to compilers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

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
    """The function or module, compiled: it gives the same bits, and element-wise operators that follow each other run as one loop each.

    It is traced at the first call with arguments of each dtype, shape, strides and values, for eight of these at most, without computing
    anything; then programs run instead of its Python code. What cannot be traced, as code that looks at elements, and what records
    gradients, runs as it is. ``report()`` of the result says what is fused, what ran how often, and why the rest did not; with
    ``fullgraph`` what cannot be traced is an error. Without a function, a decorator.

    Values that the code finds in its closure and in globals that it names, directly or by functions and containers, and in attributes of
    modules are looked at before each call; where it names other objects, it runs as it is. What is read elsewhere is that of the first
    call, as are effects other than on tensors.

    ``backend="eager"`` compiles nothing. ``dynamic``, ``mode`` and ``options`` are those of other compilers, and change nothing.

    Raises: RuntimeError for both a ``mode`` and ``options``, and TypeError for what cannot be called.

    >>> import opgrid as og
    >>> f = og.compile(lambda x: (x * 2).tanh() + 1)
    >>> f(og.zeros(2))
    tensor([1., 1.])
    >>> f.report().compiled_calls
    1
    """
    if mode is not None and options is not None:
        raise RuntimeError("compile(): either `mode` or `options` can be given, found both")
    if model is None:
        return lambda function: compile(function, fullgraph=fullgraph, dynamic=dynamic, backend=backend, disable=disable)
    if not callable(model):
        raise TypeError(f"compile(): expected a function or a module, found {type(model).__name__}")
    if disable or backend == "eager":
        return model
    from . import _compiled, nn

    compiler = _compiled.Compiler(model, fullgraph)
    if isinstance(model, nn.Module):
        return _compiled.CompiledModule(model, compiler)

    @functools.wraps(model)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        return compiler.call(args, kwargs)

    setattr(compiled, "report", compiler.report)
    return compiled


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
    """The names of compilers: that of this package goes by the name of torch's."""
    return ["inductor"]


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
