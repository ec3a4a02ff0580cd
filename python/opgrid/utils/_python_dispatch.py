"""Handlers of operators under the names of torch: modes for ``with`` blocks, and what wrapper classes ask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import _opgrid
from .._modes import DispatchMode, current_mode

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass", "return_and_correct_aliasing"]


class TorchDispatchMode(DispatchMode):
    """A handler of every operator of this thread, for the length of a ``with`` block: ``__torch_dispatch__`` of a subclass.

    Example::

        class Log(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                print(func)
                return func(*args, **(kwargs or {}))
    """


def _get_current_dispatch_mode() -> DispatchMode | None:
    return current_mode()


@contextmanager
def _disable_current_modes() -> Iterator[None]:
    """A block in which no mode sees operators."""
    with _opgrid.exclude("Python"):
        yield


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether the tensor is of a class that takes itself apart by ``__tensor_flatten__`` and puts itself together again."""
    kind = type(t)
    return isinstance(t, _opgrid.TensorBase) and all(hasattr(kind, name) for name in ("__tensor_flatten__", "__tensor_unflatten__"))


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """The result of a handler; where the operator returns an argument that it wrote, that argument."""
    written = {a.name: place for place, a in enumerate(func._schema.arguments) if a.is_write}
    if len(written) != 1 or not all(result.is_write for result in func._schema.returns) or isinstance(out, (list, tuple)):
        return out
    ((name, place),) = written.items()
    return args[place] if place < len(args) else kwargs[name]
