"""einops' examples: shapes by patterns."""

from __future__ import annotations

from typing import Any

import einops
import numpy as np
from einops import array_api as einops_array_api
from steps import Make, step

IMAGES = np.arange(6 * 4 * 4 * 3, dtype="float64").reshape(6, 4, 4, 3)


@step
def rearrange(array: Make) -> Any:
    patterns = {
        "b h w c -> b c h w": {},
        "b h w c -> (b h) w c": {},
        "(b1 b2) h w c -> (b1 h) (b2 w) c": {"b1": 2},
        "b (h h2) (w w2) c -> b h w (c h2 w2)": {"h2": 2, "w2": 2},
        "b h w c -> (b h w c)": {},
        "b ... -> ... b": {},
    }
    return {pattern: einops_array_api.rearrange(array(IMAGES), pattern, **sizes) for pattern, sizes in patterns.items()}


@step
def reduce(array: Make) -> Any:
    patterns = {
        ("b h w c -> b c", "mean"): {},
        ("b h w c -> h w c", "max"): {},
        ("b (h h2) (w w2) c -> b h w c", "mean"): {"h2": 2, "w2": 2},
        ("b h w c -> ", "sum"): {},
        ("b h w c -> b () () c", "min"): {},
    }
    return {str(key): einops_array_api.reduce(array(IMAGES), *key, **sizes) for key, sizes in patterns.items()}


@step
def repeat(array: Make) -> Any:
    x = array(IMAGES[0])
    return einops_array_api.repeat(x, "h w c -> h (tile w) c", tile=2), einops_array_api.repeat(x, "h w c -> b h w c", b=3)


@step
def pack_and_unpack(array: Make) -> Any:
    inputs = [array(IMAGES[0]), array(IMAGES[1, :, 0])]
    packed, shapes = einops_array_api.pack(inputs, "h * c")
    return packed, shapes, einops_array_api.unpack(packed, shapes, "h * c")


@step
def parse_shape(array: Make) -> Any:
    return einops.parse_shape(IMAGES, "b _ w c")


@step
def asnumpy(array: Make) -> Any:
    return einops_array_api.asnumpy(array(IMAGES))


@step(cannot="its backends for `einops.rearrange` are chosen by the names of packages that it knows; `einops.array_api` serves others")
def rearrange_by_backend(array: Make) -> Any:
    return einops.rearrange(array(IMAGES), "b h w c -> b c h w")
