"""Stochastic gradient descent."""

from __future__ import annotations

import opgrid as og

from .._opgrid import Tensor
from ._batch import Batch, Group, State, number
from ._settings import require_learning_rate, require_not_negative, require_one_implementation, settings
from .optimizer import Optimizer, Parameters


class SGD(Optimizer):
    """``p -= lr * v`` with ``v = momentum * v + (1 - dampening) * grad``.

    With ``nesterov`` the step is along ``grad + momentum * v``; ``weight_decay * p`` is added to the gradient first.
    """

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, settings(locals()))

    def _check_settings(self, group: Group) -> None:
        require_learning_rate(group)
        require_not_negative(group, momentum="momentum value", weight_decay="weight_decay value")
        require_one_implementation(group)
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")

    def _initial(self, parameter: Tensor, grad: Tensor, group: Group) -> State:
        # The buffer begins as the gradient of the first step.
        return {"momentum_buffer": None} if group["momentum"] != 0 else {}

    def _update(self, batch: Batch, group: Group) -> None:
        if batch.is_differentiable:
            _update_differentiably(batch, group)
            return
        has_momentum = group["momentum"] != 0
        new = [has_momentum and state.get("momentum_buffer") is None for state in batch.states]
        for parameter, state, is_new in zip(batch.originals, batch.states, new, strict=True):
            if is_new:
                state["momentum_buffer"] = og.empty_like(parameter)
        buffers = batch.state("momentum_buffer") if has_momentum else []
        for is_first in sorted(set(new)):
            chosen = [place for place, is_new in enumerate(new) if is_new == is_first]
            og.ops.aten._fused_sgd_(
                [batch.parameters[place] for place in chosen],
                [batch.grads[place] for place in chosen],
                [buffers[place] for place in chosen] if has_momentum else [],
                weight_decay=number(group["weight_decay"]),
                momentum=group["momentum"],
                lr=number(group["lr"]),
                dampening=group["dampening"],
                nesterov=group["nesterov"],
                maximize=group["maximize"],
                is_first_step=is_first,
            )


def _update_differentiably(batch: Batch, group: Group) -> None:
    """The update by operators that have derivatives, also with respect to a learning rate that is a tensor."""
    steps = batch.directions(group["weight_decay"])
    if group["momentum"] != 0:
        for state, grad in zip(batch.states, steps, strict=True):
            if state.get("momentum_buffer") is None:
                state["momentum_buffer"] = grad.clone()
            else:
                state["momentum_buffer"] = state["momentum_buffer"] * group["momentum"] + grad * (1 - group["dampening"])
        buffers = [state["momentum_buffer"] for state in batch.states]
        steps = (
            [grad + buffer * group["momentum"] for grad, buffer in zip(steps, buffers, strict=True)]
            if group["nesterov"]
            else buffers
        )
    for parameter, step in zip(batch.parameters, steps, strict=True):
        parameter.sub_(step * group["lr"])
