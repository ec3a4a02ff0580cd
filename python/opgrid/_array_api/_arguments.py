"""What functions make of their arguments."""

from __future__ import annotations

from typing import Any

from .. import _opgrid
from ._dtypes import _is_number, _result_type
from ._namespace import _op


def _together(name: str, *inputs: Any) -> list[Any]:
    """The inputs as tensors of the dtype that they have together."""
    tensors = [x for x in inputs if isinstance(x, _opgrid.TensorBase)]
    if not tensors:
        raise TypeError(f"{name}(): expected at least one array, found {', '.join(type(x).__name__ for x in inputs)}")
    dtype = tensors[0].dtype
    if len(tensors) == len(inputs) and all(x.dtype == dtype for x in tensors):
        return tensors
    dtype = _result_type(*inputs)
    return [_as_dtype(x, dtype, tensors[0].device) for x in inputs]


def _as_dtype(x: Any, dtype: Any, device: Any) -> Any:
    """A number or a tensor as a tensor of the dtype."""
    if _is_number(x):
        return _opgrid.tensor(x, dtype=dtype, device=device)
    return x if x.dtype == dtype else _op("_to_copy")(x, dtype=dtype)


def _places(indices: Any, size: int) -> Any:
    """Indices into an axis of that size, where negative ones count from its end, as indices from its start."""
    indices = _as_dtype(indices, _opgrid.int64, None)
    return _op("where")(_op("lt")(indices, 0), _op("add")(indices, size), indices)


def _axes(name: str, x: Any, axis: Any) -> list[int]:
    """The axes, counted from the start; ``None`` stands for all."""
    if axis is None:
        return list(range(x.ndim))
    axes = []
    for one in axis if isinstance(axis, (tuple, list)) else (axis,):
        if not -x.ndim <= one < x.ndim:
            raise IndexError(f"{name}(): there is no axis {one} in an array of {x.ndim} dimensions")
        axes.append(one % x.ndim)
    if len(set(axes)) < len(axes):
        raise ValueError(f"{name}(): axis {axis} contains a dimension twice")
    return axes
