"""The normal distribution of vectors."""

from __future__ import annotations

from typing import Any

import opgrid as og

from .._opgrid import Tensor
from . import constraints
from ._covariance import ByCovariance
from ._gaussian import gaussian_entropy, gaussian_log_prob, log_diagonal, mahalanobis, matvec
from ._parameters import standard_normal


class MultivariateNormal(ByCovariance):
    """The normal distribution of vectors with the mean ``loc`` and a covariance, which is given as one of three matrices.

    >>> import opgrid as og
    >>> from opgrid.distributions import MultivariateNormal
    >>> normal = MultivariateNormal(og.zeros(2), covariance_matrix=og.tensor([[4.0, 2.0], [2.0, 3.0]]))
    >>> normal.scale_tril
    tensor([[2.0000, 0.0000],
            [1.0000, 1.4142]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("MultivariateNormal: `loc` has no dimensions, expected vectors")
        name, matrix = self._set_covariance(
            covariance_matrix=covariance_matrix, scale_tril=scale_tril, precision_matrix=precision_matrix
        )
        batch_shape = og.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch_shape, -1))
        self.__dict__[name] = matrix.expand((*batch_shape, -1, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args)
        self._factor(name, matrix)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.square().sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        normal = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + matvec(self._unbroadcasted_scale_tril, normal)

    def _log_det_covariance(self) -> Tensor:
        return 2 * log_diagonal(self._unbroadcasted_scale_tril)

    def _mahalanobis(self, x: Tensor) -> Tensor:
        """The squared length of differences from the mean, in standard deviations."""
        return mahalanobis(self._unbroadcasted_scale_tril, x)

    def _covariance_factors(self) -> list[Tensor]:
        """Matrices of which the products with their transposes add up to the covariance."""
        return [self._unbroadcasted_scale_tril]

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        distance = self._mahalanobis(value - self.loc)
        return gaussian_log_prob(self._event_shape[0], self._log_det_covariance(), distance)

    def entropy(self) -> Tensor:
        return gaussian_entropy(self._event_shape[0], self._log_det_covariance()).expand(self._batch_shape)
