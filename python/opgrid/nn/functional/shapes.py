"""Pooling, padding and one-hot vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opgrid as og

from ..._opgrid import Tensor

Sizes = int | Sequence[int]


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
    args = (input, kernel_size, _step(stride), padding, dilation, ceil_mode)
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
    args = (input, kernel_size, _step(stride), padding, dilation, ceil_mode)
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
    args = (input, kernel_size, _step(stride), padding, dilation, ceil_mode)
    return og.max_pool3d_with_indices(*args) if return_indices else og.max_pool3d(*args)


def avg_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window over one dimension."""
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
    """The mean of each window over two dimensions."""
    return og.avg_pool2d(input, kernel_size, _step(stride), padding, ceil_mode, count_include_pad, divisor_override)


def _step(stride: Sizes | None) -> Sizes:
    # Operators take an empty list for the kernel size.
    return [] if stride is None else stride


def adaptive_avg_pool1d(input: Tensor, output_size: Sizes) -> Tensor:
    """The means of as many windows as asked for."""
    return og.adaptive_avg_pool1d(input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: int | None | Sequence[int | None]) -> Tensor:
    """The means of as many windows as asked for in each of two dimensions; ``None`` keeps a dimension's size."""
    asked = list(output_size) if isinstance(output_size, Sequence) else [output_size] * 2
    sizes = [size if wanted is None else wanted for wanted, size in zip(asked, input.shape[-len(asked) :], strict=True)]
    return og.adaptive_avg_pool2d(input, sizes)


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Pads both ends of the last dimensions: ``pad`` is ``(left, right, top, bottom, …)``."""
    return og.pad(input, pad, mode, value)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A one at the index that each element gives, zeros elsewhere."""
    return og.one_hot(tensor, num_classes)
