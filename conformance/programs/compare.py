"""Compares the figures of a program that ran twice, in the order in which it gave them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOLERANCES = {"float64": 1e-6, "complex128": 1e-6, "float32": 1e-3, "complex64": 1e-3, "bfloat16": 3e-2, "float16": 3e-3}
"""By how much figures may differ, relative to the largest number of the figure; others have to be equal."""

SMALLEST = 1e-2
"""Figures below this are compared as if they were as large."""


@dataclass(frozen=True)
class Comparison:
    """How many figures were compared, the largest difference among them, and the first that differs by too much."""

    count: int
    largest: float = 0.0
    difference: str = ""


def figures_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def distance(found: list[float], expected: list[float]) -> float:
    """The largest difference relative to the largest number; infinite where only one is not finite."""
    finite = [abs(number) for number in expected if math.isfinite(number)]
    scale = max([SMALLEST, *finite])
    differences = [0.0]
    for one, other in zip(found, expected, strict=True):
        same = one == other or (math.isnan(one) and math.isnan(other))
        differences.append(0.0 if same else abs(one - other) / scale if math.isfinite(one - other) else math.inf)
    return max(differences)


def compared(found: list[dict[str, Any]], expected: list[dict[str, Any]], tolerance: float | None) -> Comparison:
    """Compares figures up to the first difference; a `tolerance` replaces those of floating-point dtypes."""
    largest = 0.0
    for number, (one, other) in enumerate(zip(found, expected)):
        where = f"step {other['step']}, {other['name']}"
        if (one["step"], one["name"]) != (other["step"], other["name"]):
            return Comparison(number, largest, f"{where}: found {one['name']} of step {one['step']} instead")
        for part in ("dtype", "shape"):
            if one[part] != other[part]:
                return Comparison(number, largest, f"{where}: {part} {one[part]}, expected {other[part]}")
        ours, theirs = one["value"], other["value"]
        if other["dtype"] not in TOLERANCES:
            if ours != theirs:
                return Comparison(number, largest, f"{where}: {shortened(ours)}, expected {shortened(theirs)}")
            continue
        apart = distance(ours, theirs)
        if apart > (tolerance or TOLERANCES[other["dtype"]]):
            return Comparison(number, largest, f"{where}: {shortened(ours)}, expected {shortened(theirs)}, {apart:.0e} apart")
        largest = max(largest, apart)
    if len(found) != len(expected):
        return Comparison(len(found), largest, f"{len(found)} figures, expected {len(expected)}")
    return Comparison(len(found), largest)


def shortened(values: list[Any]) -> str:
    """A figure as one reads it."""
    texts = [f"{value:.8g}" if isinstance(value, float) else str(value) for value in values[:4]]
    return texts[0] if len(values) == 1 else f"[{', '.join(texts)}{', …' if len(values) > 4 else ''}]"
