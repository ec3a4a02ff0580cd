"""Padding, one-hot vectors, and elements that move between channels and space."""

from __future__ import annotations

from collections.abc import Sequence

import opgrid as og

from ..._opgrid import Tensor


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Pads both ends of the last dimensions: ``pad`` is ``(left, right, top, bottom, …)``."""
    return og.pad(input, pad, mode, value)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A one at the index that each element gives, zeros elsewhere."""
    return og.one_hot(tensor, num_classes)


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels as pixels: ``(…, C * r * r, H, W)`` to ``(…, C, H * r, W * r)``."""
    return og.pixel_shuffle(input, upscale_factor)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Pixels as channels: ``(…, C, H * r, W * r)`` to ``(…, C * r * r, H, W)``."""
    return og.pixel_unshuffle(input, downscale_factor)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Takes channels from each group by turns: those of ``(N, g * C, …)`` in the order of ``(N, C, g, …)``."""
    return og.channel_shuffle(input, groups)


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """`channel_shuffle` without a derivative, as backends compute it."""
    return og.native_channel_shuffle(input, groups)
