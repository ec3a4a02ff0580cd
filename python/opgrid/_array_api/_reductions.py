"""Reductions, searching and sorting."""

from __future__ import annotations

import math
from typing import Any

from .. import _opgrid
from ._arguments import _as_dtype, _axes, _places, _together
from ._dtypes import _isdtype, _kind
from ._namespace import _op, _standard, _tensor, namespace
from ._shapes import _concat


def _over(name: str, function: str, x: Any, axis: Any, keepdims: bool, **options: Any) -> Any:
    """A reduction over axes."""
    axes = _axes(name, _tensor(x, name), axis)
    if axes:
        return _op(function)(x, axes, keepdim=keepdims, **options)
    # No axes stand for all of them in the operator.
    return _op("squeeze")(_op(function)(_op("unsqueeze")(x, 0), [0], keepdim=True, **options), 0)


def _dtype_of_sums(x: Any, dtype: Any) -> Any:
    """The dtype of sums and products of an array: operators, as torch's, sum unsigned integers as signed ones."""
    if dtype is None and _isdtype(x.dtype, "unsigned integer"):
        return _opgrid.uint64
    return dtype


def _reduce(name: str, operator: str, function: str, numbers: bool) -> None:
    """A reduction over axes; those of numbers take a dtype."""

    def of_numbers(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        return _over(name, function, x, axis, keepdims, dtype=_dtype_of_sums(_tensor(x, name), dtype))

    def plain(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        # Operators that return truth values return `uint8` for it, as torch's do.
        truth = name in ("all", "any")
        return _over(name, function, _op("ne")(x, 0) if truth and x.dtype == _opgrid.uint8 else x, axis, keepdims)

    _standard(name, operator, "squeeze.dim", "unsqueeze", "ne.Scalar")(of_numbers if numbers else plain)


_reduce("sum", "sum.dim_IntList", "sum", True)
_reduce("mean", "mean.dim", "mean", False)
_reduce("max", "amax", "amax", False)
_reduce("min", "amin", "amin", False)
_reduce("all", "all.dims", "all", False)
_reduce("any", "any.dims", "any", False)


@_standard("prod", "prod.dim_int", "reshape", "_to_copy")
def _prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    axes = _axes("prod", _tensor(x, "prod"), axis)
    dtype = _dtype_of_sums(x, dtype) or (_opgrid.int64 if _kind(x.dtype) < 2 else x.dtype)
    result = _as_dtype(x, dtype, x.device)
    for one in axes:
        result = _op("prod")(result, one, True, dtype=dtype)
    if keepdims:
        return result
    return _op("reshape")(result, [size for place, size in enumerate(result.shape) if place not in axes])


def _cumulative(name: str, operator: str, start: int) -> None:
    def cumulative(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
        if axis is None and _tensor(x, name).ndim != 1:
            raise ValueError(f"{name}(): `axis` is needed for an array of {x.ndim} dimensions")
        (place,) = _axes(name, _tensor(x, name), 0 if axis is None else axis)
        result = _op(operator)(x, place, dtype=_dtype_of_sums(x, dtype))
        if not include_initial:
            return result
        shape = [1 if one == place else size for one, size in enumerate(x.shape)]
        first = _op("full")(shape, start, dtype=result.dtype, device=result.device)
        return _op("cat")([first, result], place)

    _standard(name, operator, "full", "cat")(cumulative)


_cumulative("cumulative_sum", "cumsum", 0)
_cumulative("cumulative_prod", "cumprod", 1)


def _sorting(name: str, place: int) -> None:
    def sorting(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        return _op("sort")(_tensor(x, name), stable=stable, dim=axis, descending=descending)[place]

    _standard(name, "sort.stable")(sorting)


_sorting("sort", 0)
_sorting("argsort", 1)


@_standard("count_nonzero", "ne.Scalar", "sum.dim_IntList", "squeeze.dim", "unsqueeze")
def _count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return namespace.sum(_op("ne")(_tensor(x, "count_nonzero"), 0), axis=axis, keepdims=keepdims)


def _spread(name: str) -> None:
    def spread(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
        return _over(name, name, x, axis, keepdims, correction=correction)

    _standard(name, f"{name}.correction", "squeeze.dim", "unsqueeze")(spread)


_spread("var")
_spread("std")


def _search(name: str) -> None:
    def search(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
        if axis is not None:
            return _op(name)(_tensor(x, name), axis, keepdims)
        found = _op(name)(_tensor(x, name))
        return _op("reshape")(found, [1] * x.ndim) if keepdims else found

    _standard(name, name, "reshape")(search)


_search("argmax")
_search("argmin")


@_standard("searchsorted", "searchsorted.Tensor", "_to_copy")
def _searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted(): unknown side {side!r}; expected 'left' or 'right'")
    x1, x2 = _together("searchsorted", _tensor(x1, "searchsorted"), x2)
    sorter = None if sorter is None else _places(sorter, x1.shape[-1])
    return _op("searchsorted")(x1, x2, side=side, sorter=sorter)


@_standard("isin", "eq.Tensor", "any.dims", "unsqueeze", "reshape", "logical_not")
def _isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    x1, x2 = _together("isin", x1, x2)
    found = _op("any")(_op("eq")(_op("unsqueeze")(x1, -1), _op("reshape")(x2, [-1])), [-1])
    return _op("logical_not")(found) if invert else found


@_standard("where", "where.self", "nonzero", "select.int")
def _where(condition: Any, x1: Any = None, x2: Any = None, /) -> Any:
    if x1 is None and x2 is None:
        # As numpy and torch have it, by which scikit-learn calls it.
        return _nonzero(condition)
    return _op("where")(_tensor(condition, "where"), *_together("where", x1, x2))


@_standard("nonzero", "nonzero", "select.int")
def _nonzero(x: Any, /) -> tuple[Any, ...]:
    if _tensor(x, "nonzero").ndim == 0:
        raise ValueError("nonzero(): expected an array of one dimension or more, found none")
    places = _op("nonzero")(x)
    return tuple(_op("select")(places, 1, dim) for dim in range(x.ndim))


@_standard("diff", "slice.Tensor", "sub.Tensor", "cat")
def _diff(x: Any, /, n: int = 1, *, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    (axis,) = _axes("diff", _tensor(x, "diff"), axis)
    parts = [part for part in (prepend, x, append) if part is not None]
    x = _concat(parts, axis=axis) if len(parts) > 1 else x
    for _ in range(n):
        x = _op("sub")(_op("slice")(x, axis, 1, None), _op("slice")(x, axis, 0, -1))
    return x
