"""The parameters of a group that one step updates, with gradients and state, as lists for operators on many tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opgrid as og

from .._opgrid import Tensor, TensorBase

Group = dict[str, Any]
State = dict[str, Any]


class Batch:
    """Parameters that have a gradient, and their state.

    In all lists, complex tensors are replaced by pairs of real numbers on the same memory.
    """

    def __init__(self, parameters: list[Tensor], grads: list[Tensor], states: list[State], group: Group) -> None:
        self.originals = parameters
        self.parameters = real(parameters)
        self.grads = real(grads)
        self.states = states
        self.group = group
        self.is_differentiable: bool = group.get("differentiable", False)

    def state(self, name: str) -> list[Tensor]:
        """One tensor of the state of each parameter, to be written in place.

        A differentiable step writes to copies, since graphs of earlier steps keep the tensors that were there.
        """
        if self.is_differentiable:
            for state in self.states:
                state[name] = state[name].clone()
        return real([state[name] for state in self.states])

    def directions(self, weight_decay: float = 0) -> list[Tensor]:
        """The gradients, negated in a group that maximizes, plus ``weight_decay`` times the parameters."""
        grads = og.ops.aten._foreach_neg(self.grads) if self.group["maximize"] else self.grads
        if weight_decay != 0:
            grads = og.ops.aten._foreach_add(grads, self.parameters, alpha=weight_decay)
        return list(grads)

    def shrink(self, weight_decay: float) -> None:
        """Scales the parameters by ``1 - lr * weight_decay``: the decay that is decoupled from gradients."""
        if weight_decay != 0:
            og.ops.aten._foreach_mul_(self.parameters, 1 - number(self.group["lr"]) * weight_decay)

    def count(self) -> list[float]:
        """Counts the step, and returns the number of each parameter's steps so far."""
        steps = self.state("step")
        og.ops.aten._foreach_add_(steps, 1)
        return [number(step) for step in steps]

    def shifted(self, tensors: list[Tensor], eps: float) -> list[Tensor]:
        """The tensors plus ``eps``, in place where no graph needs them."""
        if self.is_differentiable:
            return list(og.ops.aten._foreach_add(tensors, eps))
        og.ops.aten._foreach_add_(tensors, eps)
        return tensors


def average(averages: list[Tensor], values: list[Tensor], rate: float) -> None:
    """Moves running averages to the values by a part ``1 - rate`` of the difference."""
    og.ops.aten._foreach_lerp_(averages, values, 1 - rate)


def average_squares(averages: list[Tensor], values: list[Tensor], rate: float) -> None:
    """Scales running averages by ``rate`` and adds ``1 - rate`` times the squares of the values."""
    og.ops.aten._foreach_mul_(averages, rate)
    og.ops.aten._foreach_addcmul_(averages, values, values, 1 - rate)


def real(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors, complex ones as pairs of real numbers on the same memory."""
    return [og.view_as_real(tensor) if tensor.is_complex() else tensor for tensor in tensors]


def filled(like: Tensor, value: float) -> Tensor:
    """A tensor like the parameter of one number, of a complex one in both parts."""
    return og.full_like(like, complex(value, value) if like.is_complex() else value)


def number(value: Any) -> float:
    """A setting as a number of Python; tensors of one element are settings, too."""
    plain: Any = value.item() if isinstance(value, TensorBase) else value
    return float(plain)


def counter(value: float = 0.0) -> Tensor:
    """A tensor without dimensions for state that counts: in double precision if that is the default dtype."""
    return og.tensor(value, dtype=og.float64 if og.get_default_dtype() == og.float64 else og.float32)
