"""The namespace of the array API standard, over the operators that are registered.

A name of the standard is there while all operators that it calls are registered, and is looked up each time. Where torch's
semantics differ, those of the standard count: dtypes are promoted without regard to shapes, and ``axis`` may be a tuple.
"""

from __future__ import annotations

import builtins
import math
import types
from collections.abc import Callable, Sequence
from typing import Any

from . import _opgrid

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""The versions of the standard; each contains the one before."""

_TABLE: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {}
"""Functions by name, with the operators that they call."""

_UNBUILT = ("searchsorted", "unique_all", "unique_counts", "unique_inverse", "unique_values")
_UNKNOWN_DTYPES = ("uint16", "uint32", "uint64")

_DTYPES = {
    name: getattr(_opgrid, name)
    for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "float32", "float64", "complex64", "complex128")
}
_CONSTANTS = {"e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None, "pi": math.pi}


def _standard(name: str, *operators: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Puts a function into the namespace, which calls these operators of ``aten``."""

    def put(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__name__ = function.__qualname__ = name
        _TABLE[name] = (function, tuple(f"aten::{operator}" for operator in operators))
        return function

    return put


class Namespace(types.ModuleType):
    """What ``x.__array_namespace__()`` returns."""

    __array_api_version__ = VERSIONS[-1]

    def __getattr__(self, name: str) -> Any:
        if name in _DTYPES:
            return _DTYPES[name]
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name in _UNKNOWN_DTYPES:
            raise AttributeError(f"the array namespace has no `{name}`: the registry has no such dtype")
        if name in _UNBUILT:
            raise AttributeError(f"the array namespace has no `{name}`: no operators of the registry serve it")
        if name not in _TABLE:
            raise AttributeError(f"the array namespace has no `{name}`: the standard does not name it")
        function, operators = _TABLE[name]
        registered = set(_opgrid.operator_names("aten"))
        missing = [operator for operator in operators if operator not in registered]
        if missing:
            raise AttributeError(f"the array namespace has no `{name}`: the registry lacks {', '.join(missing)}")
        return function

    def __dir__(self) -> list[str]:
        registered = set(_opgrid.operator_names("aten"))
        there = [name for name, (_, operators) in _TABLE.items() if registered.issuperset(operators)]
        return sorted([*there, *_DTYPES, *_CONSTANTS])


namespace = Namespace("opgrid.array_api", __doc__)


def array_namespace(self: _opgrid.Tensor, api_version: str | None = None) -> Namespace:
    """The namespace of the array API standard."""
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(f"unknown version {api_version!r} of the array API standard; known are {', '.join(VERSIONS)}")
    return namespace


def to_device(self: _opgrid.Tensor, device: Any, /, *, stream: Any = None) -> _opgrid.Tensor:
    """The tensor on a device; itself if it is there."""
    if stream is not None:
        raise ValueError(f"to_device(): no device here has streams; leave `stream` out, found {stream!r}")
    return self.to(device)


# Dtypes.

_KINDS = ("bool", "integral", "real floating", "complex floating")


def _kind(dtype: _opgrid.dtype) -> int:
    if dtype == _opgrid.bool:
        return 0
    if dtype.is_complex:
        return 3
    return 2 if dtype.is_floating_point else 1


def _promote(a: _opgrid.dtype, b: _opgrid.dtype) -> _opgrid.dtype:
    if a == b:
        return a
    if _kind(a) > _kind(b):
        a, b = b, a
    if _kind(a) < _kind(b):
        wide = b == _opgrid.complex64 and a == _opgrid.float64
        return _opgrid.complex128 if wide else b
    if a.itemsize == b.itemsize:
        # `uint8` and `int8`, or the two floats of two bytes: the next one that holds both.
        return _opgrid.int16 if _kind(a) == 1 else _opgrid.float32
    return a if a.itemsize > b.itemsize else b


def _of_number(number: complex, dtype: _opgrid.dtype) -> _opgrid.dtype:
    """The dtype of a number beside an array: the array's if that has the number's kind."""
    if isinstance(number, builtins.bool):
        kind = 0
    else:
        kind = 1 if isinstance(number, int) else 2 if isinstance(number, float) else 3
    if kind <= _kind(dtype):
        return dtype
    if kind == 3:
        return _opgrid.complex128 if dtype == _opgrid.float64 else _opgrid.complex64
    return _opgrid.float32 if kind == 2 else _opgrid.int64


def _is_number(x: Any) -> bool:
    return isinstance(x, (builtins.bool, int, float, complex))


@_standard("result_type")
def _result_type(*arrays_and_dtypes: Any) -> _opgrid.dtype:
    result = None
    for x in arrays_and_dtypes:
        if not _is_number(x):
            dtype = x if isinstance(x, _opgrid.dtype) else _tensor(x, "result_type").dtype
            result = dtype if result is None else _promote(result, dtype)
    if result is None:
        raise ValueError("result_type(): at least one array or dtype is needed")
    for x in arrays_and_dtypes:
        if _is_number(x):
            result = _promote(result, _of_number(x, result))
    return result


@_standard("can_cast")
def _can_cast(from_: Any, to: _opgrid.dtype, /) -> bool:
    return _promote(_result_type(from_), to) == to


@_standard("isdtype")
def _isdtype(dtype: _opgrid.dtype, kind: Any) -> bool:
    if isinstance(kind, tuple):
        return any(_isdtype(dtype, one) for one in kind)
    if isinstance(kind, _opgrid.dtype):
        return dtype == kind
    own = _KINDS[_kind(dtype)]
    kinds = {
        "bool": own == "bool",
        "signed integer": own == "integral" and dtype.is_signed,
        "unsigned integer": own == "integral" and not dtype.is_signed,
        "integral": own == "integral",
        "real floating": own == "real floating",
        "complex floating": own == "complex floating",
        "numeric": own != "bool",
    }
    if kind not in kinds:
        raise ValueError(f"isdtype(): unknown kind {kind!r}; known are {', '.join(kinds)}")
    return kinds[kind]


@_standard("iinfo")
def _iinfo(type: Any, /) -> types.SimpleNamespace:
    dtype = _result_type(type)
    if _kind(dtype) != 1:
        raise ValueError(f"iinfo(): expected an integer dtype, found {dtype}")
    bits = 8 * dtype.itemsize
    signed = int(dtype.is_signed)
    low, high = -signed << (bits - 1), (1 << (bits - signed)) - 1
    return types.SimpleNamespace(bits=bits, max=high, min=low, dtype=dtype)


_FLOATS = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023)}
"""The bits of the fraction and the largest exponent."""


