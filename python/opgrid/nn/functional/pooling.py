"""Pooling: the maximum, mean or norm of windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import opgrid as og

from ..._opgrid import Tensor
from .sizes import Sizes, each, step

OutputSizes = int | None | Sequence[int | None]


def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window over one dimension; with ``return_indices``, where it is, too."""
    args = (input, kernel_size, step(stride), padding, dilation, ceil_mode)
    return og.max_pool1d_with_indices(*args) if return_indices else og.max_pool1d(*args)


def max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window over two dimensions; with ``return_indices``, where it is, too."""
    args = (input, kernel_size, step(stride), padding, dilation, ceil_mode)
    return og.max_pool2d_with_indices(*args) if return_indices else og.max_pool2d(*args)


def max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window over three dimensions; with ``return_indices``, where it is, too."""
    args = (input, kernel_size, step(stride), padding, dilation, ceil_mode)
    return og.max_pool3d_with_indices(*args) if return_indices else og.max_pool3d(*args)


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`max_pool1d` with ``return_indices``, whatever that is here."""
    return max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`max_pool2d` with ``return_indices``, whatever that is here."""
    return max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`max_pool3d` with ``return_indices``, whatever that is here."""
    return max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def avg_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window over one dimension."""
    return og.avg_pool1d(input, kernel_size, step(stride), padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window over two dimensions."""
    return og.avg_pool2d(input, kernel_size, step(stride), padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window over three dimensions."""
    return og.avg_pool3d(input, kernel_size, step(stride), padding, ceil_mode, count_include_pad, divisor_override)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """The norm of each window over one dimension."""
    return _lp_pooled(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """The norm of each window over two dimensions."""
    return _lp_pooled(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """The norm of each window over three dimensions."""
    return _lp_pooled(3, input, norm_type, kernel_size, stride, ceil_mode)


_MEANS = (avg_pool1d, avg_pool2d, avg_pool3d)
_MAXIMA = (max_pool1d, max_pool2d, max_pool3d)


def _lp_pooled(
    dims: int, input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None, ceil_mode: bool
) -> Tensor:
    if norm_type == 0:
        raise ValueError(f"lp_pool{dims}d(): norm_type is {norm_type}, expected a number other than zero")
    if math.isinf(norm_type):
        # The norms of infinite order are the largest and the smallest absolute value.
        sign = 1 if norm_type > 0 else -1
        found: Tensor = sign * _MAXIMA[dims - 1](sign * input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        return found
    powers = _MEANS[dims - 1](input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    # The product is the number itself, with a gradient of zero at zero, where that of the root is infinite.
    powers = powers.sign() * og.relu(powers.abs())
    norms: Tensor = (powers * math.prod(each(kernel_size, dims))).pow(1.0 / norm_type)
    return norms


def adaptive_avg_pool1d(input: Tensor, output_size: Sizes) -> Tensor:
    """The means of as many windows as asked for."""
    return og.adaptive_avg_pool1d(input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: OutputSizes) -> Tensor:
    """The means of as many windows as asked for in each of two dimensions; ``None`` keeps a dimension's size."""
    return og.adaptive_avg_pool2d(input, _asked(input, output_size, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: OutputSizes) -> Tensor:
    """The means of as many windows as asked for in each of three dimensions; ``None`` keeps a dimension's size."""
    return og.adaptive_avg_pool3d(input, _asked(input, output_size, 3))


def adaptive_max_pool1d(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """The maxima of as many windows as asked for; with ``return_indices``, where they are, too."""
    both = og.adaptive_max_pool1d(input, output_size)
    return both if return_indices else both[0]


def adaptive_max_pool2d(input: Tensor, output_size: OutputSizes, return_indices: bool = False) -> Any:
    """The maxima of as many windows as asked for in each of two dimensions; with ``return_indices``, where they are, too."""
    both = og.adaptive_max_pool2d(input, _asked(input, output_size, 2))
    return both if return_indices else both[0]


def adaptive_max_pool3d(input: Tensor, output_size: OutputSizes, return_indices: bool = False) -> Any:
    """The maxima of as many windows as asked for in each of three dimensions; with ``return_indices``, where they are, too."""
    both = og.adaptive_max_pool3d(input, _asked(input, output_size, 3))
    return both if return_indices else both[0]


def adaptive_max_pool1d_with_indices(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """`adaptive_max_pool1d` with ``return_indices``, whatever that is here."""
    return adaptive_max_pool1d(input, output_size, True)


def adaptive_max_pool2d_with_indices(input: Tensor, output_size: OutputSizes, return_indices: bool = False) -> Any:
    """`adaptive_max_pool2d` with ``return_indices``, whatever that is here."""
    return adaptive_max_pool2d(input, output_size, True)


def adaptive_max_pool3d_with_indices(input: Tensor, output_size: OutputSizes, return_indices: bool = False) -> Any:
    """`adaptive_max_pool3d` with ``return_indices``, whatever that is here."""
    return adaptive_max_pool3d(input, output_size, True)


def _asked(input: Tensor, output_size: OutputSizes, dims: int) -> list[int]:
    """The number of windows in each dimension."""
    asked = each(output_size, dims)
    if len(asked) != dims or input.dim() <= dims:
        raise ValueError(
            f"output_size has {len(asked)} numbers for an input of {input.dim()} dimensions, expected {dims}, and at least "
            f"{dims + 1} dimensions"
        )
    return [size if wanted is None else wanted for wanted, size in zip(asked, input.shape[-dims:], strict=True)]
