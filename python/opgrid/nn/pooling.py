"""Pooling by windows of a size, and unpooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .._opgrid import Tensor
from . import functional as F
from .functional.sizes import Ratios, Sizes, each
from .module import Module


class _MaxPool(Module):
    """The maximum of each window; ``stride`` defaults to the kernel size."""

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def _settings(self) -> tuple[Any, ...]:
        return (self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The maximum of each window over one dimension, and with ``return_indices`` where it is, for `MaxUnpool1d`."""

    def forward(self, input: Tensor) -> Any:
        return F.max_pool1d(input, *self._settings())


class MaxPool2d(_MaxPool):
    """The maximum of each window over two dimensions, and with ``return_indices`` where it is, for `MaxUnpool2d`."""

    def forward(self, input: Tensor) -> Any:
        return F.max_pool2d(input, *self._settings())


class MaxPool3d(_MaxPool):
    """The maximum of each window over three dimensions, and with ``return_indices`` where it is, for `MaxUnpool3d`."""

    def forward(self, input: Tensor) -> Any:
        return F.max_pool3d(input, *self._settings())


class _MaxUnpool(Module):
    """Elements where pooling found them, and zeros elsewhere; ``stride`` defaults to the kernel size."""

    _dims: ClassVar[int]

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        self.kernel_size = tuple(each(kernel_size, self._dims))
        self.stride = tuple(each(kernel_size if stride is None else stride, self._dims))
        self.padding = tuple(each(padding, self._dims))

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """A partial inverse of `MaxPool1d`."""

    _dims = 1

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpool):
    """A partial inverse of `MaxPool2d`."""

    _dims = 2

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpool):
    """A partial inverse of `MaxPool3d`."""

    _dims = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _FractionalMaxPool(Module):
    """The maxima of windows at random places: as many as asked for, or as a part of the input's sizes."""

    def __init__(
        self,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: Ratios | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{type(self).__name__}: expected either output_size or output_ratio")
        ratios = output_ratio if isinstance(output_ratio, Sequence) else [output_ratio]
        if not all(ratio is None or 0 < ratio < 1 for ratio in ratios):
            raise ValueError(f"{type(self).__name__}: output_ratio is {output_ratio}, expected numbers between 0 and 1")
        self.kernel_size = kernel_size
        self.output_size = output_size
        self.output_ratio = output_ratio
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)

    def _settings(self) -> tuple[Any, ...]:
        sizes = (self.kernel_size, self.output_size, self.output_ratio)
        return (*sizes, self.return_indices, self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    """The maxima of windows at random places of two dimensions."""

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool2d(input, *self._settings())


class FractionalMaxPool3d(_FractionalMaxPool):
    """The maxima of windows at random places of three dimensions."""

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool3d(input, *self._settings())


class _AvgPool(Module):
    """The mean of each window; ``stride`` defaults to the kernel size."""

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def _settings(self) -> tuple[Any, ...]:
        windows = (self.kernel_size, self.stride, self.padding, self.ceil_mode)
        return (*windows, self.count_include_pad, self.divisor_override)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPool):
    """The mean of each window over one dimension."""

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        kernel, step, margin = (
            tuple(each(value, 1)) for value in (kernel_size, kernel_size if stride is None else stride, padding)
        )
        super().__init__(kernel, step, margin, ceil_mode, count_include_pad)

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, *self._settings()[:-1])


class AvgPool2d(_AvgPool):
    """The mean of each window over two dimensions."""

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, *self._settings())


class AvgPool3d(_AvgPool):
    """The mean of each window over three dimensions."""

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(input, *self._settings())


class _LPPool(Module):
    """The norm of each window; ``stride`` defaults to the kernel size."""

    def __init__(
        self, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        if norm_type == 0:
            raise ValueError(f"{type(self).__name__}: norm_type is {norm_type}, expected a number other than zero")
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def _settings(self) -> tuple[Any, ...]:
        return (float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """The norm of each window over one dimension."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(input, *self._settings())


class LPPool2d(_LPPool):
    """The norm of each window over two dimensions."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(input, *self._settings())


class LPPool3d(_LPPool):
    """The norm of each window over three dimensions."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(input, *self._settings())
