"""Losses."""

from __future__ import annotations

import opgrid as og

from ..._opgrid import Tensor

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def reduced(reduction: str, name: str) -> int:
    """The number that operators take for a reduction."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"{name}(): {reduction} is not a valid value for reduction; expected none, mean or sum")
    return REDUCTIONS[reduction]


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """`nll_loss` of `log_softmax`: scores ``(N, C, …)`` against classes ``(N, …)`` or probabilities ``(N, C, …)``."""
    number = reduced(reduction, "cross_entropy")
    return og.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of the target class: log probabilities ``(N, C, …)`` against classes ``(N, …)``."""
    return og.nll_loss_nd(input, target, weight, reduced(reduction, "nll_loss"), ignore_index)


def mse_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The squared error."""
    return og.mse_loss(input, target, reduced(reduction, "mse_loss"))


def l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The absolute error."""
    return og.l1_loss(input, target, reduced(reduction, "l1_loss"))


def smooth_l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Squared error below ``beta``, absolute error above."""
    return og.smooth_l1_loss(input, target, reduced(reduction, "smooth_l1_loss"), beta)


def huber_loss(input: Tensor, target: Tensor, *, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Squared error below ``delta``, absolute error of that slope above."""
    return og.huber_loss(input, target, reduced(reduction, "huber_loss"), delta)


def kl_div(input: Tensor, target: Tensor, *, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """The Kullback-Leibler divergence; the reduction ``batchmean`` divides the sum by the batch's size."""
    if reduction == "batchmean":
        return og.div(og.kl_div(input, target, REDUCTIONS["sum"], log_target=log_target), input.shape[0])
    return og.kl_div(input, target, reduced(reduction, "kl_div"), log_target=log_target)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """Cross entropy of probabilities against targets between 0 and 1."""
    return og.binary_cross_entropy(input, target, weight, reduced(reduction, "binary_cross_entropy"))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of `sigmoid`."""
    number = reduced(reduction, "binary_cross_entropy_with_logits")
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return og.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)
