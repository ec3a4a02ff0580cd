"""Convolutions over one, two and three dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import opgrid as og

from .. import _opgrid
from .._opgrid import Tensor
from . import functional as F
from . import init
from .functional.sizes import Sizes
from .module import Module
from .parameter import Parameter

_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "replicate", "circular": "circular"}


def each(sizes: Sizes, dims: int) -> tuple[int, ...]:
    """One size for each dimension."""
    return (sizes,) * dims if isinstance(sizes, int) else tuple(sizes)


class _ConvNd(Module):
    """What convolutions and transposed ones have in common."""

    _dims: ClassVar[int]
    transposed: ClassVar[bool] = False
    output_padding: tuple[int, ...]
    weight: Parameter
    bias: Parameter | None

    def _set_up(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        padding: Sizes | str,
        dilation: Sizes,
        output_padding: Sizes,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: _opgrid.device | str | None,
        dtype: _opgrid.dtype | None,
    ) -> None:
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = each(kernel_size, self._dims)
        self.stride = each(stride, self._dims)
        self.padding = padding if isinstance(padding, str) else each(padding, self._dims)
        self.dilation = each(dilation, self._dims)
        self.output_padding = each(output_padding, self._dims)
        self.groups = groups
        self.padding_mode = padding_mode
        self._check()
        self.weight = Parameter(og.empty(self._weight_shape(), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(og.empty((out_channels,), device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        channels = (self.out_channels, self.in_channels)
        first, second = reversed(channels) if self.transposed else channels
        return (first, second // self.groups, *self.kernel_size)

    def _check(self) -> None:
        if self.groups <= 0:
            raise ValueError(f"groups must be a positive integer, found {self.groups}")
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % self.groups != 0:
                raise ValueError(f"{name} must be divisible by groups; found {getattr(self, name)} and {self.groups}")
        modes = ["zeros"] if self.transposed else sorted(_MODES)
        if self.padding_mode not in modes:
            raise ValueError(f"padding_mode must be one of {modes}, found '{self.padding_mode}'")
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string '{self.padding}', should be one of 'same', 'valid'")
            if self.padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError(f"padding='same' is not supported for strided convolutions; found {self.stride}")

    def reset_parameters(self) -> None:
        """Draws weight and bias uniformly from ``±1 / sqrt(in_channels / groups * kernel size)``."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = math.prod(self.weight.shape[1:])
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * self._dims:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self._dims:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * self._dims:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_ConvNd):
    """A convolution, with padding of a mode."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
    ) -> None:
        super().__init__()
        windows = (kernel_size, stride, padding, dilation)
        self._set_up(in_channels, out_channels, *windows, 0, groups, bias, padding_mode, device, dtype)

    def _margins(self) -> list[int]:
        """The padding at both ends of each dimension, last dimension first."""
        margins: list[int] = []
        for dim in reversed(range(self._dims)):
            if isinstance(self.padding, str):
                whole = self.dilation[dim] * (self.kernel_size[dim] - 1) if self.padding == "same" else 0
                margins += [whole // 2, whole - whole // 2]
            else:
                margins += [self.padding[dim]] * 2
        return margins

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The convolution with a weight and a bias of one's own, for modules that derive theirs."""
        padding: Sizes | str = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._margins(), _MODES[self.padding_mode])
            padding = 0
        function = (F.conv1d, F.conv2d, F.conv3d)[self._dims - 1]
        return function(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """Convolution over one dimension: ``(N, C, L)`` to ``(N, out_channels, …)``."""

    _dims = 1


class Conv2d(_Conv):
    """Convolution over two dimensions: ``(N, C, H, W)`` to ``(N, out_channels, …)``."""

    _dims = 2


class Conv3d(_Conv):
    """Convolution over three dimensions: ``(N, C, D, H, W)`` to ``(N, out_channels, …)``."""

    _dims = 3


class _ConvTranspose(_ConvNd):
    """The transpose of a convolution, which goes from its results' sizes to those of its inputs.

    ``output_padding`` adds to the sizes of results, of which several come from one size; ``forward`` takes ``output_size``
    instead.
    """

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
    ) -> None:
        super().__init__()
        windows = (kernel_size, stride, padding, dilation, output_padding)
        self._set_up(in_channels, out_channels, *windows, groups, bias, padding_mode, device, dtype)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        more = self.output_padding if output_size is None else self._more(input, list(output_size))
        function: Any = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self._dims - 1]
        settings = (self.stride, self.padding, more, self.groups, self.dilation)
        result: Tensor = function(input, self.weight, self.bias, *settings)
        return result

    def _more(self, input: Tensor, wanted: list[int]) -> tuple[int, ...]:
        """The output padding that gives results of wanted sizes."""
        dims = self._dims
        has_batch = input.dim() == dims + 2
        if len(wanted) == dims + 1 + has_batch:
            wanted = wanted[1 + has_batch :]
        name = type(self).__name__
        if len(wanted) != dims:
            raise ValueError(f"{name}: output_size has {len(wanted)} sizes, expected {dims} or {dims + 1 + has_batch}")
        more = []
        for d in range(dims):
            found = (input.shape[d - dims] - 1) * self.stride[d] - 2 * int(self.padding[d])
            least = found + self.dilation[d] * (self.kernel_size[d] - 1) + 1
            most = least + self.stride[d] - 1
            if not least <= wanted[d] <= most:
                raise ValueError(f"{name}: output_size is {wanted}, expected {least} to {most} in dimension {d}")
            more.append(wanted[d] - least)
        return tuple(more)


class ConvTranspose1d(_ConvTranspose):
    """The transpose of `Conv1d`: ``(N, C, L)`` to ``(N, out_channels, …)``."""

    _dims = 1


class ConvTranspose2d(_ConvTranspose):
    """The transpose of `Conv2d`: ``(N, C, H, W)`` to ``(N, out_channels, …)``."""

    _dims = 2


class ConvTranspose3d(_ConvTranspose):
    """The transpose of `Conv3d`: ``(N, C, D, H, W)`` to ``(N, out_channels, …)``."""

    _dims = 3
