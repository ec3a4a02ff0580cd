"""What tests are written with: comparison of tensors, numbers and collections, and tensors of random numbers.

>>> import opgrid as og
>>> from opgrid.testing import assert_close
>>> assert_close(og.tensor([1.0, 2.0]), og.tensor([1.0, 2.000001]))
>>> assert_close({"a": 1.0}, {"a": 1.5})
Traceback (most recent call last):
    ...
AssertionError: Scalars are not close!
<BLANKLINE>
Expected 1.5 but got 1.0.
Absolute difference: 0.5 (up to 1e-07 allowed)
Relative difference: 0.3333333333333333 (up to 1e-07 allowed)
<BLANKLINE>
The failure occurred for item ['a']
"""

from __future__ import annotations

from typing import Any

from .comparison import assert_close
from .creation import make_tensor

__all__ = ["assert_close", "make_tensor"]


def __getattr__(name: str) -> Any:
    if name == "assert_allclose":
        raise AttributeError(
            "opgrid.testing has no assert_allclose, which torch deprecated; use assert_close, which also compares dtypes and devices "
            "unless it is told not to"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
