"""Parameters: tensors that a module learns.

A parameter is a plain tensor with a mark, not an instance of a subclass: calls with it take the fast path, and results
are plain tensors. ``isinstance(x, Parameter)`` checks the mark. Copies and pickles of a parameter have the mark as well.
"""

from __future__ import annotations

from typing import Any

from .._opgrid import Tensor, TensorBase, tensor

_MARK = "_is_parameter"


class _Marked(type(Tensor)):  # type: ignore[misc]
    """Lets ``isinstance`` check the mark."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TensorBase) and getattr(instance, _MARK, False) is True


def mark(x: Tensor) -> Tensor:
    """Marks this tensor as a parameter, in place."""
    setattr(x, _MARK, True)
    return x


class Parameter(Tensor, metaclass=_Marked):
    """A tensor that becomes one of a module's parameters when it is assigned to an attribute.

    ``Parameter(data, requires_grad=True)`` shares memory with ``data``, is of the same class, and is a leaf of the graph.
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = tensor([])
        if not isinstance(data, TensorBase):
            raise TypeError(f"Parameter(): expected a tensor, found {type(data).__name__}; make one with opgrid.tensor")
        own = data.detach()
        if type(own) is not type(data):
            own = own.as_subclass(type(data))
        return mark(own.requires_grad_(requires_grad))  # type: ignore[return-value]


_BUFFER = "_is_buffer"


class _MarkedBuffer(type(Tensor)):  # type: ignore[misc]
    """Lets ``isinstance`` check the mark."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TensorBase) and getattr(instance, _BUFFER, False) is True


class Buffer(Tensor, metaclass=_MarkedBuffer):
    """A tensor that becomes one of a module's buffers when it is assigned to an attribute.

    ``Buffer(data, persistent=True)`` shares memory with ``data``; ``persistent=False`` leaves it out of state dicts.
    """

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        if data is None:
            data = tensor([])
        own = data.detach().requires_grad_(data.requires_grad)
        setattr(own, _BUFFER, True)
        own.persistent = persistent
        return own  # type: ignore[no-any-return]
