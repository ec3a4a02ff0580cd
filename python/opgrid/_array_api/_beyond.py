"""Functions that the standard lacks and that libraries ask namespaces for by numpy's names: xarray and opt_einsum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._arguments import _together
from ._namespace import _op, _standard, _tensor


@_standard("einsum", "einsum", "_to_copy")
def _einsum(subscripts: str, /, *operands: Any) -> Any:
    return _op("einsum")(subscripts, _together("einsum", *operands))


@_standard("transpose", "permute")
def _transpose(x: Any, /, axes: Sequence[int] | None = None) -> Any:
    places = range(_tensor(x, "transpose").ndim)[::-1] if axes is None else axes
    return _op("permute")(x, tuple(places))
