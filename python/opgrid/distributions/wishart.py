"""The Wishart distribution of positive definite matrices."""

from __future__ import annotations

import math
from typing import Any
from warnings import warn

import opgrid as og

from .._opgrid import Tensor
from . import constraints
from ._covariance import ByCovariance
from ._gaussian import log_diagonal
from ._parameters import is_number, standard_normal
from .chi2 import Chi2
from .exp_family import ExponentialFamily


class Wishart(ByCovariance, ExponentialFamily):
    """The sum of the outer products of ``df`` normal vectors of mean 0, of which a covariance is given as one of three matrices.

    ``df`` need not be an integer, and must be above the size of the matrices minus 1.
    """

    support = constraints.positive_definite
    df: Tensor
    has_rsample = True
    _mean_carrier_measure: Any = 0

    @property
    def arg_constraints(self) -> Any:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = self._set_covariance(
            covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        degrees = og.tensor(df, dtype=matrix.dtype, device=matrix.device) if is_number(df) else df
        batch_shape = og.broadcast_shapes(matrix.shape[:-2], degrees.shape)
        self.df, size = degrees.expand(batch_shape), matrix.shape[-1]
        if (self.df <= size - 1).any():
            raise ValueError(f"Wishart: `df` is {df}, expected more than {size - 1}, the size of the matrices minus 1")
        if (self.df < size).any():
            warn(f"Wishart: with `df` below {size}, draws are likely to be singular", stacklevel=2)
        self.__dict__[name] = matrix.expand((*batch_shape, -1, -1))
        super().__init__(batch_shape, matrix.shape[-2:], validate_args)
        self._factor(name, matrix)

    @property
    def _size(self) -> int:
        """The number of rows and columns."""
        size: int = self._event_shape[-1]
        return size

    @property
    def mean(self) -> Tensor:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._size - 1
        return factor.masked_fill(factor <= 0, og.nan)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        diagonal = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df[..., None, None] * (self.covariance_matrix.square() + outer)

    def rsample(self, sample_shape: Any = (), max_try_correction: int = 10) -> Tensor:
        """Draws by Bartlett's decomposition. Draws that are singular by rounding are drawn again, at most as often as is said."""
        value = self._draw(sample_shape)
        for _ in range(max_try_correction):
            is_singular = ~self.support.check(value)
            if not is_singular.any():
                break
            value = og.where(is_singular[..., None, None], self._draw(sample_shape), value)
        return value

    def _draw(self, sample_shape: Any) -> Tensor:
        size = self._size
        steps = og.arange(size, dtype=self.df.dtype, device=self.df.device)
        roots = Chi2(self.df.unsqueeze(-1) - steps, validate_args=False).rsample(sample_shape).sqrt()
        noise = roots.clamp(min=og.finfo(roots.dtype).eps).diag_embed()
        below = og.ones(size, size, dtype=og.bool, device=noise.device).tril(-1)
        noise[..., below] = standard_normal((*sample_shape, *self._batch_shape, size * (size - 1) // 2), noise)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        df, size = self.df, self._size
        normalizer = df * (size * math.log(2) / 2 + log_diagonal(self._unbroadcasted_scale_tril)) + (df / 2).mvlgamma(size)
        trace = og.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (df - size - 1) / 2 * og.linalg.slogdet(value).logabsdet - trace / 2 - normalizer

    def entropy(self) -> Tensor:
        df, size = self.df, self._size
        log_factor = size * math.log(2) / 2 + log_diagonal(self._unbroadcasted_scale_tril)
        digammas = (df.unsqueeze(-1) / 2 - og.arange(size, dtype=df.dtype, device=df.device) / 2).digamma().sum(-1)
        return (size + 1) * log_factor + (df / 2).mvlgamma(size) - (df - size - 1) / 2 * digammas + df * size / 2

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        size = self._size
        half = y + (size + 1) / 2
        return half * (-og.linalg.slogdet(-2 * x).logabsdet + math.log(2) * size) + half.mvlgamma(size)
