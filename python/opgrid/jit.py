"""Names of TorchScript. Python runs what would be scripted or traced: ``script`` and ``trace`` give their argument back and say so once,
annotations are accepted, and files of TorchScript are refused. ``opgrid.export`` has programs that are files."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, Final, TypeVar

from ._notes import note
from .errors import NotSupportedError
from .errors import ScriptError as Error
from .futures import Future

__all__ = [
    "Error",
    "Final",
    "Future",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "set_fusion_strategy",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

_T = TypeVar("_T")


def _as_it_is(what: str, given: _T) -> _T:
    note(f"jit.{what}(): there is no TorchScript; the function runs as it is. Programs come from `opgrid.export.export`", stacklevel=4)
    return given


def script(obj: _T, **_options: Any) -> _T:
    """The function, module or class itself."""
    return _as_it_is("script", obj)


def trace(func: _T, example_inputs: Any = None, **_options: Any) -> _T:
    """The function or module itself, which is not run."""
    return _as_it_is("trace", func)


def trace_module(mod: _T, inputs: Any = None, **_options: Any) -> _T:
    """The module itself, which is not run."""
    return _as_it_is("trace_module", mod)


def freeze(mod: _T, preserved_attrs: Any = None, optimize_numerics: bool = True) -> _T:
    """The module itself."""
    return mod


def optimize_for_inference(mod: _T, other_methods: Any = None) -> _T:
    """The module itself."""
    return mod


def _accepted(fn: _T) -> _T:
    """The function: annotations for the compiler of TorchScript change nothing."""
    return fn


export = interface = script_if_tracing = _accepted


def ignore(drop: Any = False, **_options: Any) -> Any:
    """The function, which TorchScript would call in Python; without one, a decorator."""
    return drop if callable(drop) else _accepted


def unused(fn: _T) -> _T:
    """The function, which TorchScript would not have."""
    return fn


def annotate(the_type: Any, the_value: _T) -> _T:
    """The value, of which TorchScript would know the type."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether the object is of the class, or of one in a tuple. Classes of containers are asked without their elements."""
    kinds = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    return builtins.isinstance(obj, tuple(getattr(kind, "__origin__", None) or kind for kind in kinds))


def is_scripting() -> bool:
    """Whether TorchScript runs the caller: no."""
    return False


is_tracing = is_scripting


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Keeps nothing, as no kernels are fused."""
    return []


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Calls the function, at once, and gives its result as a future."""
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[Any]) -> Any:
    """The result of a future, once it is there."""
    return future.wait()


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Refused: TorchScript's files are not written."""
    raise NotSupportedError("jit.save(): files of TorchScript are not written; write programs with `opgrid.export`, states with `opgrid.save`")


def load(f: Any, map_location: Any = None, **_options: Any) -> Any:
    """Refused: TorchScript's files are not read."""
    raise NotSupportedError("jit.load(): files of TorchScript are not read; export the program with `torch.export` and read it with `opgrid.export`")
