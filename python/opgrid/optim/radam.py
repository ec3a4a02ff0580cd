"""RAdam."""

from __future__ import annotations

import opgrid as og

from .._opgrid import Tensor
from ._batch import Batch, Group, State, average, average_squares, counter, number
from ._settings import require_betas, require_learning_rate, require_not_negative, settings
from .optimizer import Optimizer, Parameters


class RAdam(Optimizer):
    """Adam, rectified after Liu et al., 2019: steps use squares of gradients once enough are known to trust their average."""

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
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
        require_not_negative(group, eps="epsilon value", weight_decay="weight_decay value")
        require_betas(group)

    def _initial(self, parameter: Tensor, grad: Tensor, group: Group) -> State:
        return {"step": counter(), "exp_avg": og.zeros_like(parameter), "exp_avg_sq": og.zeros_like(parameter)}

    def _update(self, batch: Batch, group: Group) -> None:
        rate, (beta1, beta2) = number(group["lr"]), group["betas"]
        if group["decoupled_weight_decay"]:
            batch.shrink(group["weight_decay"])
        grads = batch.directions(0 if group["decoupled_weight_decay"] else group["weight_decay"])
        averages, squares = batch.state("exp_avg"), batch.state("exp_avg_sq")
        average(averages, grads, beta1)
        average_squares(squares, grads, beta2)
        counts = batch.count()
        rates = [-rate / (1 - beta1**count) for count in counts]
        trusts = [_trust(count, beta2) for count in counts]
        plain = [place for place, trust in enumerate(trusts) if trust is None]
        rectified = [place for place, trust in enumerate(trusts) if trust is not None]
        if plain:
            steps = og.ops.aten._foreach_mul([averages[place] for place in plain], [rates[place] for place in plain])
            og.ops.aten._foreach_add_([batch.parameters[place] for place in plain], steps)
        if rectified:
            roots = batch.shifted(og.ops.aten._foreach_sqrt([squares[place] for place in rectified]), group["eps"])
            og.ops.aten._foreach_addcdiv_(
                [batch.parameters[place] for place in rectified],
                [averages[place] for place in rectified],
                roots,
                [rates[place] * (trusts[place] or 0.0) for place in rectified],
            )


def _trust(step: float, beta2: float) -> float | None:
    """What a step is multiplied by beside its direction; ``None`` while the squares have too little history."""
    bias = 1 - beta2**step
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * beta2**step / bias
    if length <= 5:
        return None
    variance = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
    return float((variance * bias) ** 0.5)
