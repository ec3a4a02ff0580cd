"""Functions that make arrays."""

from __future__ import annotations

from typing import Any

from .. import _opgrid
from ._dtypes import _astype
from ._namespace import _op, _standard, _tensor


def _shape(shape: Any) -> tuple[int, ...]:
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


@_standard("asarray", "clone")
def _asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
    return _opgrid.asarray(obj, dtype=dtype, device=device, copy=copy)


@_standard("from_dlpack", "clone")
def _from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    result = _opgrid.from_dlpack(x)
    if device is not None and _opgrid.device(device) != result.device:
        if copy is False:
            raise BufferError("from_dlpack(): another device needs a copy, but copy=False")
        return result.to(device)
    return _op("clone")(result) if copy else result


def _filled(name: str, operator: str) -> None:
    def filled(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
        return _op(name)(_shape(shape), dtype=dtype, device=device)

    def like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
        x = _tensor(x, f"{name}_like")
        return _op(name)(tuple(x.shape), dtype=dtype or x.dtype, device=device or x.device)

    _standard(name, operator)(filled)
    _standard(f"{name}_like", operator)(like)


_filled("empty", "empty.memory_format")
_filled("ones", "ones")
_filled("zeros", "zeros")


@_standard("full", "full")
def _full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    return _op("full")(_shape(shape), fill_value, dtype=dtype, device=device)


@_standard("full_like", "full")
def _full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    return _full(tuple(_tensor(x, "full_like").shape), fill_value, dtype=dtype or x.dtype, device=device or x.device)


@_standard("arange", "arange.start_step", "empty.memory_format")
def _arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Any:
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange(): `step` must not be 0")
    if (stop - start) / step <= 0:
        numbers = (start, stop, step)
        dtype = dtype or (_opgrid.int64 if all(isinstance(number, int) for number in numbers) else _opgrid.float32)
        return _op("empty")((0,), dtype=dtype, device=device)
    return _op("arange")(start, stop, step, dtype=dtype, device=device)


@_standard("linspace", "linspace")
def _linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True
) -> Any:
    points = _op("linspace")(start, stop, num + (not endpoint), dtype=dtype, device=device)
    return points if endpoint else points[:num]


def _beside_diagonal(comparison: str, k: int, device: Any, rows: int, columns: int) -> Any:
    """The places of a matrix whose diagonals compare so with number ``k``: 0 is the main one, those above are positive."""
    numbers = _op("arange")(columns, device=device), _op("arange")(rows, device=device)
    # Beyond the corners all numbers mean the same, however large they are.
    return _op(comparison)(_op("sub")(numbers[0], _op("unsqueeze")(numbers[1], 1)), max(-rows, min(k, columns)))


@_standard("eye", "arange", "sub.Tensor", "unsqueeze", "eq.Scalar", "_to_copy")
def _eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Any:
    on = _beside_diagonal("eq", k, device, n_rows, n_rows if n_cols is None else n_cols)
    return _astype(on, dtype or _opgrid.float32)


def _triangle(name: str, comparison: str) -> None:
    def triangle(x: Any, /, *, k: int = 0) -> Any:
        if _tensor(x, name).ndim < 2:
            raise ValueError(f"{name}(): expected a matrix or a stack of them, found {x.ndim} dimensions")
        inside = _beside_diagonal(comparison, k, x.device, *x.shape[-2:])
        return _op("where")(inside, x, _op("zeros")((), dtype=x.dtype, device=x.device))

    _standard(name, "arange", "sub.Tensor", "unsqueeze", f"{comparison}.Scalar", "where.self", "zeros")(triangle)


_triangle("tril", "le")
_triangle("triu", "ge")


@_standard("meshgrid", "reshape", "expand")
def _meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Any, ...]:
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid(): `indexing` is 'xy' or 'ij', found {indexing!r}")
    places = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        places[:2] = [1, 0]
    sizes = [1] * len(arrays)
    for place, x in zip(places, arrays, strict=True):
        sizes[place] = x.numel()
    alone = [[-1 if place == other else 1 for other in range(len(arrays))] for place in places]
    return tuple(_op("expand")(_op("reshape")(x, one), sizes) for x, one in zip(arrays, alone, strict=True))
