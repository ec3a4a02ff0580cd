"""Student's t-distribution."""

from __future__ import annotations

import math
from typing import Any

import opgrid as og

from .._opgrid import Tensor
from . import constraints
from ._parameters import standard_normal
from .chi2 import Chi2
from .distribution import Distribution


class StudentT(Distribution):
    """A normal variable divided by the root of a chi-squared one of ``df`` degrees of freedom, scaled and moved."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    df: Tensor
    loc: Tensor
    scale: Tensor

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, og.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        variance = self.scale.square() * self.df / (self.df - 2)
        return variance.masked_fill(self.df <= 2, og.inf).masked_fill(self.df <= 1, og.nan)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        normal = standard_normal(self._extended_shape(sample_shape), self.df)
        return self.loc + self.scale * (normal * (self._chi2.rsample(sample_shape) / self.df).rsqrt())

    def _log_beta(self) -> Tensor:
        """The logarithm of the beta function of 1/2 and half of the degrees of freedom."""
        return (0.5 * self.df).lgamma() + math.lgamma(0.5) - (0.5 * (self.df + 1.0)).lgamma()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        y = (value - self.loc) / self.scale
        normalizer = self.scale.log() + 0.5 * self.df.log() + self._log_beta()
        return -0.5 * (self.df + 1.0) * (y**2.0 / self.df).log1p() - normalizer

    def entropy(self) -> Tensor:
        half = 0.5 * (self.df + 1)
        return self.scale.log() + half * (half.digamma() - (0.5 * self.df).digamma()) + 0.5 * self.df.log() + self._log_beta()
