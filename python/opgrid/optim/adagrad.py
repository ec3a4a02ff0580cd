"""Adagrad."""

from __future__ import annotations

import opgrid as og

from .._opgrid import Tensor
from ._batch import Batch, Group, State, counter, filled, number
from ._settings import require_learning_rate, require_not_negative, require_one_implementation, settings
from .optimizer import Optimizer, Parameters


class Adagrad(Optimizer):
    """``p -= lr / (1 + t * lr_decay) * grad / (sqrt(sum) + eps)`` with the sum of squared gradients, after Duchi et al., 2011."""

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, settings(locals()))

    def _check_settings(self, group: Group) -> None:
        require_learning_rate(group)
        require_not_negative(
            group,
            lr_decay="lr_decay value",
            weight_decay="weight_decay value",
            initial_accumulator_value="initial_accumulator_value value",
            eps="epsilon value",
        )
        require_one_implementation(group)

    def _initial(self, parameter: Tensor, grad: Tensor, group: Group) -> State:
        return {"step": counter(), "sum": filled(parameter, self.defaults["initial_accumulator_value"])}

    def _update(self, batch: Batch, group: Group) -> None:
        rate = number(group["lr"])
        grads = batch.directions(group["weight_decay"])
        rates = [-rate / (1 + (count - 1) * group["lr_decay"]) for count in batch.count()]
        sums = batch.state("sum")
        og.ops.aten._foreach_addcmul_(sums, grads, grads, 1)
        roots = batch.shifted(og.ops.aten._foreach_sqrt(sums), group["eps"])
        og.ops.aten._foreach_addcdiv_(batch.parameters, grads, roots, rates)
