"""Constraints of vectors and matrices."""

from __future__ import annotations

import opgrid as og

from ..._opgrid import Tensor
from .base import Constraint
from .numbers import _Below, _Boolean


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return _Boolean().check(value).all(-1) & value.sum(-1).eq(1)


class _Simplex(Constraint):
    """Vectors of numbers of 0 or more with the sum 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return value.ge(0).all(-1) & (value.sum(-1) - 1).abs().lt(1e-6)


class _Multinomial(_Below):
    """Vectors of counts of which the sum is at most the upper bound."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return value.ge(0).all(-1) & value.sum(-1).le(self.upper_bound)

    def __repr__(self) -> str:
        return "Multinomial()"


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return value.tril().eq(value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & value.diagonal(dim1=-2, dim2=-1).gt(0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Cholesky factors of correlation matrices: rows of length 1."""

    def check(self, value: Tensor) -> Tensor:
        tolerance = og.finfo(value.dtype).eps * value.shape[-1] * 10
        lengths = og.linalg.vector_norm(value.detach(), dim=-1)
        return super().check(value) & (lengths - 1).abs().le(tolerance).all(-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return og.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=og.bool, device=value.device)


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return og.isclose(value, value.mT, atol=1e-6).flatten(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        return og.linalg.eigvalsh(value).ge(0).all(-1) if symmetric.all() else symmetric


class _PositiveDefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        return og.linalg.cholesky_ex(value).info.eq(0) if symmetric.all() else symmetric
