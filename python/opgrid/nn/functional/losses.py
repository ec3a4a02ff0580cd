"""Losses of predictions against targets.

All take ``reduction`` ``"none"``, ``"mean"`` or ``"sum"``. ``size_average`` and ``reduce`` are what older programs say instead.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import opgrid as og

from ..._opgrid import Tensor
from ...autograd import no_grad
from .reductions import REDUCTIONS, chosen, reduced, summarized

if TYPE_CHECKING:
    from ..chunked_loss import LinearCrossEntropyOptions


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """`nll_loss` of `log_softmax`: scores ``(N, C, …)`` against classes ``(N, …)`` or probabilities ``(N, C, …)``."""
    number = reduced(chosen(size_average, reduce, reduction), "cross_entropy")
    return og.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of the target class: log probabilities ``(N, C, …)`` against classes ``(N, …)``."""
    number = reduced(chosen(size_average, reduce, reduction), "nll_loss")
    return og.nll_loss_nd(input, target, weight, number, ignore_index)


def _compared(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both tensors in one shape. Shapes that differ are rarely meant, and are warned of."""
    if input.shape == target.shape:
        return input, target
    warnings.warn(
        f"the target has shape {list(target.shape)} and the input {list(input.shape)}; they are broadcast, which is rarely "
        "what a loss is asked for; give both the same shape",
        stacklevel=4,
    )
    first, second = og.broadcast_tensors([input, target])
    return first, second


def _weighted(errors: Tensor, weight: Tensor, shape: Sequence[int], reduction: str, name: str) -> Tensor:
    """Errors with a weight for each element, of which the mean is that by weight."""
    if weight.shape != shape:
        raise ValueError(f"{name}(): weight has shape {list(weight.shape)}, expected that of input, {list(shape)}")
    losses = errors * weight
    if reduction == "mean":
        return losses.sum() / weight.sum()
    return summarized(losses, reduction, name)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The squared error."""
    found, wanted = _compared(input, target)
    reduction = chosen(size_average, reduce, reduction)
    if weight is not None:
        return _weighted((found - wanted).square(), weight, input.shape, reduction, "mse_loss")
    return og.mse_loss(found, wanted, reduced(reduction, "mse_loss"))


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The absolute error."""
    found, wanted = _compared(input, target)
    reduction = chosen(size_average, reduce, reduction)
    if weight is not None:
        return _weighted((found - wanted).abs(), weight, input.shape, reduction, "l1_loss")
    return og.l1_loss(found, wanted, reduced(reduction, "l1_loss"))


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared error below ``beta``, absolute error above."""
    number = reduced(chosen(size_average, reduce, reduction), "smooth_l1_loss")
    found, wanted = _compared(input, target)
    if beta == 0.0:
        return og.l1_loss(found, wanted, number)
    return og.smooth_l1_loss(found, wanted, number, beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Squared error below ``delta``, absolute error of that slope above."""
    found, wanted = _compared(input, target)
    if weight is not None:
        errors = og.huber_loss(found, wanted, REDUCTIONS["none"], delta)
        # The mean of this loss is that of the products, not one by weight, as in torch.
        number = "none" if reduction == "mean" else reduction
        losses = _weighted(errors, weight, input.shape, number, "huber_loss")
        return losses.mean() if reduction == "mean" else losses
    return og.huber_loss(found, wanted, reduced(reduction, "huber_loss"), delta)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence; the reduction ``batchmean``, which is what it says, divides the sum by the batch's size."""
    reduction = chosen(size_average, reduce, reduction)
    if reduction == "mean":
        warnings.warn(
            "reduction='mean' divides by the number of elements; reduction='batchmean' gives the divergence", stacklevel=3
        )
    if reduction == "batchmean":
        total = og.kl_div(input, target, REDUCTIONS["sum"], log_target=log_target)
        return og.div(total, input.shape[0]) if input.dim() > 0 else total
    return og.kl_div(input, target, reduced(reduction, "kl_div"), log_target=log_target)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Cross entropy of probabilities against targets between 0 and 1."""
    number = reduced(chosen(size_average, reduce, reduction), "binary_cross_entropy")
    if input.shape != target.shape:
        raise ValueError(
            f"binary_cross_entropy(): target has shape {list(target.shape)}, expected that of input, {list(input.shape)}"
        )
    if weight is not None:
        weight = weight.expand(og.broadcast_shapes(weight.shape, target.shape))
    return og.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of `sigmoid`."""
    number = reduced(chosen(size_average, reduce, reduction), "binary_cross_entropy_with_logits")
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
    inputs: Any = input_lengths
    labels: Any = target_lengths
    return og.ctc_loss(log_probs, targets, inputs, labels, blank, number, zero_infinity)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of counts under Poisson distributions, of which ``input`` has the rates or their logarithms."""
    number = reduced(chosen(size_average, reduce, reduction), "poisson_nll_loss")
    return og.poisson_nll_loss(input, target, log_input, full, eps, number)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood under normal distributions with means ``input`` and variances ``var``, which are at least ``eps``.

    ``var`` has the shape of ``input``, or lacks its last dimension, or has one dimension of size 1.
    """
    variances = og.full_like(input, var) if isinstance(var, (int, float)) else var
    if bool((variances < 0).any()):
        raise ValueError("gaussian_nll_loss(): var has negative elements; expected variances")
    if variances.shape != input.shape:
        pairs = list(zip(input.shape, variances.shape, strict=False))
        if input.shape[:-1] == variances.shape:
            variances = variances.unsqueeze(-1)
        elif input.dim() != variances.dim() or sum(found for size, found in pairs if size != found) != 1:
            raise ValueError(
                f"gaussian_nll_loss(): var has shape {list(variances.shape)}, expected that of input, {list(input.shape)}, that "
                "without its last dimension, or with a size of 1 in one"
            )
    variances = variances.clone()
    with no_grad():
        variances.clamp_(min=eps)
    loss: Tensor = 0.5 * (variances.log() + (input - target).square() / variances)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return summarized(loss, reduction, "gaussian_nll_loss")


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """`cross_entropy` of ``linear(input, linear_weight, linear_bias)``: the weight is ``(C, …, features)``, the bias ``(C, …)``.

    ``options`` are accepted, and change nothing here: the scores of all samples are computed at once.
    """
    classes, *sizes, features = linear_weight.shape
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = og.linear(input, linear_weight.reshape(-1, features), bias)
    scores = scores.reshape(*input.shape[:-1], classes, *sizes)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        scores, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )
