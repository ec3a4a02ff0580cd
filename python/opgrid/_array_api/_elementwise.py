"""Elementwise functions."""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from typing import Any

from .. import _opgrid
from ._arguments import _together
from ._dtypes import _astype, _iinfo, _is_number, _isdtype
from ._namespace import _op, _standard, _tensor


_UNARY = {
    "abs": "abs", "bitwise_invert": "bitwise_not", "conj": "conj_physical", "exp": "exp", "isfinite": "isfinite",
    "isinf": "isinf", "isnan": "isnan", "log": "log", "logical_not": "logical_not", "negative": "neg", "positive": "clone",
    "reciprocal": "reciprocal", "sqrt": "sqrt", "tanh": "tanh",
}  # fmt: skip
_UNARY |= {
    name: name
    for name in (
        "acos acosh asin asinh atan atanh ceil cos cosh floor imag log10 log1p log2 real signbit sin sinh"
        " tan trunc"
    ).split()
}

_BINARY = {
    "add": "add.Tensor", "divide": "div.Tensor", "logical_and": "logical_and",
    "logical_or": "logical_or", "logical_xor": "logical_xor", "maximum": "maximum", "minimum": "minimum", "multiply": "mul.Tensor",
    "pow": "pow.Tensor_Tensor", "subtract": "sub.Tensor",
    "copysign": "copysign.Tensor", "atan2": "atan2", "hypot": "hypot", "logaddexp": "logaddexp",
    "nextafter": "nextafter", "bitwise_and": "bitwise_and.Tensor", "bitwise_or": "bitwise_or.Tensor",
    "bitwise_xor": "bitwise_xor.Tensor", "bitwise_left_shift": "bitwise_left_shift.Tensor",
    "bitwise_right_shift": "bitwise_right_shift.Tensor",
}  # fmt: skip


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "equal": python.eq, "greater": python.gt, "greater_equal": python.ge, "less": python.lt, "less_equal": python.le,
    "not_equal": python.ne,
}  # fmt: skip
"""Each is an operator of that name in Python, and in the registry."""


def _unary(name: str, operator: str) -> None:
    function = operator.partition(".")[0]

    def elementwise(x: Any, /) -> Any:
        return _op(function)(_tensor(x, name))

    _standard(name, operator)(elementwise)


def _binary(name: str, operator: str) -> None:
    function = operator.partition(".")[0]

    def elementwise(x1: Any, x2: Any, /) -> Any:
        return _op(function)(*_together(name, x1, x2))

    _standard(name, operator)(elementwise)


def _is_outside(number: Any, x: Any) -> bool:
    """Whether it is an integer that the array's dtype, one of integers, does not represent."""
    if not isinstance(number, int) or isinstance(x, int) or not _isdtype(x.dtype, "integral"):
        return False
    info = _iinfo(x)
    return not info.min <= number <= info.max


def _comparison(name: str, compare: Callable[[Any, Any], bool]) -> None:
    function = compare.__name__

    def elementwise(x1: Any, x2: Any, /) -> Any:
        if not _is_outside(x1, x2) and not _is_outside(x2, x1):
            return _op(function)(*_together(name, x1, x2))
        # All elements lie on one side of it, as 0 does.
        x, result = (x2, compare(x1, 0)) if isinstance(x1, int) else (x1, compare(0, x2))
        return _op("full")(x.shape, result, dtype=_opgrid.bool, device=x.device)

    _standard(name, f"{function}.Tensor", "full")(elementwise)


for _name, _operator in _UNARY.items():
    _unary(_name, _operator)
for _name, _operator in _BINARY.items():
    _binary(_name, _operator)
for _name, _compare in _COMPARISONS.items():
    _comparison(_name, _compare)
del _name, _operator, _compare


@_standard("remainder", "remainder.Tensor", "eq.Scalar", "where.self", "copysign.Tensor")
def _remainder(x1: Any, x2: Any, /) -> Any:
    x1, x2 = _together("remainder", x1, x2)
    left = _op("remainder")(x1, x2)
    # A remainder of zero has the divisor's sign, too.
    return _op("where")(_op("eq")(left, 0), _op("copysign")(left, x2), left) if left.is_floating_point() else left


@_standard("square", "mul.Tensor")
def _square(x: Any, /) -> Any:
    return _op("mul")(_tensor(x, "square"), x)


@_standard("floor_divide", "div.Tensor_mode", "div.Tensor", "isfinite", "logical_and", "where.self")
def _floor_divide(x1: Any, x2: Any, /) -> Any:
    x1, x2 = _together("floor_divide", x1, x2)
    quotient = _op("div")(x1, x2, rounding_mode="floor")
    if not quotient.is_floating_point():
        return quotient
    # Quotients of infinities are infinite, and those by infinities are zeros; the operator gives what remainders leave.
    is_finite = _op("logical_and")(_op("isfinite")(x1), _op("isfinite")(x2))
    return _op("where")(is_finite, quotient, _op("div")(x1, x2))


@_standard("sign", "sgn", "isnan", "where.self")
def _sign(x: Any, /) -> Any:
    signs = _op("sgn")(_tensor(x, "sign"))
    # The operator gives 0 for NaN.
    return _op("where")(_op("isnan")(x), x, signs) if x.is_floating_point() else signs


@_standard("round", "round", "view_as_real", "view_as_complex")
def _round(x: Any, /) -> Any:
    if _tensor(x, "round").is_complex():
        return _op("view_as_complex")(_op("round")(_op("view_as_real")(x)))
    return _op("round")(x)


@_standard("expm1", "expm1", "add.Scalar")
def _expm1(x: Any, /) -> Any:
    result = _op("expm1")(_tensor(x, "expm1"))
    # Complex results are 0 where the operator gives -0 as the real part.
    return _op("add")(result, complex(0.0, -0.0)) if x.is_complex() else result


@_standard("clip", "maximum", "minimum", "clone")
def _clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    result = _op("clone")(_tensor(x, "clip"))
    for bound, operator in ((min, "maximum"), (max, "minimum")):
        if bound is not None:
            bound = _opgrid.tensor(bound, dtype=x.dtype, device=x.device) if _is_number(bound) else bound
            result = _op(operator)(result, _astype(bound, x.dtype, copy=False))
    return result
