"""Elementwise functions."""

from __future__ import annotations

from typing import Any

from .. import _opgrid
from ._arguments import _together
from ._dtypes import _astype, _is_number
from ._namespace import _op, _standard, _tensor


_UNARY = {
    "abs": "abs", "bitwise_invert": "bitwise_not", "conj": "conj_physical", "exp": "exp", "isfinite": "isfinite",
    "isnan": "isnan", "log": "log", "logical_not": "logical_not", "negative": "neg", "positive": "clone",
    "reciprocal": "reciprocal", "sqrt": "sqrt", "tanh": "tanh",
}  # fmt: skip
_UNARY |= {
    name: name
    for name in (
        "acos acosh asin asinh atan atanh ceil cos cosh expm1 floor imag log10 log1p log2 real round sign signbit sin sinh"
        " tan trunc"
    ).split()
}

_BINARY = {
    "add": "add.Tensor", "divide": "div.Tensor", "equal": "eq.Tensor", "greater": "gt.Tensor",
    "greater_equal": "ge.Tensor", "less": "lt.Tensor", "less_equal": "le.Tensor", "logical_and": "logical_and",
    "logical_or": "logical_or", "maximum": "maximum", "minimum": "minimum", "multiply": "mul.Tensor",
    "not_equal": "ne.Tensor", "pow": "pow.Tensor_Tensor", "subtract": "sub.Tensor", "remainder": "remainder.Tensor",
    "copysign": "copysign.Tensor", "atan2": "atan2", "hypot": "hypot", "logaddexp": "logaddexp",
    "nextafter": "nextafter", "bitwise_and": "bitwise_and.Tensor", "bitwise_or": "bitwise_or.Tensor",
    "bitwise_xor": "bitwise_xor.Tensor", "bitwise_left_shift": "bitwise_left_shift.Tensor",
    "bitwise_right_shift": "bitwise_right_shift.Tensor",
}  # fmt: skip


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


for _name, _operator in _UNARY.items():
    _unary(_name, _operator)
for _name, _operator in _BINARY.items():
    _binary(_name, _operator)
del _name, _operator


@_standard("square", "mul.Tensor")
def _square(x: Any, /) -> Any:
    return _op("mul")(_tensor(x, "square"), x)


@_standard("floor_divide", "div.Tensor_mode")
def _floor_divide(x1: Any, x2: Any, /) -> Any:
    return _op("div")(*_together("floor_divide", x1, x2), rounding_mode="floor")


@_standard("isinf", "isfinite", "isnan", "logical_or", "logical_not")
def _isinf(x: Any, /) -> Any:
    return _op("logical_not")(_op("logical_or")(_op("isfinite")(_tensor(x, "isinf")), _op("isnan")(x)))


@_standard("logical_xor", "logical_not", "ne.Tensor")
def _logical_xor(x1: Any, x2: Any, /) -> Any:
    x1, x2 = _together("logical_xor", x1, x2)
    return _op("ne")(_op("logical_not")(x1), _op("logical_not")(x2))


@_standard("clip", "maximum", "minimum", "clone")
def _clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    result = _op("clone")(_tensor(x, "clip"))
    for bound, operator in ((min, "maximum"), (max, "minimum")):
        if bound is not None:
            bound = _opgrid.tensor(bound, dtype=x.dtype, device=x.device) if _is_number(bound) else bound
            result = _op(operator)(result, _astype(bound, x.dtype, copy=False))
    return result
