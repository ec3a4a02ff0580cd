"""The name that tensors had in programs written before they kept gradients themselves."""

from __future__ import annotations

from typing import Any

from .. import _opgrid

__all__ = ["Variable"]


class _VariableMeta(type):
    def __call__(cls, data: Any, requires_grad: bool = False) -> Any:
        return data.detach().requires_grad_(requires_grad)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _opgrid.TensorBase)


class Variable(metaclass=_VariableMeta):
    """``Variable(tensor, requires_grad)`` is a tensor on the same memory, without its history; every tensor is an instance."""
