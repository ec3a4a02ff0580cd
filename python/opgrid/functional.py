"""Functions composed of operators, of which some take more forms than an operator has."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from . import _opgrid
from ._functional import broadcast_shapes, stft, unique, unique_consecutive

__all__ = [
    "broadcast_shapes",
    "cdist",
    "cond",
    "from_file",
    "lobpcg",
    "lu",
    "norm",
    "pca_lowrank",
    "stft",
    "svd_lowrank",
    "tensordot",
    "unique",
    "unique_consecutive",
    "while_loop",
]


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    """The norm of all elements, or along dimensions: of order ``p``, ``"fro"`` for the square root of the sum of squares, ``"nuc"`` for the sum
    of singular values."""
    dims = [dim] if isinstance(dim, int) else dim
    given = {} if out is None else {"out": out}
    if p == "nuc":
        matrix = list(range(input.ndim)) if dims is None else list(dims)
        return _opgrid.function("linalg_matrix_norm")(input, "nuc", matrix, keepdim, dtype=dtype, **given)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"norm(): expected p to be a number, 'fro' or 'nuc', found {p!r}")
    order = 2.0 if p is None or p == "fro" else p
    return _opgrid.function("linalg_vector_norm")(input, order, dims, keepdim, dtype=dtype, **given)


_DISTANCE_MODES = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}
"""Whether Euclidean distances are taken from a matrix product, as the operator counts it."""


def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Any:
    """The distance of order ``p`` of each row of ``x1`` from each row of ``x2``."""
    if compute_mode not in _DISTANCE_MODES:
        raise ValueError(f"cdist(): expected compute_mode to be one of {', '.join(_DISTANCE_MODES)}, found {compute_mode!r}")
    return _opgrid.function("cdist")(x1, x2, p, _DISTANCE_MODES[compute_mode])


def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    """The products of elements, summed over the last ``dims`` dimensions of ``a`` and the first of ``b``, or over the two lists of dimensions that
    are given."""
    if isinstance(dims, _opgrid.TensorBase):
        dims = int(dims) if dims.numel() == 1 else dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot(): expected dims of 0 or more, found {dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot(): found dims={dims}, expected no more than both tensors have, {a.ndim} and {b.ndim}")
        first, second = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        first, second = ([one] if isinstance(one, int) else list(one) for one in dims)
    given = {} if out is None else {"out": out}
    return _opgrid.function("tensordot")(a, b, first, second, **given)


def lu(A: Any, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """The LU factorization in one matrix, with the pivots, and whether each matrix could be factorized if ``get_infos``. Newer programs call
    ``linalg.lu_factor``."""
    factors, pivots, infos = _opgrid.function("linalg_lu_factor_ex")(A, pivot=pivot)
    found = (factors, pivots, infos) if get_infos else (factors, pivots)
    if not get_infos and bool((infos != 0).any()):
        raise RuntimeError("lu(): a matrix is singular, or cannot be factorized; pass get_infos=True to learn which")
    if out is None:
        return found
    if len(out) != len(found):
        raise TypeError(f"lu(): expected {len(found)} tensors in `out`, found {len(out)}")
    for target, one in zip(out, found, strict=True):
        target.resize_as_(one).copy_(one)
    return out


def _approximate_basis(A: Any, q: int, niter: int) -> Any:
    """An orthonormal basis of about the range of a matrix, by random products."""
    linalg_qr, randn = _opgrid.function("linalg_qr"), _opgrid.function("randn")
    basis = linalg_qr(A @ randn([A.shape[-1], q], dtype=A.dtype, device=A.device))[0]
    for _ in range(niter):
        basis = linalg_qr(A.mH @ basis)[0]
        basis = linalg_qr(A @ basis)[0]
    return basis


def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> Any:
    """About the largest ``q`` singular values of matrices ``A - M`` and their vectors, by ``niter`` rounds of random products.

    Returns: ``U`` of shape ``(*, m, q)``, ``S`` of ``(*, q)`` and ``V`` of ``(*, n, q)``.
    """
    size = 6 if q is None else q
    matrix = A if M is None else A - M
    is_wide = matrix.shape[-2] < matrix.shape[-1]
    tall = matrix.mH if is_wide else matrix
    basis = _approximate_basis(tall, size, 2 if niter is None else niter)
    left, values, right = _opgrid.function("linalg_svd")(basis.mH @ tall, full_matrices=False)
    left, right = basis @ left, right.mH
    return (right, values, left) if is_wide else (left, values, right)


def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """About the first ``q`` principal components of rows: :func:`svd_lowrank`, of the rows without their mean if ``center``."""
    rows, columns = A.shape[-2:]
    size = min(6, rows, columns) if q is None else q
    if not 0 <= size <= min(rows, columns):
        raise ValueError(f"q(={size}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(dim=-2, keepdim=True) if center else A, size, niter)


def lobpcg(A: Any, k: int | None = None, B: Any = None, X: Any = None, n: int | None = None, *_options: Any, largest: bool | None = None, **_named: Any) -> Any:
    """The ``k`` largest, or smallest, eigenvalues of symmetric matrices and their vectors: by all of them, so that a first guess ``X`` and limits of
    an iteration change nothing but how many there are.

    With ``B``, positive definite, those of ``A x = value B x``. Returns: values of shape ``(*, k)`` and vectors of ``(*, m, k)``.
    """
    count = n or k or (1 if X is None else X.shape[-1])
    size = A.shape[-1]
    if size < 3 * count:
        raise ValueError(f"lobpcg(): found matrices of {size} rows, expected 3 for each of the {count} eigenvalues; call `linalg.eigh`")
    if B is None:
        values, vectors = _opgrid.function("linalg_eigh")(A)
    else:
        factor, solve = _opgrid.function("linalg_cholesky")(B), _opgrid.function("linalg_solve_triangular")
        half = solve(factor, A, upper=False)
        values, vectors = _opgrid.function("linalg_eigh")(solve(factor, half.mH, upper=False))
        vectors = solve(factor.mH, vectors, upper=True)
    if largest is False:
        return values[..., :count], vectors[..., :count]
    return values[..., -count:].flip(-1), vectors[..., -count:].flip(-1)


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any] = ()) -> Any:
    """What one of two functions gives for the operands, as the condition says: a bool or a tensor of one."""
    if not isinstance(pred, (bool, _opgrid.TensorBase)):
        raise RuntimeError(f"cond(): expected a bool or a tensor as the condition, found {type(pred).__name__}")
    if isinstance(pred, _opgrid.TensorBase) and pred.numel() != 1:
        raise RuntimeError(f"cond(): expected one element in the condition, found {pred.numel()}")
    return (true_fn if pred else false_fn)(*operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Any]) -> Any:
    """What the body gives in the end, which is called on what it gave before as long as the condition holds of that."""
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        found = body_fn(*carried)
        carried = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        if len(carried) != len(carried_inputs):
            raise RuntimeError(f"while_loop(): the body gave {len(carried)} values, expected {len(carried_inputs)}")
    return carried


def from_file(filename: Any, shared: bool | None = None, size: int | None = 0, *, dtype: Any = None, **options: Any) -> Any:
    """The first ``size`` elements of a file as a tensor, on the file's memory: what is written to it reaches the file if ``shared``, which also
    makes the file where there is none."""
    kind = dtype or _opgrid.get_default_dtype()
    count = size or 0
    length = count * kind.itemsize
    if count == 0:
        return _opgrid.function("empty")([0], dtype=kind)
    try:
        descriptor = os.open(filename, os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY)
    except OSError as error:
        raise RuntimeError(f"from_file(): unable to open file <{filename}>: {error.strerror}") from error
    try:
        if shared and os.fstat(descriptor).st_size < length:
            os.truncate(descriptor, length)
        if os.fstat(descriptor).st_size < length:
            raise RuntimeError(f"from_file(): found {os.fstat(descriptor).st_size} bytes in {filename}, expected {length}")
        memory = mmap.mmap(descriptor, length, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
    finally:
        os.close(descriptor)
    return _opgrid.frombuffer(memory, dtype=kind, **options)


_REMOVED = {
    "cholesky": "linalg.cholesky",
    "eig": "linalg.eig",
    "lstsq": "linalg.lstsq",
    "matrix_rank": "linalg.matrix_rank",
    "qr": "linalg.qr",
    "solve": "linalg.solve",
    "symeig": "linalg.eigh",
}
"""Functions that were removed, with what has taken their place."""


def _removed(name: str) -> Callable[..., NoReturn]:
    def refuse(*_args: Any, **_kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{name}(): it was removed; call `opgrid.{_REMOVED[name]}`, which takes and gives its values in another order")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Refused: it was removed in favor of ``{_REMOVED[name]}``."
    return refuse


globals().update({name: _removed(name) for name in _REMOVED})
