"""Adam and AdamW."""

from __future__ import annotations

from typing import Any

import opgrid as og

from .._opgrid import Tensor, TensorBase
from ._batch import Batch, Group, State, average, average_squares, counter, number
from ._settings import require_betas, require_learning_rate, require_not_negative, require_one_implementation, settings
from .optimizer import Optimizer, Parameters


class Adam(Optimizer):
    """Adam, after Kingma and Ba, 2014: running averages of gradients over the root of those of their squares.

    With ``amsgrad`` the largest average of squares so far is used. ``weight_decay * p`` is added to the gradient; with
    ``decoupled_weight_decay`` the parameter is scaled by ``1 - lr * weight_decay`` instead.
    """

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        super().__init__(params, settings(locals()))

    def _check_settings(self, group: Group) -> None:
        if isinstance(group["lr"], TensorBase) and group["foreach"] and not group["capturable"]:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True; leave foreach None")
        require_learning_rate(group)
        require_not_negative(group, eps="epsilon value", weight_decay="weight_decay value")
        require_betas(group)
        require_one_implementation(group)

    def _initial(self, parameter: Tensor, grad: Tensor, group: Group) -> State:
        names = ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * group["amsgrad"]
        return {"step": counter(), **{name: og.zeros_like(parameter) for name in names}}

    def _update(self, batch: Batch, group: Group) -> None:
        if batch.is_differentiable:
            _update_differentiably(batch, group)
            return
        steps = batch.state("step")
        og.ops.aten._foreach_add_(steps, 1)
        update = og.ops.aten._fused_adamw_ if group["decoupled_weight_decay"] else og.ops.aten._fused_adam_
        update(
            batch.parameters,
            batch.grads,
            batch.state("exp_avg"),
            batch.state("exp_avg_sq"),
            batch.state("max_exp_avg_sq") if group["amsgrad"] else [],
            steps,
            lr=number(group["lr"]),
            beta1=number(group["betas"][0]),
            beta2=number(group["betas"][1]),
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=group["amsgrad"],
            maximize=group["maximize"],
        )


class AdamW(Adam):
    """`Adam` with decoupled weight decay, after Loshchilov and Hutter, 2017."""

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(**settings(locals()), params=params, decoupled_weight_decay=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restores state and settings; weight decay stays decoupled."""
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


def _update_differentiably(batch: Batch, group: Group) -> None:
    """The update by operators that have derivatives, also with respect to a learning rate that is a tensor."""
    rate = group["lr"]
    beta1, beta2 = group["betas"]
    decay = group["weight_decay"]
    if decay != 0 and group["decoupled_weight_decay"]:
        for parameter in batch.parameters:
            parameter.mul_(1 - rate * decay)
    grads = batch.directions(0 if group["decoupled_weight_decay"] else decay)
    counts = batch.count()
    averages, squares = batch.state("exp_avg"), batch.state("exp_avg_sq")
    average(averages, grads, beta1)
    average_squares(squares, grads, beta2)
    if group["amsgrad"]:
        largest = batch.state("max_exp_avg_sq")
        og.ops.aten._foreach_maximum_(largest, squares)
        squares = largest
    for parameter, count, mean, square in zip(batch.parameters, counts, averages, squares, strict=True):
        root = square.sqrt() / (1 - beta2**count) ** 0.5 + group["eps"]
        parameter.sub_(mean / root * (rate / (1 - beta1**count)))
