"""Convolutions, transposed ones, and the windows that they go over."""

from __future__ import annotations

from typing import Any

import opgrid as og

from ..._opgrid import Tensor
from .sizes import Sizes, each


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


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution over three dimensions: input ``(N, C, D, H, W)``, weight ``(O, C / groups, KD, KH, KW)``."""
    return _convolved(og.conv3d, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """The transpose of `conv1d`, its gradient by the input: input ``(N, C, L)``, weight ``(C, O / groups, K)``."""
    return _convolved(og.conv_transpose1d, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """The transpose of `conv2d`, its gradient by the input: input ``(N, C, H, W)``, weight ``(C, O / groups, KH, KW)``."""
    return _convolved(og.conv_transpose2d, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """The transpose of `conv3d`, its gradient by the input: input ``(N, C, D, H, W)``, weight ``(C, O / groups, KD, KH, KW)``."""
    return _convolved(og.conv_transpose3d, input, weight, bias, stride, padding, output_padding, groups, dilation)


def _convolved(operator: Any, *args: Any) -> Tensor:
    result: Tensor = operator(*args)
    return result


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolution over the first dimension: input ``(L, N, C)``, weight ``(K, C, O)``."""
    return og.conv_tbc(input, weight, bias, pad)


def unfold(
    input: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Tensor:
    """The windows of ``(N, C, H, W)`` as columns ``(N, C * kernel size, windows)``."""
    return og.im2col(input, *(each(sizes, 2) for sizes in (kernel_size, dilation, padding, stride)))


def fold(
    input: Tensor,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Tensor:
    """Adds columns up where their windows were: the transpose of `unfold`, of shape ``(N, C, *output_size)``."""
    return og.col2im(input, *(each(sizes, 2) for sizes in (output_size, kernel_size, dilation, padding, stride)))
