"""Averaged stochastic gradient descent."""

from __future__ import annotations

import opgrid as og

from .._opgrid import Tensor
from ._batch import Batch, Group, State, counter, number
from ._settings import require_learning_rate, require_not_negative, settings
from .optimizer import Optimizer, Parameters


class ASGD(Optimizer):
    """Gradient descent whose rate falls, after Polyak and Juditsky, 1992; ``state["ax"]`` is the average of a parameter.

    The rate is ``lr / (1 + lambd * lr * t) ** alpha``. Parameters are averaged from step ``t0`` on; before, ``ax`` is a copy.
    """

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, settings(locals()))

    def _check_settings(self, group: Group) -> None:
        require_learning_rate(group)
        require_not_negative(group, weight_decay="weight_decay value")

    def _initial(self, parameter: Tensor, grad: Tensor, group: Group) -> State:
        return {
            "step": counter(),
            "eta": counter(number(group["lr"])),
            "mu": counter(1.0),
            "ax": og.zeros_like(parameter),
        }

    def _update(self, batch: Batch, group: Group) -> None:
        rate, lambd = number(group["lr"]), group["lambd"]
        grads = batch.directions(group["weight_decay"])
        etas = [number(eta) for eta in batch.state("eta")]
        og.ops.aten._foreach_mul_(batch.parameters, [1 - lambd * eta for eta in etas])
        if len(set(etas)) == 1:
            og.ops.aten._foreach_add_(batch.parameters, grads, alpha=-etas[0])
        else:
            og.ops.aten._foreach_add_(batch.parameters, og.ops.aten._foreach_mul(grads, [-eta for eta in etas]))
        means = batch.state("ax")
        parts = [number(mu) for mu in batch.state("mu")]
        if set(parts) == {1.0}:
            og.ops.aten._foreach_copy_(means, batch.parameters)
        else:
            differences = og.ops.aten._foreach_sub(batch.parameters, means)
            og.ops.aten._foreach_add_(means, og.ops.aten._foreach_mul(differences, parts))
        for count, state in zip(batch.count(), batch.states, strict=True):
            # Values have the default dtype, also where a state that was loaded has a wider one.
            state["eta"].copy_(og.tensor(rate / (1 + lambd * rate * count) ** group["alpha"]))
            state["mu"].copy_(og.tensor(1 / max(1.0, count - group["t0"])))
