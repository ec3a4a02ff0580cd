"""RMSprop."""

from __future__ import annotations

import opgrid as og

from .._opgrid import Tensor
from ._batch import Batch, Group, State, average, average_squares, counter, number
from ._settings import require_learning_rate, require_not_negative, settings
from .optimizer import Optimizer, Parameters


class RMSprop(Optimizer):
    """The gradient over the root of the running average of its squares, after Hinton, 2012.

    With ``centered`` the square of the average gradient is subtracted from that of squares; ``momentum`` keeps a part of
    the previous step.
    """

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, settings(locals()))

    def _check_settings(self, group: Group) -> None:
        require_learning_rate(group)
        require_not_negative(
            group,
            eps="epsilon value",
            momentum="momentum value",
            weight_decay="weight_decay value",
            alpha="alpha value",
        )

    def _initial(self, parameter: Tensor, grad: Tensor, group: Group) -> State:
        names = ["square_avg"] + ["momentum_buffer"] * (group["momentum"] > 0) + ["grad_avg"] * bool(group["centered"])
        return {"step": counter(), **{name: og.zeros_like(parameter) for name in names}}

    def _update(self, batch: Batch, group: Group) -> None:
        rate, alpha = number(group["lr"]), group["alpha"]
        grads = batch.directions(group["weight_decay"])
        og.ops.aten._foreach_add_(batch.state("step"), 1)
        squares = batch.state("square_avg")
        average_squares(squares, grads, alpha)
        if group["centered"]:
            means = batch.state("grad_avg")
            average(means, grads, alpha)
            squares = og.ops.aten._foreach_addcmul(squares, means, means, -1)
        roots = batch.shifted(og.ops.aten._foreach_sqrt(squares), group["eps"])
        if group["momentum"] > 0:
            buffers = batch.state("momentum_buffer")
            og.ops.aten._foreach_mul_(buffers, group["momentum"])
            og.ops.aten._foreach_addcdiv_(buffers, grads, roots, 1)
            og.ops.aten._foreach_add_(batch.parameters, buffers, alpha=-rate)
        else:
            og.ops.aten._foreach_addcdiv_(batch.parameters, grads, roots, -rate)
