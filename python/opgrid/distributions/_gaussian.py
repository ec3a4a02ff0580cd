"""Matrices of the normal distributions of vectors: products, distances, factors."""

from __future__ import annotations

import math

import opgrid as og

from .._opgrid import Tensor


def matvec(matrix: Tensor, vector: Tensor) -> Tensor:
    """Products of matrices and vectors, with batch dimensions that broadcast."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def log_diagonal(factor: Tensor) -> Tensor:
    """The logarithm of the determinant of triangular matrices."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """The squared length of ``factor⁻¹ x`` for lower triangular matrices. Dimensions that only ``x`` has are columns of one system."""
    outer = x.shape[: max(0, x.dim() + 1 - factor.dim())]
    columns = x.reshape((-1, *x.shape[len(outer) :])).movedim(0, -1)
    lengths = og.linalg.solve_triangular(factor, columns, upper=False).square().sum(-2)
    return lengths.movedim(-1, 0).reshape((*outer, *lengths.shape[:-1]))


def gaussian_log_prob(size: int, log_det_covariance: Tensor, distance: Tensor) -> Tensor:
    """The log-density of normal vectors of ``size`` elements at a squared Mahalanobis distance from the mean."""
    return -0.5 * (size * math.log(2 * math.pi) + log_det_covariance + distance)


def gaussian_entropy(size: int, log_det_covariance: Tensor) -> Tensor:
    """The entropy of normal vectors of ``size`` elements."""
    return 0.5 * (size * (1.0 + math.log(2 * math.pi)) + log_det_covariance)


def inverse_of_factor(factor: Tensor) -> Tensor:
    """The inverse of ``factor @ factor.mT`` for lower triangular matrices."""
    return og.cholesky_solve(og.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device), factor)


def factor_of_inverse(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse of positive definite matrices: factors of the matrix that is read from its end."""
    flipped = og.linalg.cholesky(precision.flip((-2, -1))).flip((-2, -1)).mT
    identity = og.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return og.linalg.solve_triangular(flipped, identity, upper=False)
