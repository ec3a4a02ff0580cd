"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from .._opgrid import Tensor
from .optimizer import Optimizer, Parameters, refuse


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

    def _update(self, parameter: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        momentum = group["momentum"]
        if group["maximize"]:
            grad = -grad
        if group["weight_decay"] != 0:
            grad = grad.add(parameter, alpha=group["weight_decay"])
        if momentum != 0:
            speed = state.get("momentum_buffer")
            if speed is None:
                speed = state["momentum_buffer"] = grad.clone().detach()
            else:
                speed.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(speed, alpha=momentum) if group["nesterov"] else speed
        parameter.add_(grad, alpha=-group["lr"])
