"""NAdam."""

from __future__ import annotations

import opgrid as og

from .._opgrid import Tensor
from ._batch import Batch, Group, State, average, average_squares, counter, number
from ._settings import require_betas, require_learning_rate, require_not_negative, settings
from .optimizer import Optimizer, Parameters


class NAdam(Optimizer):
    """Adam with Nesterov's momentum, after Dozat, 2016. The momentum grows by ``momentum_decay`` from step to step."""

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, settings(locals()))

    def _check_settings(self, group: Group) -> None:
        require_learning_rate(group)
        require_not_negative(group, eps="epsilon value", weight_decay="weight_decay value", momentum_decay="momentum_decay value")
        require_betas(group)

    def _initial(self, parameter: Tensor, grad: Tensor, group: Group) -> State:
        return {
            "step": counter(),
            "mu_product": counter(1.0),
            "exp_avg": og.zeros_like(parameter),
            "exp_avg_sq": og.zeros_like(parameter),
        }

    def _update(self, batch: Batch, group: Group) -> None:
        rate, (beta1, beta2) = number(group["lr"]), group["betas"]

        def momentum(step: float) -> float:
            return float(beta1 * (1 - 0.5 * 0.96 ** (step * group["momentum_decay"])))

        if group["decoupled_weight_decay"]:
            batch.shrink(group["weight_decay"])
        grads = batch.directions(0 if group["decoupled_weight_decay"] else group["weight_decay"])
        counts = batch.count()
        momenta, later = [momentum(count) for count in counts], [momentum(count + 1) for count in counts]
        products = batch.state("mu_product")
        og.ops.aten._foreach_mul_(products, momenta)
        averages, squares = batch.state("exp_avg"), batch.state("exp_avg_sq")
        average(averages, grads, beta1)
        average_squares(squares, grads, beta2)
        roots = og.ops.aten._foreach_sqrt(og.ops.aten._foreach_div(squares, [1 - beta2**count for count in counts]))
        roots = batch.shifted(roots, group["eps"])
        so_far = [product.item() for product in products]
        parts = [-rate * (1 - now) / (1 - past) for now, past in zip(momenta, so_far, strict=True)]
        og.ops.aten._foreach_addcdiv_(batch.parameters, grads, roots, parts)
        parts = [-rate * then / (1 - past * then) for then, past in zip(later, so_far, strict=True)]
        og.ops.aten._foreach_addcdiv_(batch.parameters, averages, roots, parts)
