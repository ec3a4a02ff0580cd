"""A relaxation of the Bernoulli distribution that has gradients (Maddison et al., 2017)."""

from __future__ import annotations

from typing import Any

from .._opgrid import Tensor
from . import constraints
from ._parameters import broadcast_all, clamp_probs, standard_uniform
from ._probabilities import Binary
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform


class LogitRelaxedBernoulli(Binary):
    """The log-odds of the draws of :class:`RelaxedBernoulli`."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._set_binary(probs, logits)
        self.temperature = temperature
        super().__init__(self._param.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs, u = clamp_probs(self.probs.expand(shape)), clamp_probs(standard_uniform(shape, self.probs))
        drawn: Tensor = (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature
        return drawn

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value.mul(self.temperature)
        density: Tensor = self.temperature.log() + difference - 2 * difference.exp().log1p()
        return density


class RelaxedBernoulli(TransformedDistribution):
    """Numbers from 0 to 1 that come nearer to both the lower the ``temperature`` is, with gradients."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    base_dist: LogitRelaxedBernoulli

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args)

    @property
    def temperature(self) -> Tensor:
        """How far the distribution is from that of 0 and 1."""
        temperature: Tensor = self.base_dist.temperature
        return temperature

    @property
    def logits(self) -> Tensor:
        """The log-odds of 1."""
        logits: Tensor = self.base_dist.logits
        return logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of 1."""
        probs: Tensor = self.base_dist.probs
        return probs
