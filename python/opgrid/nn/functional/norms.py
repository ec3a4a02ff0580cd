"""Normalization, and distances."""

from __future__ import annotations

import math
from collections.abc import Sequence

import opgrid as og

from ..._opgrid import Tensor


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes over the last dimensions, then scales by ``weight`` and adds ``bias``."""
    return og.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divides by the root mean square over the last dimensions, then scales by ``weight``."""
    return og.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalizes each group of channels, then scales by ``weight`` and adds ``bias``."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    _check_count([input.shape[0] * input.shape[1] // num_groups, num_groups, *input.shape[2:]], input)
    return og.group_norm(input, num_groups, weight, bias, eps)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes each channel by the batch's statistics when training, otherwise by the running ones."""
    if training:
        _check_count(input.shape, input)
    return og.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes each channel of each sample by its own statistics, or with ``use_input_stats=False`` by the running ones."""
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    return og.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)


def _check_count(sizes: Sequence[int], input: Tensor) -> None:
    if math.prod([sizes[0], *sizes[2:]]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divides by ``(k + alpha * mean of squares) ** beta``, where the mean is over ``size`` neighbouring channels: ``(N, C, …)``.

    Channels beyond the first and the last count as zeros.
    """
    if input.dim() < 3:
        raise ValueError(f"local_response_norm(): input has {input.dim()} dimensions, expected at least 3")
    if input.numel() == 0:
        return input
    squares = input.square().flatten(2).unsqueeze(1)
    squares = og.pad(squares, (0, 0, size // 2, (size - 1) // 2))
    means = og.avg_pool2d(squares, (size, 1), 1).view(input.shape)
    return input / (means * alpha + k).pow(beta)


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Divides by the norm along a dimension, which is taken to be at least ``eps``."""
    norms = input.norm(p, dim, True).clamp_min(eps).expand_as(input)
    return input / norms if out is None else og.div(input, norms, out=out)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along a dimension."""
    return og.cosine_similarity(x1, x2, dim, eps)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The norm of ``x1 - x2 + eps`` along the last dimension."""
    return og.pairwise_distance(x1, x2, p, eps, keepdim)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The distances of all pairs of rows ``i < j`` of a matrix ``(N, M)``, in a vector ``(N * (N - 1) / 2,)``."""
    return og.pdist(input, p)
