"""The continuous Bernoulli distribution, of numbers from 0 to 1 (Loaiza-Ganem and Cunningham, NeurIPS 2019)."""

from __future__ import annotations

import math
from typing import Any

import opgrid as og

from .._opgrid import Tensor
from . import constraints
from ._parameters import broadcast_all, clamp_probs, lazy_property, logits_to_probs, standard_uniform
from ._probabilities import Binary
from .exp_family import ExponentialFamily


class ContinuousBernoulli(Binary, ExponentialFamily):
    """Numbers from 0 to 1 with a density of the form ``probs ** x * (1 - probs) ** (1 - x)``.

    Formulas lose all digits where ``probs`` is near 0.5: within ``lims``, Taylor's series are used.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure: Any = 0

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501), validate_args: bool | None = None
    ) -> None:
        self._set_binary(probs, logits)
        if probs is not None:
            if validate_args and not constraints.unit_interval.check(self._param).all():
                raise ValueError(f"ContinuousBernoulli: expected `probs` from 0 to 1, found\n{self._param}")
            self.probs = clamp_probs(self._param)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """The parameter as a number between 0 and 1, which is not the mean."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _is_stable(self) -> Tensor:
        """Where the formulas keep their digits."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """The parameter, moved to where formulas keep their digits."""
        return og.where(self._is_stable(), self.probs, self._lims[0])

    def _chosen(self, formula: Tensor, near_half: Tensor) -> Tensor:
        return og.where(self._is_stable(), formula, near_half)

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of the factor that makes the density one."""
        cut, x = self._cut_probs(), (self.probs - 0.5).square()
        formula = ((-cut).log1p() - cut.log()).abs().log() - (1.0 - 2.0 * cut).abs().log()
        return self._chosen(formula, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        cut, x = self._cut_probs(), self.probs - 0.5
        formula = cut / (2.0 * cut - 1.0) + 1.0 / ((-cut).log1p() - cut.log())
        return self._chosen(formula, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.square()) * x)

    @property
    def variance(self) -> Tensor:
        cut, x = self._cut_probs(), (self.probs - 0.5).square()
        formula = cut * (cut - 1.0) / (1.0 - 2.0 * cut).square() + 1.0 / ((-cut).log1p() - cut.log()).square()
        return self._chosen(formula, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(standard_uniform(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        cross_entropy = og.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return -cross_entropy + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        self._check_value(value)
        cut = self._cut_probs()
        formula = (cut.pow(value) * (1.0 - cut).pow(1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        return self._chosen(formula, value).masked_fill(value <= 0.0, 0.0).masked_fill(value >= 1.0, 1.0)

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut_probs()
        log_rest = (-cut).log1p()
        return self._chosen(((-cut + value * (2.0 * cut - 1.0)).log1p() - log_rest) / (cut.log() - log_rest), value)

    def entropy(self) -> Tensor:
        log_rest = (-self.probs).log1p()
        return self.mean * (log_rest - self.probs.log()) - self._cont_bern_log_norm() - log_rest

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        lower, upper = self._lims[0] - 0.5, self._lims[1] - 0.5
        is_stable = (x <= lower) | (x > upper)
        cut = og.where(is_stable, x, lower)
        series = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return og.where(is_stable, cut.expm1().abs().log() - cut.abs().log(), series)
