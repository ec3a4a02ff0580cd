"""Distributions that are given by a covariance matrix, its inverse, or its Cholesky factor."""

from __future__ import annotations

from typing import Any

import opgrid as og

from .._opgrid import Tensor
from ._gaussian import factor_of_inverse, inverse_of_factor
from ._parameters import given_one, lazy_property
from .distribution import Distribution


class ByCovariance(Distribution):
    """Distributions with one of ``covariance_matrix``, ``precision_matrix`` and ``scale_tril``; computations use the last.

    The factor has the batch dimensions with which it was given; the attributes have those of the distribution.
    """

    _unbroadcasted_scale_tril: Tensor

    def _set_covariance(self, **options: Any) -> tuple[str, Tensor]:
        """Computes the factor of the matrix that was given, and returns the name of the parameter with the matrix."""
        name = given_one(self, **options)
        matrix: Tensor = options[name]
        if matrix.dim() < 2:
            raise ValueError(f"{type(self).__name__}: `{name}` has shape {tuple(matrix.shape)}, expected matrices; at least two dimensions")
        return name, matrix

    def _factor(self, name: str, matrix: Tensor) -> None:
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = og.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = factor_of_inverse(matrix)

    def _matrix(self, matrix: Tensor) -> Tensor:
        """A matrix for each distribution of the batch."""
        size = matrix.shape[-1]
        return matrix.expand((*self._batch_shape, size, size))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self._matrix(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._matrix(inverse_of_factor(self._unbroadcasted_scale_tril))
