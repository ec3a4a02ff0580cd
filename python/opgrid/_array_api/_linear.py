"""Linear algebra."""

from __future__ import annotations

import math
from typing import Any

from ._arguments import _axes, _together
from ._namespace import _op, _standard, _tensor, namespace

SHARED = ("matmul", "matrix_transpose", "tensordot", "vecdot")
"""The functions of this file, which the extension for linear algebra has, too."""


@_standard("matmul", "matmul", "_to_copy")
def _matmul(x1: Any, x2: Any, /) -> Any:
    return _op("matmul")(*_together("matmul", _tensor(x1, "matmul"), _tensor(x2, "matmul")))


@_standard("matrix_transpose", "transpose.int")
def _matrix_transpose(x: Any, /) -> Any:
    if _tensor(x, "matrix_transpose").ndim < 2:
        raise ValueError(f"matrix_transpose(): expected two dimensions or more, found {x.ndim}")
    return _op("transpose")(x, -2, -1)


@_standard("tensordot", "matmul", "permute", "reshape", "_to_copy")
def _tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    x1, x2 = _together("tensordot", _tensor(x1, "tensordot"), _tensor(x2, "tensordot"))
    if isinstance(axes, int):
        if not 0 <= axes <= min(x1.ndim, x2.ndim):
            raise ValueError(f"tensordot(): {axes} axes exceed arrays of {x1.ndim} and {x2.ndim} dimensions")
        axes = (tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes)))
    over1, over2 = _axes("tensordot", x1, tuple(axes[0])), _axes("tensordot", x2, tuple(axes[1]))
    sizes = [x1.shape[axis] for axis in over1]
    if sizes != [x2.shape[axis] for axis in over2]:
        raise ValueError(f"tensordot(): axes {axes} have different sizes")
    left = [axis for axis in range(x1.ndim) if axis not in over1]
    right = [axis for axis in range(x2.ndim) if axis not in over2]
    rows, columns = [x1.shape[axis] for axis in left], [x2.shape[axis] for axis in right]
    inner = math.prod(sizes)
    first = _op("reshape")(_op("permute")(x1, left + over1), (math.prod(rows), inner))
    second = _op("reshape")(_op("permute")(x2, over2 + right), (inner, math.prod(columns)))
    return _op("reshape")(_op("matmul")(first, second), rows + columns)


@_standard("vecdot", "mul.Tensor", "sum.dim_IntList", "_to_copy")
def _vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = _together("vecdot", _tensor(x1, "vecdot"), _tensor(x2, "vecdot"))
    sizes = [x.shape[_axes("vecdot", x, axis)[0]] for x in (x1, x2)]
    if sizes[0] != sizes[1]:
        raise ValueError(f"vecdot(): axis {axis} has {sizes[0]} elements in one array and {sizes[1]} in the other")
    if x1.is_complex():
        x1 = namespace.conj(x1)
    return _op("sum")(_op("mul")(x1, x2), [axis], dtype=x1.dtype)
