"""Steps that a client library is put through, once with numpy's arrays and once with opgrid's.

A step is a function of a module `with_CLIENT.py` with the decorator `step`. It takes a function that makes an array of data, and returns
what is compared: arrays, numbers, text, and tuples and dictionaries of these. It has no other way to learn whose arrays it has.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import opgrid
from opgrid import array_api

TOLERANCE = 1e-6
"""By how much results may differ, relative to the larger one of the number and 1."""

Make = Callable[..., Any]


@dataclass(frozen=True)
class Step:
    """A step, and why it cannot work, if it cannot."""

    run: Callable[[Make], Any]
    cannot: str = ""

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def client(self) -> str:
        return self.run.__module__.removeprefix("with_")


@dataclass(frozen=True)
class Outcome:
    """What became of a step: `equal`, `converted` if the client's results are numpy's arrays, `cannot`, `differs` or `works`, which
    is that of one that is said not to."""

    step: Step
    state: str
    note: str = ""
    details: str = ""

    @property
    def is_wrong(self) -> bool:
        return self.state in ("differs", "works")


STEPS: list[Step] = []


def step(function: Callable[[Make], Any] | None = None, *, cannot: str = "") -> Any:
    """Makes a function a step; `cannot` says why it fails."""
    if function is None:
        return lambda function: step(function, cannot=cannot)
    STEPS.append(Step(function, cannot))
    return function


def numpy_array(data: Any, dtype: Any = None) -> Any:
    return np.array(data, dtype=dtype)


def opgrid_array(data: Any, dtype: Any = None) -> Any:
    return array_api.asarray(np.array(data, dtype=dtype), copy=True)


def leaves(result: Any, place: str = "result") -> Iterator[tuple[str, Any]]:
    """The arrays, numbers and strings of a result, with where they are."""
    if isinstance(result, dict):
        for key, value in result.items():
            yield from leaves(value, f"{place}[{key!r}]")
    elif isinstance(result, (tuple, list)):
        for number, value in enumerate(result):
            yield from leaves(value, f"{place}[{number}]")
    else:
        yield place, result


def difference(found: Any, expected: Any) -> str:
    """How an array or a number differs from numpy's; nothing if it does not."""
    if isinstance(expected, (str, type(None))):
        return "" if found == expected else f"{found!r}, expected {expected!r}"
    ours, numpys = np.asarray(found), np.asarray(expected)
    if ours.shape != numpys.shape:
        return f"shape {ours.shape}, expected {numpys.shape}"
    if numpys.dtype.kind not in "biufc":
        return "" if (ours == numpys).all() else f"{ours}, expected {numpys}"
    if ours.dtype.kind != numpys.dtype.kind:
        return f"dtype {ours.dtype}, expected {numpys.dtype}"
    scale = np.maximum(1.0, np.abs(numpys, dtype=float)) if numpys.dtype.kind != "c" else np.maximum(1.0, np.abs(numpys))
    same = np.isclose(ours, numpys, rtol=0.0, atol=TOLERANCE * scale, equal_nan=True)
    if same.all():
        return ""
    first = tuple(int(number) for number in np.argwhere(~same)[0])
    return f"{ours[first]} at {first}, expected {numpys[first]}"


def compared(found: Any, expected: Any) -> tuple[str, str]:
    """The state of a result and a note about it."""
    ours, numpys = list(leaves(found)), list(leaves(expected))
    if [place for place, _ in ours] != [place for place, _ in numpys]:
        return "differs", f"{len(ours)} results, expected {len(numpys)}"
    for (place, one), (_, other) in zip(ours, numpys, strict=True):
        if text := difference(one, other):
            return "differs", f"{place}: {text}"
    arrays = [one for (_, one), (_, other) in zip(ours, numpys, strict=True) if isinstance(other, np.ndarray)]
    converted = any(not isinstance(one, opgrid.Tensor) for one in arrays)
    return ("converted", "results are numpy's arrays") if converted else ("equal", "")


def outcome(one: Step) -> Outcome:
    """Runs a step on both sides."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = one.run(numpy_array)
        try:
            state, note = compared(one.run(opgrid_array), expected)
            details = ""
        except Exception as raised:
            state, note = "differs", f"{type(raised).__name__}: {str(raised).splitlines()[0] if str(raised) else ''}"
            details = traceback.format_exc()
    if not one.cannot:
        return Outcome(one, state, note, details)
    if state == "differs":
        return Outcome(one, "cannot", one.cannot, details)
    return Outcome(one, "works", f"it is said not to: {one.cannot}")
