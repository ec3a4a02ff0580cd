"""Unpooling, and pooling under windows at random places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opgrid as og

from ..._opgrid import Tensor
from .sizes import Ratios, Sizes, each


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Puts elements where `max_pool1d` found them, and zeros elsewhere; ``output_size`` chooses among the sizes that pool to this one."""
    sizes = _unpooled_sizes("max_unpool1d", 1, input, kernel_size, stride, padding, output_size)[0]
    return og.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*sizes, 1]).squeeze(-1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Puts elements where `max_pool2d` found them, and zeros elsewhere; ``output_size`` chooses among the sizes that pool to this one."""
    sizes = _unpooled_sizes("max_unpool2d", 2, input, kernel_size, stride, padding, output_size)[0]
    return og.max_unpool2d(input, indices, sizes)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Puts elements where `max_pool3d` found them, and zeros elsewhere; ``output_size`` chooses among the sizes that pool to this one."""
    sizes, steps, frame = _unpooled_sizes("max_unpool3d", 3, input, kernel_size, stride, padding, output_size)
    return og.max_unpool3d(input, indices, sizes, steps, frame)


def _unpooled_sizes(
    name: str,
    dims: int,
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    output_size: Sequence[int] | None,
) -> tuple[list[int], list[int], list[int]]:
    """The sizes of the result, with stride and padding for each dimension."""
    kernel, frame = each(kernel_size, dims), each(padding, dims)
    steps = kernel if stride is None else each(stride, dims)
    found = [int(size) for size in input.shape[-dims:]]
    usual = [(found[d] - 1) * steps[d] + kernel[d] - 2 * frame[d] for d in range(dims)]
    if output_size is None:
        return usual, steps, frame
    wanted = [int(size) for size in output_size]
    if len(wanted) == dims + 2:
        wanted = wanted[2:]
    if len(wanted) != dims:
        raise ValueError(f"{name}(): output_size has {len(wanted)} sizes, expected {dims} or {dims + 2}")
    for d in range(dims):
        if not usual[d] - steps[d] < wanted[d] < usual[d] + steps[d]:
            raise ValueError(
                f"{name}(): output_size is {wanted}, expected a size between {usual[d] - steps[d]} and {usual[d] + steps[d]}, "
                f"both excluded, in dimension {d}"
            )
    return wanted, steps, frame


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The maxima of as many windows as asked for, or as a part of the input's sizes, at random places of two dimensions; with
    ``return_indices``, their indices too."""
    name = "fractional_max_pool2d"
    return _fractional_max_pooled(name, 2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The maxima of as many windows as asked for, or as a part of the input's sizes, at random places of three dimensions; with
    ``return_indices``, their indices too."""
    name = "fractional_max_pool3d"
    return _fractional_max_pooled(name, 3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """`fractional_max_pool2d` with ``return_indices``, whatever that is here."""
    return fractional_max_pool2d(input, kernel_size, output_size, output_ratio, True, _random_samples)


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """`fractional_max_pool3d` with ``return_indices``, whatever that is here."""
    return fractional_max_pool3d(input, kernel_size, output_size, output_ratio, True, _random_samples)


def _fractional_max_pooled(
    name: str,
    dims: int,
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None,
    output_ratio: Ratios | None,
    return_indices: bool,
    samples: Tensor | None,
) -> Any:
    if output_size is None:
        if output_ratio is None:
            raise ValueError(f"{name}(): neither output_size nor output_ratio is given, expected one of them")
        ratios = each(output_ratio, dims)
        output_size = [int(size * ratio) for size, ratio in zip(input.shape[-dims:], ratios, strict=True)]
    if samples is None:
        images = 1 if input.dim() == dims + 1 else input.shape[0]
        samples = og.rand(images, input.shape[-dims - 1], dims, dtype=input.dtype, device=input.device)
    both = getattr(og, name)(input, kernel_size, output_size, samples)
    return tuple(both) if return_indices else both[0]
