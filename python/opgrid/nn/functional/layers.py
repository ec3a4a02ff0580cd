"""Matrix products, convolutions, embeddings, dropout and attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opgrid as og

from ..._opgrid import Tensor

Sizes = int | Sequence[int]


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
    """The rows of ``weight`` at the indices ``input``; with ``max_norm``, longer rows are first rescaled in place."""
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
    """Zeroes elements with probability ``p`` and divides the others by ``1 - p``, when training."""
    return _dropped("dropout", input, p, training, inplace)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Sets elements with probability ``p`` to what `selu` tends to, and scales all so that mean and variance stay, when training."""
    return _dropped("alpha_dropout", input, p, training, inplace)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels: the first two dimensions are a batch and its channels."""
    return _dropped("feature_alpha_dropout", input, p, training, inplace)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of ``(N, C, L)`` or ``(C, L)``, as `dropout` does elements."""
    if input.dim() not in (2, 3):
        raise RuntimeError(f"dropout1d(): input has {input.dim()} dimensions, expected (N, C, L) or (C, L)")
    return _channels_dropped(input, p, training, inplace, is_batch=input.dim() == 3)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of ``(N, C, H, W)``, as `dropout` does elements; three dimensions are ``(N, C, L)``, as in torch."""
    return _channels_dropped(input, p, training, inplace, is_batch=True)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of ``(N, C, D, H, W)`` or ``(C, D, H, W)``, as `dropout` does elements."""
    return _channels_dropped(input, p, training, inplace, is_batch=input.dim() == 5)


def _channels_dropped(input: Tensor, p: float, training: bool, inplace: bool, *, is_batch: bool) -> Tensor:
    batch = input if is_batch else input.unsqueeze(0)
    result = _dropped("feature_dropout", batch, p, training, inplace)
    if is_batch:
        return result
    return input if inplace else result.squeeze(0)


def _dropped(name: str, input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    result: Tensor = getattr(og, name + "_" if inplace else name)(input, p, training)
    return result


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
    """``softmax(query @ key.mT * scale + mask) @ value``; the scale defaults to ``1 / sqrt(E)``."""
    return og.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )
