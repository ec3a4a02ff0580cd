"""Compares opgrid.testing with torch.testing: what is close, the texts of what is not, and random tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import opgrid
import opgrid.nn
import opgrid.testing
import torch
import torch.testing
from beside import Comparison

nan, inf = float("nan"), float("inf")

# The actual and the expected value, and options.
PAIRS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "equal": lambda m: (m.tensor([1.0, 2.0]), m.tensor([1.0, 2.0])),
    "close": lambda m: (m.tensor([1.0, 2.0]), m.tensor([1.0, 2.0000001])),
    "elements": lambda m: (m.tensor([[1.0, 2.0], [3.0, 4.0]]), m.tensor([[1.0, 2.5], [3.0, 3.0]])),
    "shapes": lambda m: (m.tensor([1.0]), m.tensor([1.0, 2.0])),
    "dtypes": lambda m: (m.tensor([1.0]), m.tensor([1.0], dtype=m.float64)),
    "dtypes, not checked": lambda m: (m.tensor([1.0]), m.tensor([1.1], dtype=m.float64), {"check_dtype": False}),
    "strides": lambda m: (m.ones(2, 3), m.ones(3, 2).t(), {"check_stride": True}),
    "devices": lambda m: (m.ones(2, device="meta"), m.ones(2)),
    "no elements on a device": lambda m: (m.ones(2, device="meta"), m.ones(2, device="meta")),
    "no elements": lambda m: (m.empty(0), m.empty(0)),
    "NaN": lambda m: (m.tensor([nan]), m.tensor([nan])),
    "NaN, equal": lambda m: (m.tensor([nan]), m.tensor([nan]), {"equal_nan": True}),
    "NaN among others": lambda m: (m.tensor([nan, 2.0, 1.0]), m.tensor([1.0, 5.0, 1.0])),
    "infinity": lambda m: (m.tensor([inf, 2.0]), m.tensor([1.0, 2.0])),
    "both infinite": lambda m: (m.tensor([inf, 2.0]), m.tensor([inf, 2.0])),
    "zero expected": lambda m: (m.tensor([1.0, 2.0]), m.tensor([0.0, 2.0])),
    "integers": lambda m: (m.tensor([1, 2, 5]), m.tensor([1, 3, 9])),
    "small integers": lambda m: (m.tensor([1, 2, 5], dtype=m.uint8), m.tensor([1, 3, 9], dtype=m.uint8)),
    "booleans": lambda m: (m.tensor([True, False]), m.tensor([True, True])),
    "complex": lambda m: (m.tensor([1j, 2]), m.tensor([1j, 2.5 + 1j])),
    "half": lambda m: (m.tensor([1.0, 2.0]).half(), m.tensor([1.0, 2.5]).half()),
    "one number": lambda m: (m.tensor(1.5), m.tensor(2.5)),
    "zero expected of one": lambda m: (m.tensor(1.5), m.tensor(0.0)),
    "numbers": lambda m: (1.0, 2.0),
    "numbers of integers": lambda m: (1, 2),
    "types of numbers": lambda m: (1, 1.0),
    "types of numbers, not checked": lambda m: (1, 1.0, {"check_dtype": False}),
    "infinite numbers": lambda m: (inf, inf),
    "NaN as numbers": lambda m: (nan, nan),
    "NaN as numbers, equal": lambda m: (nan, nan, {"equal_nan": True}),
    "complex numbers": lambda m: (1j, 2j),
    "numbers of numpy": lambda m: (np.float32(1), np.float32(2)),
    "bools": lambda m: (True, False),
    "nothing": lambda m: (None, None),
    "nothing and a number": lambda m: (None, 1),
    "lists": lambda m: ([m.tensor(1.0), 2.0], [m.tensor(1.0), 3.0]),
    "lengths": lambda m: ([1.0, 2.0], [1.0, 2.0, 3.0]),
    "nested": lambda m: ({"a": [1.0, {"b": m.tensor([1.0, 2.0])}]}, {"a": [1.0, {"b": m.tensor([1.0, 3.0])}]}),
    "keys": lambda m: ({"a": 1, "b": 2}, {"a": 1, "c": 2}),
    "more keys": lambda m: ({"a": 1}, {"a": 1, "c": 2}),
    "arrays": lambda m: (np.ones(3), np.zeros(3)),
    "tolerances": lambda m: (m.tensor([1.0, 2.0]), m.tensor([1.5, 2.0]), {"rtol": 0.0, "atol": 1.0}),
    "no tolerances": lambda m: (m.tensor([1.0, 2.0]), m.tensor([1.5, 2.0]), {"rtol": 0.0, "atol": 0.0}),
    "one tolerance": lambda m: (1.0, 1.0, {"rtol": 1.0}),
    "a text": lambda m: (1.0, 2.0, {"msg": "hello"}),
    "a text around": lambda m: ([1.0], [2.0], {"msg": lambda text: f"head {text}"}),
    "tuple and list": lambda m: ((1.0,), [1.0]),
    "parameter": lambda m: (m.nn.Parameter(m.ones(2)), m.ones(2)),
}

# Pairs of types that cannot be compared, of which the class of the exception is.
REFUSED: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "texts": lambda m: ("a", "a"),
    "list and tensor": lambda m: ([1.0], m.tensor([1.0])),
    "number and tensor": lambda m: (1.0, m.tensor(1.0)),
    "array and tensor": lambda m: (np.ones(3), m.ones(3)),
    "a text after a difference": lambda m: ([1.0, "a"], [2.0, "a"]),
}

DTYPES = "float32 float64 float16 bfloat16 complex64 int64 int8 uint8 bool".split()
OPTIONS: list[dict[str, Any]] = [
    {},
    {"low": -1, "high": 2},
    {"noncontiguous": True},
    {"exclude_zero": True},
    {"low": 2, "high": 1},
    {"requires_grad": True},
    {"low": 1e6, "high": 2e6},
]

WANTED: dict[str, str] = {}


def text_of(m: Any, pair: tuple[Any, ...]) -> str:
    """What `assert_close` says of a pair."""
    actual, expected, *options = pair
    try:
        m.testing.assert_close(actual, expected, **(options[0] if options else {}))
    except (AssertionError, ValueError) as error:
        return f"{type(error).__bases__[0].__name__ if type(error).__module__ != 'builtins' else type(error).__name__}: {error}"
    return "close"


def run(show: str | None = None) -> int:
    """Compares all, and returns the exit status."""
    compare = Comparison("testing", (torch, opgrid), WANTED, show)
    for name, pair in PAIRS.items():
        compare(name, lambda m: text_of(m, pair(m)))
    for name, pair in REFUSED.items():
        compare(name, lambda m: m.testing.assert_close(*pair(m)))
    for dtype in DTYPES:
        for options in OPTIONS:

            def made(m: Any) -> Any:
                x = m.testing.make_tensor(3, 5, dtype=getattr(m, dtype), device="cpu", **options)
                return x, tuple(x.stride()), x.requires_grad

            # Numbers may differ in their last digit.
            compare(f"make_tensor {dtype} {options}", made, 1e-6)
    return compare.status()
