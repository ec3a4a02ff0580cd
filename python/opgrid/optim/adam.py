"""Adam and AdamW."""

from __future__ import annotations

from typing import Any

import opgrid as og

from .._opgrid import Tensor
from .optimizer import Optimizer, Parameters, real, refuse


class Adam(Optimizer):
    """Adam, after Kingma and Ba, 2014: running averages of gradients over the root of those of their squares.

    With ``amsgrad`` the largest average of squares so far is used. ``weight_decay * p`` is added to the gradient; with
    ``decoupled_weight_decay`` the parameter is scaled by ``1 - lr * weight_decay`` instead.
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        decoupled_weight_decay: bool = False,
    ) -> None:
        settings = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, settings)

    def _check_settings(self, group: dict[str, Any]) -> None:
        refuse(group["lr"] >= 0, "learning rate", group["lr"], "zero or more")
        refuse(group["eps"] >= 0, "epsilon value", group["eps"], "zero or more")
        for place, beta in enumerate(group["betas"]):
            refuse(0 <= beta < 1, f"beta parameter at index {place}", beta, "zero or more and less than one")
        refuse(group["weight_decay"] >= 0, "weight_decay value", group["weight_decay"], "zero or more")

    def _update(
        self, parameters: list[Tensor], grads: list[Tensor], states: list[dict[str, Any]], group: dict[str, Any]
    ) -> None:
        for parameter, state in zip(parameters, states, strict=True):
            if not state:
                state["step"] = og.tensor(0.0)
                state["exp_avg"] = og.zeros_like(parameter)
                state["exp_avg_sq"] = og.zeros_like(parameter)
                if group["amsgrad"]:
                    state["max_exp_avg_sq"] = og.zeros_like(parameter)
        steps = [state["step"] for state in states]
        og.ops.aten._foreach_add_(steps, 1)
        decoupled = group["decoupled_weight_decay"]
        update = og.ops.aten._fused_adamw_ if decoupled else og.ops.aten._fused_adam_
        update(
            real(parameters),
            real(grads),
            real([state["exp_avg"] for state in states]),
            real([state["exp_avg_sq"] for state in states]),
            real([state["max_exp_avg_sq"] for state in states]) if group["amsgrad"] else [],
            steps,
            lr=group["lr"],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
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
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, decoupled_weight_decay=True
        )

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads state and settings; weight decay stays decoupled."""
        super().load_state_dict(state_dict)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
