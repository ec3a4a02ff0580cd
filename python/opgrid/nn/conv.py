"""Convolutions over one and two dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import opgrid as og

from .. import _opgrid
from .._opgrid import Tensor
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

Sizes = int | Sequence[int]

_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "replicate", "circular": "circular"}


def each(sizes: Sizes, dims: int) -> tuple[int, ...]:
    """One size for each dimension."""
    return (sizes,) * dims if isinstance(sizes, int) else tuple(sizes)


class _Conv(Module):
    """What convolutions have in common."""

    _dims: ClassVar[int]
    weight: Parameter
    bias: Parameter | None

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
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = each(kernel_size, self._dims)
        self.stride = each(stride, self._dims)
        self.padding = padding if isinstance(padding, str) else each(padding, self._dims)
        self.dilation = each(dilation, self._dims)
        self.groups = groups
        self.padding_mode = padding_mode
        self._check()
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = Parameter(og.empty(shape, device=device, dtype=dtype))
        self.bias = Parameter(og.empty((out_channels,), device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def _check(self) -> None:
        if self.groups <= 0:
            raise ValueError(f"groups must be a positive integer, found {self.groups}")
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % self.groups != 0:
                raise ValueError(f"{name} must be divisible by groups; found {getattr(self, name)} and {self.groups}")
        if self.padding_mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {sorted(_MODES)}, found '{self.padding_mode}'")
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
        padding: Sizes | str = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._margins(), _MODES[self.padding_mode])
            padding = 0
        function = F.conv1d if self._dims == 1 else F.conv2d
        return function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * self._dims:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self._dims:
            text += f", dilation={self.dilation}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class Conv1d(_Conv):
    """Convolution over one dimension: ``(N, C, L)`` to ``(N, out_channels, …)``."""

    _dims = 1


class Conv2d(_Conv):
    """Convolution over two dimensions: ``(N, C, H, W)`` to ``(N, out_channels, …)``."""

    _dims = 2