@_standard("finfo")
def _finfo(type: Any, /) -> types.SimpleNamespace:
    dtype = _result_type(type)
    real = {_opgrid.complex64: _opgrid.float32, _opgrid.complex128: _opgrid.float64}.get(dtype, dtype)
    if _kind(real) != 2:
        raise ValueError(f"finfo(): expected a floating-point dtype, found {dtype}")
    fraction, exponent = next(layout for name, layout in _FLOATS.items() if getattr(_opgrid, name) == real)
    eps = 2.0**-fraction
    high = (2.0 - eps) * 2.0**exponent
    return types.SimpleNamespace(
        bits=8 * real.itemsize, eps=eps, max=high, min=-high, smallest_normal=2.0 ** (1 - exponent), dtype=real
    )


@_standard("astype", "_to_copy")
def _astype(x: Any, dtype: _opgrid.dtype, /, *, copy: bool = True, device: Any = None) -> Any:
    same = _tensor(x, "astype").dtype == dtype and (device is None or _opgrid.device(device) == x.device)
    return x if same and not copy else _op("_to_copy")(x, dtype=dtype, device=device)


class _Info:
    """What the namespace says about itself."""

    def capabilities(self) -> dict[str, Any]:
        registered = _opgrid.operator_names("aten")
        return {
            "boolean indexing": "aten::index.Tensor" in registered,
            "data-dependent shapes": "aten::nonzero" in registered,
            "max dimensions": None,
        }

    def default_device(self) -> _opgrid.device:
        return _opgrid.device("cpu")

    def devices(self) -> list[_opgrid.device]:
        return [_opgrid.device("cpu"), _opgrid.device("meta")]

    def default_dtypes(self, *, device: Any = None) -> dict[str, _opgrid.dtype]:
        return {
            "real floating": _opgrid.float32,
            "complex floating": _opgrid.complex64,
            "integral": _opgrid.int64,
            "indexing": _opgrid.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, _opgrid.dtype]:
        return {name: dtype for name, dtype in _DTYPES.items() if kind is None or _isdtype(dtype, kind)}


@_standard("__array_namespace_info__")
def _array_namespace_info() -> _Info:
    return _Info()


# What arguments are made of.


def _op(name: str) -> Callable[..., Any]:
    return _opgrid.function(name)


def _tensor(x: Any, name: str) -> Any:
    if not isinstance(x, _opgrid.TensorBase):
        raise TypeError(f"{name}(): expected an array, found {type(x).__name__}")
    return x


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
        raise ValueError(f"{name}(): axis {axis} names a dimension twice")
    return axes


# Elementwise functions.

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


# Creation.


