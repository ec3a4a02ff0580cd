"""Adadelta."""

from __future__ import annotations

import opgrid as og

from .._opgrid import Tensor
from ._batch import Batch, Group, State, average_squares, counter, number
from ._settings import require, require_learning_rate, require_not_negative, settings
from .optimizer import Optimizer, Parameters


class Adadelta(Optimizer):
    """Steps in the unit of the parameters, after Zeiler, 2012: the gradient times the ratio of two root mean squares, that of
    the steps so far and that of the gradients so far."""

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, settings(locals()))

    def _check_settings(self, group: Group) -> None:
        require_learning_rate(group)
        require(0 <= group["rho"] <= 1, "rho value", group["rho"], "a number between zero and one")
        require_not_negative(group, eps="epsilon value", weight_decay="weight_decay value")

    def _initial(self, parameter: Tensor, grad: Tensor, group: Group) -> State:
        return {"step": counter(), "square_avg": og.zeros_like(parameter), "acc_delta": og.zeros_like(parameter)}

    def _update(self, batch: Batch, group: Group) -> None:
        grads = batch.directions(group["weight_decay"])
        og.ops.aten._foreach_add_(batch.state("step"), 1)
        squares, changes = batch.state("square_avg"), batch.state("acc_delta")
        average_squares(squares, grads, group["rho"])
        steps, scales = (og.ops.aten._foreach_sqrt(og.ops.aten._foreach_add(means, group["eps"])) for means in (changes, squares))
        steps = og.ops.aten._foreach_mul(og.ops.aten._foreach_div(steps, scales), grads)
        average_squares(changes, steps, group["rho"])
        og.ops.aten._foreach_add_(batch.parameters, steps, alpha=-number(group["lr"]))
