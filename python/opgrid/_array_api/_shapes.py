"""Functions of shapes and of places in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _opgrid
from .._functional import broadcast_shapes
from ._arguments import _axes, _places, _together
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
def _broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    shape = _broadcast_shapes(*(x.shape for x in arrays))
    return tuple(_op("expand")(x, shape) for x in arrays)


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


_OF_PLACES = ("where.self", "lt.Scalar", "add.Scalar", "_to_copy")


@_standard("take", "index_select", *_OF_PLACES)
def _take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    if axis is None and _tensor(x, "take").ndim != 1:
        raise ValueError(f"take(): `axis` is needed for an array of {x.ndim} dimensions")
    (axis,) = _axes("take", _tensor(x, "take"), 0 if axis is None else axis)
    return _op("index_select")(x, axis, _places(_tensor(indices, "take"), x.shape[axis]))


@_standard("take_along_axis", "gather", "expand", *_OF_PLACES)
def _take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    (axis,) = _axes("take_along_axis", _tensor(x, "take_along_axis"), axis)
    shape = list(_broadcast_shapes(*([*y.shape[:axis], 1, *y.shape[axis + 1 :]] for y in (x, indices))))
    x, indices = (_op("expand")(y, [*shape[:axis], y.shape[axis], *shape[axis + 1 :]]) for y in (x, indices))
    return _op("gather")(x, axis, _places(indices, x.shape[axis]))


@_standard("flip", "flip")
def _flip(x: Any, /, *, axis: Any = None) -> Any:
    return _op("flip")(_tensor(x, "flip"), _axes("flip", x, axis))


@_standard("roll", "roll")
def _roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    axes = None if axis is None else axis if isinstance(axis, tuple) else (axis,)
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(axes or (0,))
    if axes is not None and len(shifts) != len(axes):
        raise ValueError(f"roll(): {len(shifts)} shifts do not match {len(axes)} axes")
    if axes is None:
        return _op("roll")(_tensor(x, "roll"), shifts)
    return _op("roll")(x, shifts, [place for one in axes for place in _axes("roll", _tensor(x, "roll"), one)])


@_standard("repeat", "repeat_interleave.self_Tensor", "reshape", "expand", "_to_copy")
def _repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    if axis is None:
        x, axis = _op("reshape")(_tensor(x, "repeat"), [-1]), 0
    (axis,) = _axes("repeat", _tensor(x, "repeat"), axis)
    counts = _opgrid.asarray(repeats, dtype=_opgrid.int64, device=x.device)
    if counts.numel() not in (1, x.shape[axis]):
        raise ValueError(f"repeat(): {counts.numel()} counts do not match {x.shape[axis]} elements")
    counts = _op("expand")(_op("reshape")(counts, [-1]), [x.shape[axis]])
    return _op("repeat_interleave")(x, counts, axis)


@_standard("tile", "tile")
def _tile(x: Any, repetitions: Sequence[int], /) -> Any:
    return _op("tile")(_tensor(x, "tile"), tuple(repetitions))
