"""The normal distribution of vectors with a covariance of few factors and a diagonal."""

from __future__ import annotations

from typing import Any

import opgrid as og

from .._opgrid import Tensor
from . import constraints
from ._gaussian import gaussian_entropy, gaussian_log_prob, log_diagonal, mahalanobis, matvec
from ._parameters import lazy_property, standard_normal
from .distribution import Distribution


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors with the covariance ``cov_factor @ cov_factor.mT + diag(cov_diag)``.

    Only the small matrix ``C = I + Wᵀ D⁻¹ W`` is factorized, for ``W`` the factors and ``D`` the diagonal: the determinant is
    ``|C| |D|``, and the inverse is ``D⁻¹ - D⁻¹ W C⁻¹ Wᵀ D⁻¹``.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _event_dims = {"covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2, "variance": 1}

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        for name, value, dims in (("loc", loc, 1), ("cov_factor", cov_factor, 2), ("cov_diag", cov_diag, 1)):
            event = tuple(value.shape[value.dim() - dims :][:1]) if value.dim() >= dims else ()
            if event != tuple(loc.shape[-1:]) or not event:
                raise ValueError(
                    f"LowRankMultivariateNormal: `{name}` has shape {tuple(value.shape)}, expected {dims} dimensions or more, and "
                    f"events as long as those of `loc`, which has shape {tuple(loc.shape)}"
                )
        batch_shape = og.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc = loc.expand((*batch_shape, -1))
        self.cov_factor = cov_factor.expand((*batch_shape, -1, -1))
        self.cov_diag = cov_diag.expand((*batch_shape, -1))
        super().__init__(batch_shape, loc.shape[-1:], validate_args)
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        capacitance = self._scaled_factor @ cov_factor
        identity = og.eye(capacitance.shape[-1], dtype=capacitance.dtype, device=capacitance.device)
        self._capacitance_tril = og.linalg.cholesky(capacitance + identity)

    @property
    def _scaled_factor(self) -> Tensor:
        """``Wᵀ D⁻¹``."""
        return self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)

    def _matrix(self, matrix: Tensor) -> Tensor:
        return matrix.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        variance = self._unbroadcasted_cov_factor.square().sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance, by that of ``D^-½ (W Wᵀ) D^-½ + I``, which is well conditioned."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        whole = scaled @ scaled.mT + og.eye(scaled.shape[-2], dtype=scaled.dtype, device=scaled.device)
        return self._matrix(root * og.linalg.cholesky(whole))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        return self._matrix(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        part = og.linalg.solve_triangular(self._capacitance_tril, self._scaled_factor, upper=False)
        return self._matrix(self._unbroadcasted_cov_diag.reciprocal().diag_embed() - part.mT @ part)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        of_factor = standard_normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc)
        of_diagonal = standard_normal(shape, self.loc)
        moved = self.loc + matvec(self._unbroadcasted_cov_factor, of_factor)
        return moved + self._unbroadcasted_cov_diag.sqrt() * of_diagonal

    def _log_det_covariance(self) -> Tensor:
        return 2 * log_diagonal(self._capacitance_tril) + self._unbroadcasted_cov_diag.log().sum(-1)

    def _mahalanobis(self, x: Tensor) -> Tensor:
        """The squared length of differences from the mean, in standard deviations."""
        by_diagonal = (x.square() / self._unbroadcasted_cov_diag).sum(-1)
        return by_diagonal - mahalanobis(self._capacitance_tril, matvec(self._scaled_factor, x))

    def _covariance_factors(self) -> list[Tensor]:
        """Matrices of which the products with their transposes add up to the covariance."""
        return [self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag.sqrt().diag_embed()]

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        distance = self._mahalanobis(value - self.loc)
        return gaussian_log_prob(self._event_shape[0], self._log_det_covariance(), distance)

    def entropy(self) -> Tensor:
        return gaussian_entropy(self._event_shape[0], self._log_det_covariance()).expand(self._batch_shape)
