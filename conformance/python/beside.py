"""Runs programs with a module of torch and with that of opgrid, and compares how they end."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import opgrid
import torch

Program = Callable[[Any], Any]

EXCEPTIONS = (NotImplementedError, ValueError, TypeError, AssertionError, AttributeError, IndexError, KeyError, RuntimeError)


def library(module: Any) -> Any:
    """The library that a module belongs to."""
    return torch if module.__name__.partition(".")[0] == "torch" else opgrid


def converted(value: Any) -> Any:
    """A value of either side as something to compare."""
    if isinstance(value, (torch.Tensor, opgrid.TensorBase)):
        numbers = torch.tensor(value.detach().tolist(), dtype=torch.complex128 if value.dtype.is_complex else torch.float64)
        return numbers, str(value.dtype).split(".")[1], tuple(value.shape)
    if isinstance(value, (list, tuple)):
        return [converted(item) for item in value]
    if isinstance(value, dict):
        return {key: converted(item) for key, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, complex)):
        return value
    return (value if isinstance(value, str) else repr(value)).replace("opgrid.", "torch.")


def end_of(program: Callable[[], Any]) -> Any:
    """The value of a program, or the builtin class of the exception that it raises."""
    try:
        return converted(program())
    except Exception as error:
        return "raises", next((kind.__name__ for kind in EXCEPTIONS if isinstance(error, kind)), type(error).__name__), error


def is_close(theirs: Any, ours: Any, tolerance: float) -> bool:
    """Whether two ends are the same, numbers up to a tolerance."""
    if type(theirs) is not type(ours):
        return False
    if isinstance(theirs, tuple) and isinstance(theirs[0], torch.Tensor):
        if not isinstance(ours[0], torch.Tensor) or theirs[1:] != ours[1:]:
            return False
        # Where parameters are numbers, all is computed in float32.
        tolerance = max(tolerance, 1e-5) if theirs[1] in ("float32", "complex64") else tolerance
        return torch.allclose(theirs[0], ours[0], rtol=tolerance, atol=tolerance, equal_nan=True)
    if isinstance(theirs, tuple):
        return bool(theirs[:2] == ours[:2])
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(is_close(a, b, tolerance) for a, b in zip(theirs, ours, strict=True))
    if isinstance(theirs, float):
        return abs(theirs - ours) <= tolerance * max(1.0, abs(theirs)) or theirs == ours or (theirs != theirs and ours != ours)
    return bool(theirs == ours)


class Comparison:
    """Counts what was compared, and prints what differs and is not wanted."""

    def __init__(
        self,
        title: str,
        sides: tuple[Any, Any],
        wanted: Mapping[str, str],
        show: str | None = None,
        tolerances: Mapping[str, float] | None = None,
    ) -> None:
        self.title, self.sides, self.wanted, self.show = title, sides, wanted, show
        self.tolerances = tolerances or {}
        self.count, self.differences = 0, set[str]()
        warnings.simplefilter("ignore")

    def __call__(self, name: str, program: Program, tolerance: float = 1e-9) -> None:
        """Runs a program with either side, both after the same seed."""
        ends = []
        tolerance = max(tolerance, self.tolerances.get(name.partition(" ")[0], 0.0))
        for side in self.sides:
            library(side).manual_seed(7)
            ends.append(end_of(lambda side=side: program(side)))
        self.count += 1
        same = is_close(ends[0], ends[1], tolerance)
        if not same:
            self.differences.add(name)
        if (self.show is not None and self.show in name) or (self.show is None and not same and name not in self.wanted):
            print(f"{name}\n  torch   {ends[0]}\n  opgrid  {ends[1]}")

    def status(self) -> int:
        """Prints the counts. Not 0 where something differs that is not wanted, or something wanted does not differ."""
        unwanted, settled = self.differences - set(self.wanted), set(self.wanted) - self.differences
        print(f"{self.title}: {self.count} cases; {len(unwanted)} differ, {len(self.wanted) - len(settled)} on purpose")
        for name in sorted(settled):
            print(f"no longer differs: {name}")
        return 1 if unwanted or settled else 0
