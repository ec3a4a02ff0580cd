"""In what form graphs keep tensors for the backward pass.

>>> import opgrid as og
>>> from opgrid.autograd.graph import saved_tensors_hooks
>>> x = og.tensor([1.5, 2.0], requires_grad=True)
>>> with saved_tensors_hooks(lambda tensor: tensor.bfloat16(), lambda packed: packed.float()):
...     loss = (x * x).sum()
>>> loss.backward()
>>> x.grad
tensor([3., 4.])
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from .. import _opgrid
from .._opgrid import Graph, Node, Tensor

__all__ = ["Graph", "Node", "disable_saved_tensors_hooks", "save_on_cpu", "saved_tensors_hooks"]

_Hook = Callable[[Any], Any]


class _Refusals(threading.local):
    def __init__(self) -> None:
        self.messages: list[str] = []


_refusals = _Refusals()


class saved_tensors_hooks:
    """A ``with`` block in which graphs keep ``pack_hook(tensor)`` in place of each tensor that a gradient needs.

    The backward pass asks ``unpack_hook`` of that for a tensor with the same sizes, dtype and elements. Of nested blocks, the
    innermost one packs. Hooks get tensors without history, and run without recording.
    """

    def __init__(self, pack_hook: _Hook, unpack_hook: _Hook) -> None:
        for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
            if not callable(hook):
                raise TypeError(f"saved_tensors_hooks(): found {type(hook).__name__} for {name}, expected a function")
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook
        self._depths: list[int] = []

    def __enter__(self) -> None:
        if _refusals.messages:
            raise RuntimeError(_refusals.messages[-1])
        self._depths.append(_opgrid._push_packing(self.pack_hook, self.unpack_hook))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None) -> None:
        if not self._depths:
            raise RuntimeError("saved_tensors_hooks(): found a block that has ended already, or was not entered; use it by `with`")
        _opgrid._pop_packing(self._depths.pop())


class save_on_cpu(saved_tensors_hooks):
    """A ``with`` block in which graphs keep tensors in the memory of the CPU, and bring them back when they are needed.

    ``pin_memory`` is taken for the sake of code that passes it; memory is not pinned.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        del pin_memory, device_type
        super().__init__(lambda tensor: (tensor.device, tensor.to("cpu")), lambda packed: packed[1].to(packed[0]))


class disable_saved_tensors_hooks:
    """A ``with`` block in which entering :class:`saved_tensors_hooks` is an error with this message."""

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        _refusals.messages.append(self.error_message)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None) -> None:
        _refusals.messages.pop()


def _unpacked(both: tuple[_Hook, Any]) -> _opgrid.TensorBase:
    """The tensor that a graph keeps as what unpacks it, and what that takes."""
    unpack_hook, packed = both
    tensor = unpack_hook(packed)
    if not isinstance(tensor, _opgrid.TensorBase):
        raise TypeError(f"saved_tensors_hooks(): unpack_hook returned {type(tensor).__name__}, expected a tensor")
    return tensor
