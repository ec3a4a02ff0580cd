"""Functions of networks under torch's names: each is one operator, with defaults that people expect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opgrid as og

from .._opgrid import Tensor

Sizes = int | Sequence[int]

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _reduced(reduction: str, name: str) -> int:
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{name}(): {reduction} is not a valid value for reduction; expected none, mean or sum")
    return _REDUCTIONS[reduction]


# Activations


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(x, 0)``."""
    return og.relu_(input) if inplace else og.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(x, 0), 6)``."""
    return og.relu6_(input) if inplace else og.relu6(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``x`` above zero, ``negative_slope * x`` below."""
    return og.leaky_relu_(input, negative_slope) if inplace else og.leaky_relu(input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` above zero, ``alpha * (exp(x) - 1)`` below."""
    return og.elu_(input, alpha) if inplace else og.elu(input, alpha)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """``x`` times the normal distribution's function, or what ``approximate="tanh"`` takes for that."""
    return og.gelu(input, approximate=approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``."""
    return og.silu_(input) if inplace else og.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))``."""
    return og.mish_(input) if inplace else og.mish(input)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return og.tanh(input)


def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))``."""
    return og.sigmoid(input)


def logsigmoid(input: Tensor) -> Tensor:
    """The logarithm of `sigmoid`."""
    return og.log_sigmoid(input)


def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``."""
    return og.softplus(input, beta, threshold)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` between two bounds."""
    return og.hardtanh_(input, min_val, max_val) if inplace else og.hardtanh(input, min_val, max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """A line in the place of `sigmoid`, between 0 and 1."""
    return og.hardsigmoid_(input) if inplace else og.hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * hardsigmoid(x)``."""
    return og.hardswish_(input) if inplace else og.hardswish(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half times the `sigmoid` of the second."""
    return og.glu(input, dim)


def softmax(input: Tensor, dim: int, *, dtype: og.dtype | None = None) -> Tensor:
    """``exp(x)``, divided by its sum along a dimension."""
    return og.softmax(input, dim, dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: og.dtype | None = None) -> Tensor:
    """The logarithm of `softmax`."""
    return og.log_softmax(input, dim, dtype)


# Layers


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``."""
    return og.linear(input, weight, bias)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for each output ``k``."""
    return og.bilinear(input1, input2, weight, bias)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution over one dimension: input ``(N, C, L)``, weight ``(O, C / groups, K)``."""
    return _convolved(og.conv1d, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution over two dimensions: input ``(N, C, H, W)``, weight ``(O, C / groups, KH, KW)``."""
    return _convolved(og.conv2d, input, weight, bias, stride, padding, dilation, groups)


def _convolved(operator: Any, *args: Any) -> Tensor:
    result: Tensor = operator(*args)
    return result


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    """The rows of ``weight`` that ``input`` counts; with ``max_norm``, longer ones are shortened in place first."""
    rows = weight.shape[0]
    padding = -1
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise ValueError(f"Padding_idx must be within num_embeddings ({rows}), found {padding_idx}")
        padding = padding_idx % rows
    if max_norm is not None:
        with og.no_grad():
            og.embedding_renorm_(weight, input.contiguous(), max_norm, norm_type)
    return og.embedding(weight, input, padding, scale_grad_by_freq, False)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeros in the place of elements by chance, the others divided by ``1 - p``; without ``training``, the input."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return og.dropout_(input, p, training) if inplace else og.dropout(input, p, training)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(query @ key.mT * scale + mask) @ value``; the scale is ``1 / sqrt(E)`` if none is given."""
    return og.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


# Norms


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """The last dimensions with mean 0 and variance 1, times ``weight`` plus ``bias``."""
    return og.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """The last dimensions divided by the root of their mean square, times ``weight``."""
    return og.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Groups of channels with mean 0 and variance 1, times ``weight`` plus ``bias``."""
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
    """Channels with mean 0 and variance 1 over the batch; without ``training``, with the running ones."""
    if training and input.numel() // input.shape[1] <= 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    return og.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Divided by the norm along a dimension, or by ``eps`` where that is smaller."""
    return input / input.norm(p, dim, True).clamp_min(eps).expand_as(input)


# Pooling, padding, shapes


def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window of one dimension."""
    return og.max_pool1d(input, kernel_size, _step(stride), padding, dilation, ceil_mode)


def max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window of two dimensions."""
    return og.max_pool2d(input, kernel_size, _step(stride), padding, dilation, ceil_mode)


def avg_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of one dimension."""
    return og.avg_pool1d(input, kernel_size, _step(stride), padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of two dimensions."""
    return og.avg_pool2d(input, kernel_size, _step(stride), padding, ceil_mode, count_include_pad, divisor_override)


def _step(stride: Sizes | None) -> Sizes:
    # Operators take an empty list for windows that touch.
    return [] if stride is None else stride


def adaptive_avg_pool1d(input: Tensor, output_size: Sizes) -> Tensor:
    """Means of windows, as many as asked for."""
    return og.adaptive_avg_pool1d(input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: int | None | Sequence[int | None]) -> Tensor:
    """Means of windows, as many as asked for in each of two dimensions; ``None`` keeps a dimension as it is."""
    asked = list(output_size) if isinstance(output_size, Sequence) else [output_size] * 2
    sizes = [size if wanted is None else wanted for wanted, size in zip(asked, input.shape[-len(asked) :], strict=True)]
    return og.adaptive_avg_pool2d(input, sizes)


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """More elements at both ends of the last dimensions: ``pad`` is ``(left, right, top, bottom, …)``."""
    return og.pad(input, pad, mode, value)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A one at the place that each element counts, zeros elsewhere."""
    return og.one_hot(tensor, num_classes)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along a dimension."""
    return og.cosine_similarity(x1, x2, dim, eps)


# Losses


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
    number = _reduced(reduction, "cross_entropy")
    return og.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Minus the logarithm of the probability of the class that is right: ``(N, C, …)`` against ``(N, …)``."""
    return og.nll_loss_nd(input, target, weight, _reduced(reduction, "nll_loss"), ignore_index)


def mse_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The square of the difference."""
    return og.mse_loss(input, target, _reduced(reduction, "mse_loss"))


def l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The size of the difference."""
    return og.l1_loss(input, target, _reduced(reduction, "l1_loss"))


def smooth_l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """A parabola where the difference is below ``beta``, a line beyond."""
    return og.smooth_l1_loss(input, target, _reduced(reduction, "smooth_l1_loss"), beta)


def huber_loss(input: Tensor, target: Tensor, *, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """A parabola where the difference is below ``delta``, a line of that slope beyond."""
    return og.huber_loss(input, target, _reduced(reduction, "huber_loss"), delta)


def kl_div(input: Tensor, target: Tensor, *, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """How far probabilities are from those whose logarithms are given; ``batchmean`` divides the sum by the batch."""
    if reduction == "batchmean":
        return og.div(og.kl_div(input, target, _REDUCTIONS["sum"], log_target=log_target), input.shape[0])
    return og.kl_div(input, target, _reduced(reduction, "kl_div"), log_target=log_target)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """Minus the logarithm of the probability that was given to what is so, for yes and no."""
    return og.binary_cross_entropy(input, target, weight, _reduced(reduction, "binary_cross_entropy"))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of `sigmoid`."""
    number = _reduced(reduction, "binary_cross_entropy_with_logits")
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return og.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)
