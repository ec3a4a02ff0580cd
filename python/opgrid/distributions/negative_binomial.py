"""The negative binomial distribution: how many trials succeed before a number of them has failed."""

from __future__ import annotations

from typing import Any

import opgrid as og

from .._opgrid import Tensor
from . import constraints
from ._parameters import lazy_property
from ._probabilities import Binary
from .gamma import Gamma


class NegativeBinomial(Binary):
    """The number of successes, each with the probability ``probs``, before ``total_count`` failures."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    total_count: Tensor

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._set_binary(probs, logits, total_count=total_count)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self) -> Gamma:
        # Rates of Poisson distributions are drawn from it; it cannot be invalid where this is valid.
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with og.no_grad():
            return og.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        count, logits = self.total_count, self.logits
        unnormalized = count * og.nn.functional.logsigmoid(-logits) + value * og.nn.functional.logsigmoid(logits)
        orderings = (count + value).lgamma() - (1.0 + value).lgamma() - count.lgamma()
        # All of the probability is at 0 where no failure is waited for.
        return unnormalized + orderings.masked_fill(count + value == 0.0, 0.0)
