"""Gradients of convolutions, from those of their results."""

from __future__ import annotations

from collections.abc import Sequence

import opgrid as og

from .._opgrid import Tensor
from .functional.sizes import Sizes, each

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` by an input of a size."""
    return _by_input(1, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` by an input of a size."""
    return _by_input(2, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` by an input of a size."""
    return _by_input(3, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` by a weight of a size."""
    return _by_weight(1, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` by a weight of a size."""
    return _by_weight(2, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` by a weight of a size."""
    return _by_weight(3, input, weight_size, grad_output, stride, padding, dilation, groups)


def _by_input(dims: int, size: Sequence[int], weight: Tensor, grad_output: Tensor, *settings: Sizes) -> Tensor:
    # Only the shape of the input counts.
    return _backward(dims, grad_output, grad_output.new_empty(1).expand(size), weight, settings, 0)


def _by_weight(dims: int, input: Tensor, size: Sequence[int], grad_output: Tensor, *settings: Sizes) -> Tensor:
    return _backward(dims, grad_output, input, grad_output.new_empty(1).expand(size), settings, 1)


def _backward(
    dims: int, grad_output: Tensor, input: Tensor, weight: Tensor, settings: tuple[Sizes, ...], place: int
) -> Tensor:
    *windows, groups = settings
    stride, padding, dilation = (each(sizes, dims) for sizes in windows)
    wanted = [place == 0, place == 1, False]
    more = [0] * dims
    grads = og.ops.aten.convolution_backward(
        grad_output, input, weight, None, stride, padding, dilation, False, more, groups, wanted
    )
    found: Tensor = grads[place]
    return found
