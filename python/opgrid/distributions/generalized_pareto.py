"""The generalized Pareto distribution, of tails of other distributions."""

from __future__ import annotations

from typing import Any

import opgrid as og

from .._opgrid import Tensor
from . import constraints
from ._parameters import standard_uniform
from .distribution import Distribution


class GeneralizedPareto(Distribution):
    """Numbers above ``loc`` with a tail that falls as a power, below a ``concentration`` of 0 up to a greatest number.

    A ``concentration`` of 0 is the exponential distribution, and -1 the uniform one.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    loc: Tensor
    scale: Tensor
    concentration: Tensor

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        upper = og.where(self.concentration < 0, self.loc - self.scale / self.concentration, og.inf)
        return constraints.interval(self.loc, upper)

    def _by_concentration(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is 0, and the concentration with other numbers there."""
        is_zero = og.isclose(self.concentration, og.zeros_like(self.concentration))
        return is_zero, self.concentration.masked_fill(is_zero, 1.0)

    def _moment(self, limit: float, formula: Any) -> Tensor:
        """A moment, which exists below a concentration."""
        exists = self.concentration < limit
        return og.where(exists, formula(og.where(exists, self.concentration, limit / 2)), og.nan)

    @property
    def mean(self) -> Tensor:
        return self._moment(1, lambda shape: self.loc + self.scale / (1 - shape))

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._moment(0.5, lambda shape: self.scale**2 / ((1 - shape) ** 2 * (1 - 2 * shape)))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(standard_uniform(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        z = (value - self.loc) / self.scale
        is_zero, shape = self._by_concentration()
        exponent = 1 / shape + og.ones_like(z)
        power = og.where(exponent == 0, exponent, exponent * (shape * z).log1p())
        return -self.scale.log() - og.where(is_zero, z, power)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a greater value."""
        self._check_value(value)
        z = (value - self.loc) / self.scale
        is_zero, shape = self._by_concentration()
        return og.where(is_zero, -z, -(shape * z).log1p() / shape)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a value that is as large or smaller."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        is_zero, shape = self._by_concentration()
        log_rest = (-value).log1p()
        power = self.loc + self.scale / shape * (-shape * log_rest).expm1()
        return og.where(is_zero, self.loc - self.scale * log_rest, power)

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1