def _shape(shape: Any) -> tuple[int, ...]:
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


@_standard("asarray", "clone")
def _asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
    if copy is False and not isinstance(obj, _opgrid.TensorBase) and not hasattr(obj, "__dlpack__"):
        raise ValueError(f"asarray(): an object of type {type(obj).__name__} is an array only by copying")
    result = _opgrid.asarray(obj, dtype=dtype, device=device)
    if copy is False and isinstance(obj, _opgrid.TensorBase) and result.data_ptr() != obj.data_ptr():
        raise ValueError("asarray(): another dtype or device takes a copy, and copy=False forbids it")
    return _op("clone")(result) if copy and isinstance(obj, _opgrid.TensorBase) else result


@_standard("from_dlpack", "clone")
def _from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    result = _opgrid.from_dlpack(x)
    if device is not None and _opgrid.device(device) != result.device:
        if copy is False:
            raise BufferError("from_dlpack(): another device takes a copy, and copy=False forbids it")
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


def _diagonals(x: Any, rows: int, columns: int) -> Any:
    """The number of the diagonal of each place of a matrix: 0 on the main one, positive above."""
    numbers = _op("arange")(columns, device=x), _op("arange")(rows, device=x)
    return _op("sub")(numbers[0], _op("unsqueeze")(numbers[1], 1))


@_standard("eye", "arange", "sub.Tensor", "unsqueeze", "eq.Scalar", "_to_copy")
def _eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Any:
    on = _op("eq")(_diagonals(device, n_rows, n_rows if n_cols is None else n_cols), k)
    return _astype(on, dtype or _opgrid.float32)


def _triangle(name: str, comparison: str) -> None:
    def triangle(x: Any, /, *, k: int = 0) -> Any:
        if _tensor(x, name).ndim < 2:
            raise ValueError(f"{name}(): expected a matrix or a stack of them, found {x.ndim} dimensions")
        inside = _op(comparison)(_diagonals(x.device, *x.shape[-2:]), k)
        return _op("where")(inside, x, _op("zeros")((), dtype=x.dtype, device=x.device))

    _standard(name, "arange", "sub.Tensor", "unsqueeze", f"{comparison}.Scalar", "where.self", "zeros")(triangle)


_triangle("tril", "le")
_triangle("triu", "ge")


@_standard("meshgrid", "reshape", "expand")
def _meshgrid(*arrays: Any, indexing: str = "xy") -> list[Any]:
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid(): `indexing` is 'xy' or 'ij', found {indexing!r}")
    places = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        places[:2] = [1, 0]
    sizes = [1] * len(arrays)
    for place, x in zip(places, arrays, strict=True):
        sizes[place] = x.numel()
    alone = [[-1 if place == other else 1 for other in range(len(arrays))] for place in places]
    return [_op("expand")(_op("reshape")(x, one), sizes) for x, one in zip(arrays, alone, strict=True)]


# Reductions.


