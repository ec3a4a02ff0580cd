"""Sizes of windows: one number for all dimensions, or one for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Sizes = int | Sequence[int]
Ratios = float | Sequence[float]


def each(number: Any, dims: int) -> list[Any]:
    """A number for each dimension."""
    return list(number) if isinstance(number, Sequence) else [number] * dims


def step(stride: Sizes | None) -> Sizes:
    """The stride as operators take it: an empty list stands for the kernel size."""
    return [] if stride is None else stride
