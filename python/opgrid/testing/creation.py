"""Tensors of random numbers for tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import opgrid as og

from .. import _opgrid
from .._opgrid import Tensor


def make_tensor(
    *shape: int | Sequence[int],
    dtype: _opgrid.dtype,
    device: _opgrid.device | str,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: _opgrid.memory_format | None = None,
) -> Tensor:
    """A tensor of random numbers from ``low`` to below ``high``: from -9 to 9 unless they are given, or what the dtype has of that.

    ``noncontiguous`` takes every second element of a longer tensor; ``exclude_zero`` replaces 0 by 1, or by the smallest normal
    number of a floating-point dtype.

    >>> from opgrid.testing import make_tensor
    >>> import opgrid as og
    >>> make_tensor(2, 3, dtype=og.float32, device="cpu", low=0).shape
    opgrid.Size([2, 3])
    """
    sizes: list[int] = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else list(shape)  # type: ignore[arg-type]
    is_inexact = dtype.is_floating_point or dtype.is_complex
    if noncontiguous and memory_format is not None:
        raise ValueError(f"make_tensor(): `noncontiguous` and `memory_format` exclude each other, found {memory_format}")
    if requires_grad and not is_inexact:
        raise ValueError(f"make_tensor(): {dtype} has no gradients, found requires_grad=True")
    lower, upper = _limits(dtype, low, high)
    noncontiguous = noncontiguous and math.prod(sizes) > 1
    if noncontiguous:
        sizes[-1] *= 2
    if is_inexact:
        result = _uniform(sizes, dtype, device, lower, upper)
    else:
        result = og.randint(math.ceil(lower), math.ceil(upper), sizes, dtype=dtype, device=device)
    if noncontiguous:
        # Without the first element, so that the offset is not 0 either.
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = og.finfo(dtype).tiny if is_inexact else 1
    return result.requires_grad_(requires_grad) if is_inexact else result


def _limits(dtype: _opgrid.dtype, low: float | None, high: float | None) -> tuple[float, float]:
    """The limits, moved to what the dtype can represent."""
    default: tuple[float, float]
    if dtype is og.bool:
        lowest, highest, default = 0.0, 2.0, (0, 2)
    elif dtype.is_floating_point or dtype.is_complex:
        lowest, highest, default = og.finfo(dtype).min, og.finfo(dtype).max, (-9, 9)
    else:
        # Integers are drawn below the upper limit, which is an int64, too.
        lowest, highest, default = og.iinfo(dtype).min, min(og.iinfo(dtype).max + 1, 2**63 - 1), (-9, 10)
    lower, upper = default[0] if low is None else low, default[1] if high is None else high
    if math.isnan(lower) or math.isnan(upper):
        raise ValueError(f"make_tensor(): `low` and `high` cannot be NaN, found {lower} and {upper}")
    if lower > upper or (lower == upper and not (dtype.is_floating_point or dtype.is_complex)):
        raise ValueError(f"make_tensor(): `low` must be less than `high`, found {lower} and {upper}")
    if upper < lowest or lower >= highest:
        raise ValueError(f"make_tensor(): numbers from {lower} to {upper} were asked for, {dtype} has those from {lowest} to {highest}")
    return min(max(lower, lowest), highest), min(max(upper, lowest), highest)


def _uniform(sizes: Sequence[int], dtype: Any, device: Any, low: float, high: float) -> Tensor:
    """Numbers of a floating-point or complex dtype; those of 8 bits are drawn in float32."""
    is_small = not dtype.is_complex and dtype.itemsize == 1
    result = og.empty(sizes, dtype=og.float32 if is_small else dtype, device=device)
    numbers = og.view_as_real(result) if dtype.is_complex else result
    if high - low >= og.finfo(numbers.dtype).max:
        # The width of the interval is not a number of the dtype.
        numbers.uniform_(low / 2, high / 2).mul_(2)
    else:
        numbers.uniform_(low, high)
    return result.to(dtype)
