"""Adamax."""

from __future__ import annotations

import opgrid as og

from .._opgrid import Tensor
from ._batch import Batch, Group, State, average, counter, number
from ._settings import require_betas, require_learning_rate, require_not_negative, settings
from .optimizer import Optimizer, Parameters


class Adamax(Optimizer):
    """Adam with the infinity norm, after Kingma and Ba, 2014: the largest gradient, which fades, in place of squares."""

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, settings(locals()))

    def _check_settings(self, group: Group) -> None:
        require_learning_rate(group)
        require_not_negative(group, eps="epsilon value", weight_decay="weight_decay value")
        require_betas(group)

    def _initial(self, parameter: Tensor, grad: Tensor, group: Group) -> State:
        return {"step": counter(), "exp_avg": og.zeros_like(parameter), "exp_inf": og.zeros_like(parameter)}

    def _update(self, batch: Batch, group: Group) -> None:
        beta1, beta2 = group["betas"]
        grads = batch.directions(group["weight_decay"])
        averages, norms = batch.state("exp_avg"), batch.state("exp_inf")
        average(averages, grads, beta1)
        og.ops.aten._foreach_mul_(norms, beta2)
        og.ops.aten._foreach_maximum_(norms, batch.shifted(og.ops.aten._foreach_abs(grads), group["eps"]))
        rate = number(group["lr"])
        rates = [-rate / (1 - beta1**count) for count in batch.count()]
        og.ops.aten._foreach_addcdiv_(batch.parameters, averages, norms, rates)
