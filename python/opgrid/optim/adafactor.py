"""Adafactor."""

from __future__ import annotations

import math

import opgrid as og

from .._opgrid import Tensor
from ._batch import Batch, Group, State, counter, number
from ._settings import settings
from .optimizer import Optimizer, Parameters


class Adafactor(Optimizer):
    """Adam with little memory, after Shazeer and Stern, 2018: squares of a matrix are kept as averages of rows and columns.

    ``eps`` are the least size of a variance, where ``None`` is that of the dtype, and the least scale of a parameter; ``d``
    limits the root mean square of a step. ``lr`` is the largest step relative to the parameter.
    """

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, settings(locals()))

    def _check_settings(self, group: Group) -> None:
        first, second = group["eps"]
        for holds, name, value in (
            (group["lr"] >= 0, "Learning rate should be >= 0", group["lr"]),
            (group["beta2_decay"] <= 0, "beta2_decay should be <= 0", group["beta2_decay"]),
            (first is None or first >= 0, "epsilon1 should be >= 0", first),
            (second >= 0, "epsilon2 should be >= 0", second),
            (group["d"] >= 1, "Clipping threshold d should be >= 1", group["d"]),
            (group["weight_decay"] >= 0, "weight_decay should be >= 0", group["weight_decay"]),
        ):
            if not holds:
                raise ValueError(f"{name} but is: {value}")

    def _initial(self, parameter: Tensor, grad: Tensor, group: Group) -> State:
        if parameter.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters; pass og.view_as_real of them")
        if grad.ndim < 2:
            return {"step": counter(), "variance": og.zeros_like(grad)}
        *batch, rows, columns = grad.shape
        return {
            "step": counter(),
            "row_var": grad.new_zeros((*batch, rows, 1)),
            "col_var": grad.new_zeros((*batch, 1, columns)),
        }

    def _update(self, batch: Batch, group: Group) -> None:
        scales = [max(group["eps"][1], _root_mean_square(parameter)) for parameter in batch.parameters]
        batch.shrink(group["weight_decay"])
        entries = zip(batch.parameters, batch.directions(), batch.states, batch.count(), scales, strict=True)
        for parameter, grad, state, count, scale in entries:
            least = og.finfo(parameter.dtype).eps if group["eps"][0] is None else group["eps"][0]
            rate = min(number(group["lr"]), 1 / count**0.5) * scale
            step = _variance(grad, state, count ** group["beta2_decay"], least).clamp_(min=least * least).rsqrt_().mul_(grad)
            parameter.add_(step, alpha=-rate / max(1.0, _root_mean_square(step) / group["d"]))


def _root_mean_square(x: Tensor) -> float:
    return number(x.norm(2)) / math.sqrt(x.numel())


def _variance(grad: Tensor, state: State, part: float, least: float) -> Tensor:
    """The averages of squares, moved by a part towards those of the gradient."""
    if grad.ndim < 2:
        state["variance"].lerp_(grad * grad, part)
        kept: Tensor = state["variance"]
        return kept.clone()
    for name, dim in (("row_var", -1), ("col_var", -2)):
        state[name].lerp_(og.linalg.vector_norm(grad, dim=dim, keepdim=True).square_().div_(grad.shape[dim]), part)
    rows: Tensor = state["row_var"]
    columns: Tensor = state["col_var"]
    return (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=least))
