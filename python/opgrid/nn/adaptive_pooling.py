"""Pooling into as many windows as asked for."""

from __future__ import annotations

from typing import Any

from .._opgrid import Tensor
from . import functional as F
from .functional.pooling import OutputSizes
from .module import Module


class _Adaptive(Module):
    """As many windows as asked for in each dimension; ``None`` keeps a dimension's size."""

    def __init__(self, output_size: OutputSizes) -> None:
        super().__init__()
        self.output_size: Any = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveMax(_Adaptive):
    """The maximum of each window, and with ``return_indices`` where it is."""

    def __init__(self, output_size: OutputSizes, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveAvgPool1d(_Adaptive):
    """The means of as many windows as asked for over one dimension."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_Adaptive):
    """The means of as many windows as asked for over two dimensions."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_Adaptive):
    """The means of as many windows as asked for over three dimensions."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(_AdaptiveMax):
    """The maxima of as many windows as asked for over one dimension, and with ``return_indices`` where they are."""

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMax):
    """The maxima of as many windows as asked for over two dimensions, and with ``return_indices`` where they are."""

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMax):
    """The maxima of as many windows as asked for over three dimensions, and with ``return_indices`` where they are."""

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)
