"""Losses."""

from __future__ import annotations

from collections.abc import Sequence

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


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """How unlikely sequences of labels are, whatever the steps are at which they are emitted: log probabilities ``(T, N, C)`` or
    ``(T, C)`` against labels ``(N, S)``, or all labels in a row; the mean is that of the losses over the lengths of their sequences."""
    number = reduced(reduction, "ctc_loss")
    return og.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
) -> Tensor:
    """What scores of other classes lack to being ``margin`` below that of the target, to the power of ``p``: scores ``(N, C)`` against
    classes ``(N)``."""
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss(): p is {p}, expected 1 or 2")
    if weight is not None and weight.dim() != 1:
        raise ValueError(f"multi_margin_loss(): weight has {weight.dim()} dimensions, expected one")
    return og.multi_margin_loss(input, target, p, margin, weight, reduced(reduction, "multi_margin_loss"))


def multilabel_margin_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """What scores of other classes lack to being 1 below those of all targets: scores ``(N, C)`` against classes ``(N, C)``, of which
    those from the first -1 on do not count."""
    return og.multilabel_margin_loss(input, target, reduced(reduction, "multilabel_margin_loss"))


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """The mean over classes of `binary_cross_entropy_with_logits`: scores ``(N, C)`` against ones and zeros ``(N, C)``."""
    reduced(reduction, "multilabel_soft_margin_loss")
    loss = -(target * og.log_sigmoid(input) + (1 - target) * og.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    each: Tensor = loss.sum(-1) / input.shape[-1]
    if reduction == "none":
        return each
    return each.mean() if reduction == "mean" else each.sum()
