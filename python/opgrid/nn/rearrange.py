"""Elements at other places: windows as columns, channels as pixels, groups of channels by turns, other sizes of images."""

from __future__ import annotations

from .._opgrid import Tensor
from . import functional as F
from .functional.sizes import Ratios, Sizes
from .module import Module


class Unfold(Module):
    """The windows of ``(N, C, H, W)`` as columns ``(N, C * kernel size, windows)``."""

    def __init__(self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        )


class Fold(Module):
    """Adds columns up where their windows were: the transpose of `Unfold`, of shape ``(N, C, *output_size)``."""

    def __init__(
        self, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class PixelShuffle(Module):
    """Channels as pixels: ``(…, C * r * r, H, W)`` to ``(…, C, H * r, W * r)``."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Pixels as channels: ``(…, C, H * r, W * r)`` to ``(…, C * r * r, H, W)``."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Takes channels from each group by turns: those of ``(N, g * C, …)`` in the order of ``(N, C, g, …)``."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


class Upsample(Module):
    """The input ``(N, C, …)`` at another size, which ``size`` or ``scale_factor`` gives; see `opgrid.nn.functional.interpolate`."""

    def __init__(
        self,
        size: Sizes | None = None,
        scale_factor: Ratios | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        self.scale_factor: Ratios | None
        if isinstance(scale_factor, (int, float)):
            self.scale_factor = float(scale_factor) if scale_factor else None
        else:
            self.scale_factor = scale_factor if scale_factor is None else tuple(float(x) for x in scale_factor)
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        sizes = (self.size, self.scale_factor)
        return F.interpolate(input, *sizes, self.mode, self.align_corners, self.recompute_scale_factor)

    def extra_repr(self) -> str:
        by = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{by}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """An image ``(N, C, H, W)`` at another size, with the nearest pixels."""

    def __init__(self, size: Sizes | None = None, scale_factor: Ratios | None = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """An image ``(N, C, H, W)`` at another size, interpolated between pixels, with aligned corners."""

    def __init__(self, size: Sizes | None = None, scale_factor: Ratios | None = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)
