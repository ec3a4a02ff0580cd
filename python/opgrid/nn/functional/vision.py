"""Images at other sizes, and at places that a grid gives."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import opgrid as og

from ..._opgrid import Tensor
from .pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from .sizes import Ratios, Sizes, each

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}

_WITHOUT_CORNERS = ("nearest", "area", "nearest-exact")
_UPSAMPLINGS = {
    ("nearest", 1): "upsample_nearest1d",
    ("nearest", 2): "upsample_nearest2d",
    ("nearest", 3): "upsample_nearest3d",
    ("nearest-exact", 1): "_upsample_nearest_exact1d",
    ("nearest-exact", 2): "_upsample_nearest_exact2d",
    ("nearest-exact", 3): "_upsample_nearest_exact3d",
    ("linear", 1): "upsample_linear1d",
    ("bilinear", 2): "upsample_bilinear2d",
    ("trilinear", 3): "upsample_trilinear3d",
    ("bicubic", 2): "upsample_bicubic2d",
}
"""The operators by mode and number of dimensions."""
_ANTIALIASED = {"bilinear": "_upsample_bilinear2d_aa", "bicubic": "_upsample_bicubic2d_aa"}
_AREAS: tuple[Any, ...] = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)


def interpolate(
    input: Tensor,
    size: Sizes | None = None,
    scale_factor: Ratios | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """The input ``(N, C, …)`` at another size, which ``size`` or ``scale_factor`` gives.

    Modes are ``nearest``, ``nearest-exact`` and ``area`` over one to three dimensions, ``linear`` over one, ``bilinear`` and
    ``bicubic`` over two, ``trilinear`` over three. ``align_corners`` puts the outer elements on each other.
    """
    if mode in _WITHOUT_CORNERS and align_corners is not None:
        raise ValueError(f"interpolate(): align_corners is given with the mode {mode}, which has none")
    dims = input.dim() - 2
    sizes, factors = _asked(size, scale_factor, input)
    if recompute_scale_factor and sizes is not None:
        raise ValueError("interpolate(): recompute_scale_factor is given with size, expected scale_factor")
    if factors is not None and (recompute_scale_factor or mode == "area"):
        sizes = [int(found * factor) for found, factor in zip(input.shape[2:], factors, strict=True)]
        factors = None
    if antialias and not (mode in _ANTIALIASED and dims == 2):
        raise ValueError(
            f"interpolate(): antialias is given with the mode {mode} and an input of {input.dim()} dimensions, expected "
            f"{' or '.join(_ANTIALIASED)} and 4 dimensions"
        )
    if mode == "area" and 1 <= dims <= 3:
        area: Tensor = _AREAS[dims - 1](input, sizes)
        return area
    name = _ANTIALIASED[mode] if antialias else _UPSAMPLINGS.get((mode, dims))
    if name is None:
        raise NotImplementedError(
            f"interpolate(): the mode {mode} is not defined for an input of {input.dim()} dimensions; "
            "see the modes in its documentation"
        )
    corners = [] if mode in _WITHOUT_CORNERS else [bool(align_corners)]
    result: Tensor = getattr(og.ops.aten, name).vec(input, sizes, *corners, factors)
    return result


def _asked(size: Any, scale_factor: Any, input: Tensor) -> tuple[list[int] | None, list[float] | None]:
    """The sizes or the factors for each dimension, whichever is given."""
    if (size is None) == (scale_factor is None):
        found = "neither is" if size is None else "both are"
        raise ValueError(f"interpolate(): {found} given of size and scale_factor, expected one of them")
    name, given = ("size", size) if scale_factor is None else ("scale_factor", scale_factor)
    dims = input.dim() - 2
    if isinstance(given, Sequence) and len(given) != dims:
        raise ValueError(
            f"interpolate(): {name} has {len(given)} numbers, expected {dims} for an input of shape {list(input.shape)}"
        )
    numbers = each(given, dims)
    if scale_factor is not None:
        return None, [float(number) for number in numbers]
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers):
        raise TypeError(f"interpolate(): size is {size}, expected whole numbers")
    return numbers, None


def _deprecated(name: str, instead: str) -> None:
    warnings.warn(f"nn.functional.{name} is deprecated; use nn.functional.{instead} instead", stacklevel=3)


def upsample(
    input: Tensor,
    size: Sizes | None = None,
    scale_factor: Ratios | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """A deprecated name of `interpolate`."""
    _deprecated("upsample", "interpolate")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Sizes | None = None, scale_factor: Ratios | None = None) -> Tensor:
    """Deprecated: `interpolate` with the mode ``nearest``."""
    _deprecated("upsample_nearest", "interpolate")
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input: Tensor, size: Sizes | None = None, scale_factor: Ratios | None = None) -> Tensor:
    """Deprecated: `interpolate` with the mode ``bilinear`` and aligned corners."""
    _deprecated("upsample_bilinear", "interpolate")
    return interpolate(input, size, scale_factor, "bilinear", True)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The input ``(N, C, H, W)`` at the places ``grid`` ``(N, …, 2)``, where -1 and 1 are the edges of the image; or of volumes.

    Between elements, ``mode`` interpolates (``bilinear``, ``nearest``, ``bicubic``); outside, ``padding_mode`` tells what is there
    (``zeros``, ``border``, ``reflection``). Edges are the outer elements' centers with ``align_corners``.
    """
    for name, value, known in (
        ("mode", mode, GRID_SAMPLE_INTERPOLATION_MODES),
        ("padding_mode", padding_mode, GRID_SAMPLE_PADDING_MODES),
    ):
        if value not in known:
            raise ValueError(f"grid_sample(): {name} is {value!r}, expected one of {', '.join(known)}")
    numbers = (GRID_SAMPLE_INTERPOLATION_MODES[mode], GRID_SAMPLE_PADDING_MODES[padding_mode])
    return og.grid_sampler(input, grid, *numbers, _corners(align_corners, "grid_sample"))


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The places that affine matrices ``(N, 2, 3)`` or ``(N, 3, 4)`` map an image of a size to, for `grid_sample`."""
    corners = _corners(align_corners, "affine_grid")
    if not theta.is_floating_point():
        raise ValueError(f"affine_grid(): theta is of {theta.dtype}, expected a floating-point dtype")
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(f"affine_grid(): size has {len(size)} numbers, expected 4 or 5")
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (dims, dims + 1):
        raise ValueError(f"affine_grid(): theta has shape {list(theta.shape)}, expected (N, {dims}, {dims + 1})")
    if min(size) <= 0:
        raise ValueError(f"affine_grid(): size is {list(size)}, expected numbers above zero")
    return og.affine_grid_generator(theta, size, corners)


def _corners(align_corners: bool | None, name: str) -> bool:
    if align_corners is None:
        warnings.warn(f"{name}(): align_corners is not given and taken to be False; say which is meant", stacklevel=3)
    return bool(align_corners)
