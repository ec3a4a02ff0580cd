"""Dtypes: promotion by the rules of the standard, and what is said about them and about the namespace."""

from __future__ import annotations

import builtins
import numbers
import types
from typing import Any

from .. import _opgrid
from ._namespace import _DTYPES, _op, _standard, _tensor


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
    if a.is_signed != b.is_signed:
        signed, unsigned = (a, b) if a.is_signed else (b, a)
        wider = {1: _opgrid.int16, 2: _opgrid.int32, 4: _opgrid.int64}
        if unsigned.itemsize not in wider:
            raise TypeError(f"{a} and {b} are not promoted to a common dtype; convert one of them by `astype`")
        return signed if signed.itemsize > unsigned.itemsize else wider[unsigned.itemsize]
    if a.itemsize == b.itemsize:
        # The two floats of two bytes.
        return _opgrid.float32
    return a if a.itemsize > b.itemsize else b


def _of_number(number: complex, dtype: _opgrid.dtype) -> _opgrid.dtype:
    """The dtype of a number beside an array: the array's if that has the number's kind."""
    if isinstance(number, builtins.bool):
        kind = 0
    else:
        kind = 1 if isinstance(number, numbers.Integral) else 2 if isinstance(number, numbers.Real) else 3
    if kind <= _kind(dtype):
        return dtype
    if kind == 3:
        return _opgrid.complex128 if dtype == _opgrid.float64 else _opgrid.complex64
    return _opgrid.float32 if kind == 2 else _opgrid.int64


def _is_number(x: Any) -> bool:
    """Whether it is a number of Python, or of a class that counts as one, as numpy's do."""
    return isinstance(x, (builtins.bool, int, float, complex)) or isinstance(x, numbers.Number)


@_standard("result_type")
def _result_type(*arrays_and_dtypes: Any) -> _opgrid.dtype:
    result = None
    for x in arrays_and_dtypes:
        if not _is_number(x):
            # Libraries give names for dtypes, too: numpy takes them.
            x = _DTYPES.get(x, x) if isinstance(x, str) else x
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
    try:
        return _promote(_result_type(from_), to) == to
    except TypeError:
        # They have no common dtype.
        return False


@_standard("isdtype")
def _isdtype(dtype: _opgrid.dtype, kind: Any) -> bool:
    if not isinstance(dtype, _opgrid.dtype):
        raise TypeError(f"isdtype(): expected a dtype of opgrid, found {dtype!r}")
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
    if _tensor(x, "astype").dtype.is_complex and not dtype.is_complex:
        raise TypeError(f"astype(): {x.dtype} does not convert to {dtype}; take `real`, `imag` or `abs` first")
    same = x.dtype == dtype and (device is None or _opgrid.device(device) == x.device)
    return x if same and not copy else _op("_to_copy")(x, dtype=dtype, device=device)


class _Info:
    """What the namespace says about itself."""

    def capabilities(self) -> dict[str, Any]:
        return {
            "boolean indexing": _opgrid.is_defined("aten::index.Tensor"),
            "data-dependent shapes": _opgrid.is_defined("aten::nonzero"),
            "max dimensions": None,
        }

    def default_device(self) -> _opgrid.device:
        return _opgrid.device("cpu")

    def devices(self) -> tuple[_opgrid.device, ...]:
        return _opgrid.device("cpu"), _opgrid.device("meta")

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
