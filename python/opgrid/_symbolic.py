"""Functions of sizes that programs with varying sizes call in place of Python's: ``sym_max(x.shape[0], 4)``. Sizes keep their expressions
where these are integers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

Number = int | float


def sym_int(a: Any) -> Any:
    """The number without its fraction."""
    return a if isinstance(a, int) and not isinstance(a, bool) else math.floor(a) if a >= 0 else math.ceil(a)


def sym_float(a: Any) -> float:
    """The number as a float."""
    return float(a)


def sym_not(a: Any) -> bool:
    """Whether the condition is false."""
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The larger one; a float where one is a float."""
    larger = a if a >= b else b
    return float(larger) if isinstance(a, float) or isinstance(b, float) else larger


def sym_min(a: Any, b: Any) -> Any:
    """The smaller one; a float where one is a float."""
    smaller = a if a <= b else b
    return float(smaller) if isinstance(a, float) or isinstance(b, float) else smaller


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """``t`` where the condition holds, else ``f``."""
    return t if b else f


def sym_sum(args: Iterable[Any]) -> Any:
    """The sum."""
    return sum(args)


def sym_sqrt(a: Any) -> float:
    """The square root."""
    return math.sqrt(a)
