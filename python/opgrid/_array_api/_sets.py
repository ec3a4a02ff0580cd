"""Functions of sets: the different elements of an array, in ascending order."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._namespace import _op, _standard, _tensor


class _UniqueAll(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class _UniqueCounts(NamedTuple):
    values: Any
    counts: Any


class _UniqueInverse(NamedTuple):
    values: Any
    inverse_indices: Any


@_standard("unique_values", "_unique2")
def _unique_values(x: Any, /) -> Any:
    return _op("_unique2")(_tensor(x, "unique_values"))[0]


@_standard("unique_counts", "_unique2")
def _unique_counts(x: Any, /) -> _UniqueCounts:
    values, _, counts = _op("_unique2")(_tensor(x, "unique_counts"), return_counts=True)
    return _UniqueCounts(values, counts)


@_standard("unique_inverse", "_unique2")
def _unique_inverse(x: Any, /) -> _UniqueInverse:
    values, inverse, _ = _op("_unique2")(_tensor(x, "unique_inverse"), return_inverse=True)
    return _UniqueInverse(values, inverse)


@_standard("unique_all", "_unique2", "arange", "full_like", "reshape", "scatter_reduce.two")
def _unique_all(x: Any, /) -> _UniqueAll:
    values, inverse, counts = _op("_unique2")(_tensor(x, "unique_all"), return_inverse=True, return_counts=True)
    # The first place of each value is the smallest of its places.
    places = _op("arange")(x.numel())
    first = _op("full_like")(counts, x.numel())
    first = _op("scatter_reduce")(first, 0, _op("reshape")(inverse, [-1]), places, "amin")
    return _UniqueAll(values, first, inverse, counts)
