"""Losses that ask for scores or distances to differ by a margin."""

from __future__ import annotations

from collections.abc import Callable

import opgrid as og

from ..._opgrid import Tensor
from .reductions import chosen, reduced, summarized


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """What scores of other classes lack to being ``margin`` below that of the target, to the power of ``p``: scores ``(N, C)`` against
    classes ``(N)``."""
    number = reduced(chosen(size_average, reduce, reduction), "multi_margin_loss")
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss(): p is {p}, expected 1 or 2")
    if weight is not None and weight.dim() != 1:
        raise ValueError(f"multi_margin_loss(): weight has {weight.dim()} dimensions, expected one")
    return og.multi_margin_loss(input, target, p, margin, weight, number)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """What scores of other classes lack to being 1 below those of all targets: scores ``(N, C)`` against classes ``(N, C)``, of which
    those from the first -1 on do not count."""
    return og.multilabel_margin_loss(
        input, target, reduced(chosen(size_average, reduce, reduction), "multilabel_margin_loss")
    )


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of `binary_cross_entropy_with_logits`: scores ``(N, C)`` against ones and zeros ``(N, C)``."""
    loss = -(target * og.log_sigmoid(input) + (1 - target) * og.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    reduction = chosen(size_average, reduce, reduction)
    return summarized(loss.sum(-1) / input.shape[-1], reduction, "multilabel_soft_margin_loss")


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))``, with targets 1 and -1."""
    return og.soft_margin_loss(input, target, reduced(chosen(size_average, reduce, reduction), "soft_margin_loss"))


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """What the first input lacks to being ``margin`` above the second where the target is 1, and below it where it is -1."""
    number = reduced(chosen(size_average, reduce, reduction), "margin_ranking_loss")
    _check_ranks("margin_ranking_loss", input1=input1, input2=input2, target=target)
    return og.margin_ranking_loss(input1, input2, target, margin, number)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Distances of pairs that belong together (target 1), and what those of others (target -1) lack to ``margin``."""
    number = reduced(chosen(size_average, reduce, reduction), "hinge_embedding_loss")
    return og.hinge_embedding_loss(input, target, margin, number)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` of vectors that belong together (target 1), and by how much the cosine of others (-1) exceeds ``margin``."""
    number = reduced(chosen(size_average, reduce, reduction), "cosine_embedding_loss")
    return og.cosine_embedding_loss(input1, input2, target, margin, number)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """What the distance from an anchor to a negative example lacks to being ``margin`` above that to a positive one.

    With ``swap``, the distance between the two examples counts instead where it is smaller.
    """
    number = reduced(chosen(size_average, reduce, reduction), "triplet_margin_loss")
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss(): margin is {margin}, expected a number above zero")
    return og.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with a distance of one's own."""
    name = "triplet_margin_with_distance_loss"
    reduced(reduction, name)
    if margin <= 0:
        raise ValueError(f"{name}(): margin is {margin}, expected a number above zero")
    _check_ranks(name, anchor=anchor, positive=positive, negative=negative)
    distance = og.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = og.minimum(far, distance(positive, negative))
    return summarized((margin + near - far).clamp_min(0), reduction, name)


def _check_ranks(name: str, **inputs: Tensor) -> None:
    ranks = {argument: tensor.dim() for argument, tensor in inputs.items()}
    if len(set(ranks.values())) > 1:
        found = ", ".join(f"{argument} {rank}" for argument, rank in ranks.items())
        raise RuntimeError(f"{name}(): numbers of dimensions differ: {found}; expected all to be equal")
