"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import opgrid as og

from .._opgrid import Tensor
from .optimizer import Optimizer, Parameters, real, refuse


class SGD(Optimizer):
    """``p -= lr * v`` with ``v = momentum * v + (1 - dampening) * grad``.

    With ``nesterov`` the step is along ``grad + momentum * v``; ``weight_decay * p`` is added to the gradient first.
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        settings = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        super().__init__(params, settings)

    def _check_settings(self, group: dict[str, Any]) -> None:
        refuse(group["lr"] >= 0, "learning rate", group["lr"], "zero or more")
        refuse(group["momentum"] >= 0, "momentum value", group["momentum"], "zero or more")
        refuse(group["weight_decay"] >= 0, "weight_decay value", group["weight_decay"], "zero or more")
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")

    def _update(
        self, parameters: list[Tensor], grads: list[Tensor], states: list[dict[str, Any]], group: dict[str, Any]
    ) -> None:
        has_momentum = group["momentum"] != 0
        # A buffer begins as the gradient, in the first step of its parameter.
        new = [has_momentum and state.get("momentum_buffer") is None for state in states]
        for parameter, state, is_new in zip(parameters, states, new, strict=True):
            if is_new:
                state["momentum_buffer"] = og.empty_like(parameter)
        for is_first in sorted(set(new)):
            chosen = [place for place, is_new in enumerate(new) if is_new == is_first]
            og.ops.aten._fused_sgd_(
                real([parameters[place] for place in chosen]),
                real([grads[place] for place in chosen]),
                real([states[place]["momentum_buffer"] for place in chosen]) if has_momentum else [],
                weight_decay=group["weight_decay"],
                momentum=group["momentum"],
                lr=group["lr"],
                dampening=group["dampening"],
                nesterov=group["nesterov"],
                maximize=group["maximize"],
                is_first_step=is_first,
            )
