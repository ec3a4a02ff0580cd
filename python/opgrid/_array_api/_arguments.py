"""What functions make of their arguments."""

from __future__ import annotations

from typing import Any

from .. import _opgrid
from ._dtypes import _astype, _is_number, _result_type


def _together(name: str, *inputs: Any) -> list[Any]:
    """The inputs as tensors of the dtype that they have together."""
    devices = [x.device for x in inputs if isinstance(x, _opgrid.TensorBase)]
    if not devices:
        raise TypeError(f"{name}(): expected at least one array, found {', '.join(type(x).__name__ for x in inputs)}")
    dtype = _result_type(*inputs)
    return [
        _opgrid.tensor(x, dtype=dtype, device=devices[0]) if _is_number(x) else _astype(x, dtype, copy=False)
        for x in inputs
    ]


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
