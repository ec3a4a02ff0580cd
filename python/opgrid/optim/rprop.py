"""Rprop."""

from __future__ import annotations

import opgrid as og

from .._opgrid import Tensor
from ._batch import Batch, Group, State, counter, filled, number
from ._settings import require, require_learning_rate, settings
from .optimizer import Optimizer, Parameters


class Rprop(Optimizer):
    """Steps by the sign of the gradient, after Riedmiller and Braun, 1993, with a size for each element.

    A size grows by ``etas[1]`` while the sign stays, and shrinks by ``etas[0]`` when it changes, within ``step_sizes``;
    after a change the element rests for one step.
    """

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, settings(locals()))

    def _check_settings(self, group: Group) -> None:
        require_learning_rate(group)
        low, high = group["etas"]
        require(0 < low < 1 < high, "eta values", f"{low}, {high}", "one between zero and one, and one above one")

    def _initial(self, parameter: Tensor, grad: Tensor, group: Group) -> State:
        return {"step": counter(), "prev": og.zeros_like(parameter), "step_size": filled(parameter, number(group["lr"]))}

    def _update(self, batch: Batch, group: Group) -> None:
        shrink, grow = group["etas"]
        grads = batch.directions()
        og.ops.aten._foreach_add_(batch.state("step"), 1)
        previous, sizes = batch.state("prev"), batch.state("step_size")
        signs = og.ops.aten._foreach_sign(og.ops.aten._foreach_mul(grads, previous))
        factors = [sign.masked_fill(sign > 0, grow).masked_fill(sign < 0, shrink).masked_fill(sign == 0, 1) for sign in signs]
        og.ops.aten._foreach_mul_(sizes, factors)
        for size in sizes:
            size.clamp_(*group["step_sizes"])
        followed = [grad.masked_fill(sign < 0, 0) for grad, sign in zip(grads, signs, strict=True)]
        og.ops.aten._foreach_addcmul_(batch.parameters, og.ops.aten._foreach_sign(followed), sizes, -1)
        og.ops.aten._foreach_copy_(previous, followed)
