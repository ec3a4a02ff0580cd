"""Parameters: tensors that a module learns.

A parameter is a plain tensor with a mark, not an object of another class, so that operators take it by their shortest
way and give plain tensors. ``isinstance(x, Parameter)`` asks for the mark. A copy of the tensor alone has none;
copies of modules have theirs.
"""

from __future__ import annotations

from typing import Any

from .._opgrid import Tensor, TensorBase, tensor

_MARK = "_is_parameter"


class _Marked(type(Tensor)):  # type: ignore[misc]
    """Has ``isinstance`` ask for the mark."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TensorBase) and getattr(instance, _MARK, False) is True


def mark(x: Tensor) -> Tensor:
    """Makes this very tensor a parameter."""
    setattr(x, _MARK, True)
    return x


class Parameter(Tensor, metaclass=_Marked):
    """A tensor that belongs to what a module learns, as soon as it is an attribute of one.

    ``Parameter(data, requires_grad=True)`` shares its elements with ``data`` and is a leaf of the graph.
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = tensor([])
        if not isinstance(data, TensorBase):
            raise TypeError(f"Parameter(): expected a tensor, found {type(data).__name__}; make one with opgrid.tensor")
        return mark(data.detach().requires_grad_(requires_grad))  # type: ignore[return-value]
