"""Functions of shapes and of places in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _opgrid
from .._functional import broadcast_shapes
from ._arguments import _axes, _together
from ._namespace import _op, _standard, _tensor


@_standard("broadcast_shapes")
def _broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    try:
        return tuple(broadcast_shapes(*shapes))
    except RuntimeError as refused:
        raise ValueError(str(refused)) from None


@_standard("broadcast_to", "expand")
def _broadcast_to(x: Any, /, shape: Sequence[int]) -> Any:
    if _broadcast_shapes(_tensor(x, "broadcast_to").shape, shape) != tuple(shape):
        raise ValueError(f"broadcast_to(): an array of shape {tuple(x.shape)} does not broadcast to {tuple(shape)}")
    return _op("expand")(x, tuple(shape))


@_standard("broadcast_arrays", "expand")
def _broadcast_arrays(*arrays: Any) -> list[Any]:
    shape = _broadcast_shapes(*(x.shape for x in arrays))
    return [_op("expand")(x, shape) for x in arrays]


@_standard("concat", "cat", "reshape", "_to_copy")
def _concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Any:
    arrays = _together("concat", *arrays)
    if axis is None:
        arrays, axis = [_op("reshape")(x, [-1]) for x in arrays], 0
    return _op("cat")(arrays, axis)


@_standard("stack", "stack", "_to_copy")
def _stack(arrays: Sequence[Any], /, *, axis: int = 0) -> Any:
    return _op("stack")(_together("stack", *arrays), axis)


@_standard("unstack", "select.int")
def _unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    (axis,) = _axes("unstack", _tensor(x, "unstack"), axis)
    return tuple(_op("select")(x, axis, place) for place in range(x.shape[axis]))


@_standard("expand_dims", "unsqueeze")
def _expand_dims(x: Any, /, axis: Any = 0) -> Any:
    axes = axis if isinstance(axis, tuple) else (axis,)
    after = _tensor(x, "expand_dims").ndim + len(axes)
    if any(not -after <= one < after for one in axes) or len({one % after for one in axes}) < len(axes):
        raise IndexError(f"expand_dims(): axis {axis} does not name new axes of an array of {after} dimensions")
    for one in sorted(one % after for one in axes):
        x = _op("unsqueeze")(x, one)
    return x


@_standard("squeeze", "squeeze.dims")
def _squeeze(x: Any, /, axis: Any) -> Any:
    axes = _axes("squeeze", _tensor(x, "squeeze"), axis)
    for one in axes:
        if x.shape[one] != 1:
            raise ValueError(f"squeeze(): axis {one} has {x.shape[one]} elements, and only one of 1 can be removed")
    return _op("squeeze")(x, axes)


@_standard("permute_dims", "permute")
def _permute_dims(x: Any, /, axes: Sequence[int]) -> Any:
    return _op("permute")(_tensor(x, "permute_dims"), tuple(axes))


@_standard("moveaxis", "permute")
def _moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
    moved, places = _axes("moveaxis", _tensor(x, "moveaxis"), source), _axes("moveaxis", x, destination)
    if len(moved) != len(places):
        raise ValueError(f"moveaxis(): {len(moved)} axes do not match {len(places)} places")
    order = [axis for axis in range(x.ndim) if axis not in moved]
    for place, axis in sorted(zip(places, moved, strict=True)):
        order.insert(place, axis)
    return _op("permute")(x, order)


@_standard("reshape", "reshape", "clone", "view")
def _reshape(x: Any, /, shape: Sequence[int], *, copy: bool | None = None) -> Any:
    if copy is False:
        return _op("view")(_tensor(x, "reshape"), tuple(shape))
    result = _op("reshape")(_tensor(x, "reshape"), tuple(shape))
    return _op("clone")(result) if copy and result.data_ptr() == x.data_ptr() else result


@_standard("take", "index_select")
def _take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    if axis is None and _tensor(x, "take").ndim != 1:
        raise ValueError(f"take(): `axis` is needed for an array of {x.ndim} dimensions")
    return _op("index_select")(_tensor(x, "take"), 0 if axis is None else axis, indices)


@_standard("take_along_axis", "gather", "expand")
def _take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    (axis,) = _axes("take_along_axis", _tensor(x, "take_along_axis"), axis)
    shape = list(_broadcast_shapes(*([*y.shape[:axis], 1, *y.shape[axis + 1 :]] for y in (x, indices))))
    x, indices = (_op("expand")(y, [*shape[:axis], y.shape[axis], *shape[axis + 1 :]]) for y in (x, indices))
    return _op("gather")(x, axis, indices)


def _at(x: Any, places: Sequence[int], axis: int) -> Any:
    return _op("index_select")(x, axis, _opgrid.tensor(list(places), dtype=_opgrid.int64, device=x.device))


@_standard("flip", "index_select", "clone")
def _flip(x: Any, /, *, axis: Any = None) -> Any:
    axes = _axes("flip", _tensor(x, "flip"), axis)
    for one in axes:
        x = _at(x, range(x.shape[one])[::-1], one)
    return x if axes else _op("clone")(x)


@_standard("roll", "index_select", "reshape", "clone")
def _roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    if axis is None:
        flat = _op("reshape")(_tensor(x, "roll"), [-1])
        return _op("reshape")(_roll(flat, shift, axis=0), tuple(x.shape))
    axes = axis if isinstance(axis, tuple) else (axis,)
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise ValueError(f"roll(): {len(shifts)} shifts do not match {len(axes)} axes")
    x = _op("clone")(_tensor(x, "roll"))
    for by, one in zip(shifts, axes, strict=True):
        (place,) = _axes("roll", x, one)
        size = x.shape[place]
        x = _at(x, [(start - by) % size for start in range(size)], place)
    return x


@_standard("repeat", "index_select", "reshape")
def _repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    if axis is None:
        x, axis = _op("reshape")(_tensor(x, "repeat"), [-1]), 0
    (axis,) = _axes("repeat", _tensor(x, "repeat"), axis)
    counts = repeats.tolist() if isinstance(repeats, _opgrid.TensorBase) else repeats
    counts = [counts] * x.shape[axis] if isinstance(counts, int) else list(counts)
    counts = counts * x.shape[axis] if len(counts) == 1 else counts
    if len(counts) != x.shape[axis]:
        raise ValueError(f"repeat(): {len(counts)} counts do not match {x.shape[axis]} elements")
    return _at(x, [place for place, count in enumerate(counts) for _ in range(count)], axis)


@_standard("tile", "index_select", "reshape", "clone")
def _tile(x: Any, repetitions: Sequence[int], /) -> Any:
    repetitions = (1,) * (_tensor(x, "tile").ndim - len(repetitions)) + tuple(repetitions)
    x = _op("clone")(_op("reshape")(x, (1,) * (len(repetitions) - x.ndim) + tuple(x.shape)))
    for axis, count in enumerate(repetitions):
        x = _at(x, list(range(x.shape[axis])) * count, axis)
    return x
