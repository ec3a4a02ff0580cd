"""The extensions of the standard: ``linalg`` and ``fft``."""

from __future__ import annotations

from typing import Any

from .. import _opgrid
from ._arguments import _axes, _together
from ._dtypes import _astype
from ._linear import SHARED as _SHARED
from ._namespace import Namespace, _op, _tensor, namespace

_LINALG = Namespace("opgrid.array_api.linalg", __doc__="The extension of the standard for linear algebra.")
_FFT = Namespace("opgrid.array_api.fft", __doc__="The extension of the standard for Fourier transforms.")
namespace.extend("linalg", _LINALG)
namespace.extend("fft", _FFT)

for _name in _SHARED:
    _LINALG.share(_name, namespace)


def _matrices(name: str, operator: str | None = None) -> None:
    """A function of stacks of matrices, which the operator is."""

    def function(x: Any, /) -> Any:
        return _op(operator or f"linalg_{name}")(_tensor(x, name))

    _LINALG.standard(name, operator or f"linalg_{name}")(function)


for _name in ("det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "slogdet", "svdvals"):
    _matrices(_name)


@_LINALG.standard("cholesky", "linalg_cholesky")
def _cholesky(x: Any, /, *, upper: bool = False) -> Any:
    return _op("linalg_cholesky")(_tensor(x, "cholesky"), upper=upper)


@_LINALG.standard("cross", "linalg_cross", "_to_copy")
def _cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = _together("cross", _tensor(x1, "cross"), _tensor(x2, "cross"))
    if not -min(x1.ndim, x2.ndim) <= axis < 0:
        raise ValueError(f"cross(): axis {axis} does not count from the end of arrays of {x1.ndim} and {x2.ndim} dimensions")
    x1, x2 = _op("broadcast_tensors")([x1, x2])
    return _op("linalg_cross")(x1, x2, dim=axis)


@_LINALG.standard("diagonal", "diagonal")
def _diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return _op("diagonal")(_tensor(x, "diagonal"), offset, -2, -1)


@_LINALG.standard("matrix_norm", "linalg_matrix_norm", "linalg_matrix_norm.str_ord")
def _matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return _op("linalg_matrix_norm")(_tensor(x, "matrix_norm"), ord, (-2, -1), keepdims)


@_LINALG.standard("matrix_power", "linalg_matrix_power")
def _matrix_power(x: Any, n: int, /) -> Any:
    return _op("linalg_matrix_power")(_tensor(x, "matrix_power"), n)


@_LINALG.standard("matrix_rank", "linalg_matrix_rank.atol_rtol_tensor")
def _matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    return _op("linalg_matrix_rank")(_tensor(x, "matrix_rank"), rtol=rtol)


@_LINALG.standard("outer", "outer", "_to_copy")
def _outer(x1: Any, x2: Any, /) -> Any:
    return _op("outer")(*_together("outer", _tensor(x1, "outer"), _tensor(x2, "outer")))


@_LINALG.standard("pinv", "linalg_pinv.atol_rtol_tensor")
def _pinv(x: Any, /, *, rtol: Any = None) -> Any:
    return _op("linalg_pinv")(_tensor(x, "pinv"), rtol=rtol)


@_LINALG.standard("qr", "linalg_qr")
def _qr(x: Any, /, *, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr(): unknown mode {mode!r}; expected 'reduced' or 'complete'")
    return _op("linalg_qr")(_tensor(x, "qr"), mode)


@_LINALG.standard("solve", "linalg_solve", "_to_copy")
def _solve(x1: Any, x2: Any, /) -> Any:
    x1, x2 = _together("solve", _tensor(x1, "solve"), _tensor(x2, "solve"))
    if x2.ndim == 1:
        return _op("linalg_solve")(x1, x2[:, None])[..., 0]
    if x2.ndim < x1.ndim:
        # What has the sizes of a vector for each matrix is a matrix here.
        x2 = _op("expand")(x2, [*x1.shape[: x1.ndim - x2.ndim], *x2.shape])
    return _op("linalg_solve")(x1, x2)


@_LINALG.standard("svd", "linalg_svd")
def _svd(x: Any, /, *, full_matrices: bool = True) -> Any:
    return _op("linalg_svd")(_tensor(x, "svd"), full_matrices)


@_LINALG.standard("trace", "diagonal", "sum.dim_IntList")
def _trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return namespace.sum(_op("diagonal")(_tensor(x, "trace"), offset, -2, -1), axis=-1, dtype=dtype)


@_LINALG.standard("vector_norm", "linalg_vector_norm")
def _vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    axes = _axes("vector_norm", _tensor(x, "vector_norm"), axis)
    if axes:
        return _op("linalg_vector_norm")(x, ord, axes, keepdims)
    # No axes stand for all of them in the operator.
    return _op("linalg_vector_norm")(_op("unsqueeze")(x, 0), ord, [0], False)


def _complex(name: str, x: Any) -> Any:
    """Complex numbers of the precision of an array."""
    if _tensor(x, name).is_complex():
        return x
    return _astype(x, _opgrid.complex128 if x.dtype == _opgrid.float64 else _opgrid.complex64)


def _floating(name: str, x: Any) -> Any:
    if not _tensor(x, name).is_floating_point() and not x.is_complex():
        raise TypeError(f"{name}(): expected real floating-point or complex numbers, found {x.dtype}")
    return x


def _line(name: str, takes_real: bool) -> None:
    """A transform along one axis."""

    def function(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
        x = _floating(name, x)
        return _op(f"fft_{name}")(x if takes_real else _complex(name, x), n, axis, norm)

    _FFT.standard(name, f"fft_{name}")(function)


def _box(name: str, takes_real: bool) -> None:
    """A transform along several axes."""

    def function(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
        x = _floating(name, x)
        return _op(f"fft_{name}")(x if takes_real else _complex(name, x), s, axes, norm)

    _FFT.standard(name, f"fft_{name}")(function)


for _name, _takes_real in {"fft": False, "ifft": False, "rfft": True, "irfft": False, "hfft": False, "ihfft": True}.items():
    _line(_name, _takes_real)
for _name, _takes_real in {"fftn": False, "ifftn": False, "rfftn": True, "irfftn": False}.items():
    _box(_name, _takes_real)


def _frequencies(name: str) -> None:
    def function(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
        return _op(f"fft_{name}")(n, d, dtype=dtype, device=device)

    _FFT.standard(name, f"fft_{name}")(function)


def _shifted(name: str) -> None:
    def function(x: Any, /, *, axes: Any = None) -> Any:
        return _op(f"fft_{name}")(_tensor(x, name), None if axes is None else _axes(name, x, axes))

    _FFT.standard(name, f"fft_{name}")(function)


for _name in ("fftfreq", "rfftfreq"):
    _frequencies(_name)
for _name in ("fftshift", "ifftshift"):
    _shifted(_name)
del _name, _takes_real