def _reduce(name: str, operator: str, function: str, numbers: bool) -> None:
    """A reduction over axes; those of numbers take a dtype."""

    def reduced(x: Any, axis: Any, keepdims: bool, **dtype: Any) -> Any:
        axes = _axes(name, _tensor(x, name), axis)
        if axes:
            return _op(function)(x, axes, keepdims, **dtype)
        # No axes stand for all of them in the operator.
        return _op("squeeze")(_op(function)(_op("unsqueeze")(x, 0), [0], True, **dtype), 0)

    def of_numbers(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        return reduced(x, axis, keepdims, dtype=dtype)

    def plain(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        # Operators that return truth values return `uint8` for it, as torch's do.
        truth = name in ("all", "any")
        return reduced(_astype(x, _opgrid.bool, copy=False) if truth else x, axis, keepdims)

    _standard(name, operator, "squeeze.dim", "unsqueeze", "_to_copy")(of_numbers if numbers else plain)


_reduce("sum", "sum.dim_IntList", "sum", True)
_reduce("mean", "mean.dim", "mean", False)
_reduce("max", "amax", "amax", False)
_reduce("min", "amin", "amin", False)
_reduce("all", "all.dims", "all", False)
_reduce("any", "any.dims", "any", False)


@_standard("prod", "prod.dim_int", "reshape", "_to_copy")
def _prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    axes = _axes("prod", _tensor(x, "prod"), axis)
    if dtype is None:
        dtype = _opgrid.int64 if _kind(x.dtype) < 2 else x.dtype
    result = _astype(x, dtype)
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
        result = _op(operator)(x, place, dtype=dtype)
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
    return _TABLE["sum"][0](_op("ne")(_tensor(x, "count_nonzero"), 0), axis=axis, keepdims=keepdims)


@_standard("var", "mean.dim", "sub.Tensor", "mul.Tensor", "sum.dim_IntList", "div.Scalar", "squeeze.dim", "unsqueeze")
def _var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    count = math.prod(x.shape[one] for one in _axes("var", _tensor(x, "var"), axis))
    away = _op("sub")(x, _TABLE["mean"][0](x, axis=axis, keepdims=True))
    squares = _TABLE["sum"][0](_op("mul")(away, away), axis=axis, keepdims=keepdims)
    return _op("div")(squares, max(count - correction, 0.0))


@_standard("std", *(operator.removeprefix("aten::") for operator in _TABLE["var"][1]), "sqrt")
def _std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    return _op("sqrt")(_var(x, axis=axis, correction=correction, keepdims=keepdims))


def _search(name: str) -> None:
    def search(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
        if axis is not None:
            return _op(name)(_tensor(x, name), axis, keepdims)
        found = _op(name)(_tensor(x, name))
        return _op("reshape")(found, [1] * x.ndim) if keepdims else found

    _standard(name, name, "reshape")(search)


_search("argmax")
_search("argmin")


@_standard("where", "where.self")
def _where(condition: Any, x1: Any, x2: Any, /) -> Any:
    return _op("where")(_tensor(condition, "where"), *_together("where", x1, x2))


@_standard("isin", "eq.Tensor", "any.dims", "unsqueeze", "reshape", "logical_not")
def _isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    x1, x2 = _together("isin", x1, x2)
    found = _op("any")(_op("eq")(_op("unsqueeze")(x1, -1), _op("reshape")(x2, [-1])), [-1])
    return _op("logical_not")(found) if invert else found


@_standard("nonzero", "nonzero", "select.int")
def _nonzero(x: Any, /) -> tuple[Any, ...]:
    if _tensor(x, "nonzero").ndim == 0:
        raise ValueError("nonzero(): expected an array of one dimension or more, found none")
    places = _op("nonzero")(x)
    return tuple(_op("select")(places, 1, dim) for dim in range(x.ndim))


@_standard("diff", "slice.Tensor", "sub.Tensor", "cat")
def _diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    (axis,) = _axes("diff", _tensor(x, "diff"), axis)
    parts = [part for part in (prepend, x, append) if part is not None]
    x = _concat(parts, axis=axis) if len(parts) > 1 else x
    for _ in range(n):
        x = _op("sub")(_op("slice")(x, axis, 1, None), _op("slice")(x, axis, 0, -1))
    return x


# Shapes and places.


@_standard("broadcast_shapes")
def _broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    result: list[int] = []
    for shape in shapes:
        result = [1] * (len(shape) - len(result)) + result
        for place in range(1, len(shape) + 1):
            if result[-place] == 1:
                result[-place] = shape[-place]
            elif shape[-place] not in (1, result[-place]):
                raise ValueError(f"shapes {', '.join(str(tuple(each)) for each in shapes)} do not broadcast")
    return tuple(result)


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
        raise ValueError(f"moveaxis(): {len(moved)} axes do not go to {len(places)} places")
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
        raise ValueError(f"roll(): {len(shifts)} shifts do not fit {len(axes)} axes")
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
        raise ValueError(f"repeat(): {len(counts)} counts do not fit {x.shape[axis]} elements")
    return _at(x, [place for place, count in enumerate(counts) for _ in range(count)], axis)


@_standard("tile", "index_select", "reshape", "clone")
def _tile(x: Any, repetitions: Sequence[int], /) -> Any:
    repetitions = (1,) * (_tensor(x, "tile").ndim - len(repetitions)) + tuple(repetitions)
    x = _op("clone")(_op("reshape")(x, (1,) * (len(repetitions) - x.ndim) + tuple(x.shape)))
    for axis, count in enumerate(repetitions):
        x = _at(x, list(range(x.shape[axis])) * count, axis)
    return x


# Linear algebra.


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
            raise ValueError(f"tensordot(): {axes} axes are not in arrays of {x1.ndim} and {x2.ndim} dimensions")
        axes = (tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes)))
    over1, over2 = _axes("tensordot", x1, tuple(axes[0])), _axes("tensordot", x2, tuple(axes[1]))
    sizes = [x1.shape[axis] for axis in over1]
    if sizes != [x2.shape[axis] for axis in over2]:
        raise ValueError(f"tensordot(): axes {axes} have sizes that differ")
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
    if x1.is_complex():
        x1 = namespace.conj(x1)
    return _op("sum")(_op("mul")(x1, x2), [axis], dtype=x1.dtype)
