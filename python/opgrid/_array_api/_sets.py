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


_OF_UNIQUE = (
    "_unique2", "real", "imag", "mul.Scalar", "add.Tensor", "index_select", "reshape", "arange", "full_like", "scatter_reduce.two",
)  # fmt: skip


def _unique(name: str, x: Any, *, inverse: bool = False, counts: bool = False) -> tuple[Any, Any, Any]:
    """The different elements in order, where each element is among them, and how often each occurs, if asked for."""
    if not _tensor(x, name).is_complex():
        found: tuple[Any, Any, Any] = _op("_unique2")(x, return_inverse=inverse, return_counts=counts)
        return found
    # Complex numbers are ordered by their real parts and then by their imaginary ones: as numbers of both.
    _, places_of_real, _ = _op("_unique2")(_op("real")(x), return_inverse=True)
    imaginary, places_of_imaginary, _ = _op("_unique2")(_op("imag")(x), return_inverse=True)
    pairs = _op("add")(_op("mul")(places_of_real, imaginary.numel()), places_of_imaginary)
    _, places, numbers = _op("_unique2")(pairs, return_inverse=True, return_counts=True)
    return _op("index_select")(_op("reshape")(x, [-1]), 0, _first(places, numbers)), places, numbers


def _first(inverse: Any, counts: Any) -> Any:
    """The first place of each different element: the smallest of its places."""
    places = _op("arange")(inverse.numel(), device=inverse.device)
    first = _op("full_like")(counts, inverse.numel())
    return _op("scatter_reduce")(first, 0, _op("reshape")(inverse, [-1]), places, "amin")


@_standard("unique_values", *_OF_UNIQUE)
def _unique_values(x: Any, /) -> Any:
    return _unique("unique_values", x)[0]


@_standard("unique_counts", *_OF_UNIQUE)
def _unique_counts(x: Any, /) -> _UniqueCounts:
    values, _, counts = _unique("unique_counts", x, counts=True)
    return _UniqueCounts(values, counts)


@_standard("unique_inverse", *_OF_UNIQUE)
def _unique_inverse(x: Any, /) -> _UniqueInverse:
    values, inverse, _ = _unique("unique_inverse", x, inverse=True)
    return _UniqueInverse(values, inverse)


@_standard("unique_all", *_OF_UNIQUE)
def _unique_all(x: Any, /) -> _UniqueAll:
    values, inverse, counts = _unique("unique_all", x, inverse=True, counts=True)
    return _UniqueAll(values, _first(inverse, counts), inverse, counts)
