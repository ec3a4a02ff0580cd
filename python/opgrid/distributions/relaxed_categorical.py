"""A relaxation of the one-hot categorical distribution that has gradients (Maddison et al., 2017; Jang et al., 2017)."""

from __future__ import annotations

from typing import Any

import opgrid as og

from .._opgrid import Tensor
from . import constraints
from ._parameters import broadcast_all, clamp_probs, standard_uniform
from ._probabilities import OverCategories
from .categorical import Categorical
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform


class ExpRelaxedCategorical(OverCategories):
    """The logarithms of the draws of :class:`RelaxedOneHotCategorical`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    # Draws are on a surface in it, on which their exponentials have the sum 1.
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        u = clamp_probs(standard_uniform(self._extended_shape(sample_shape), self.logits))
        scores: Tensor = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        count = self._event_shape[-1]
        logits, value = broadcast_all(self.logits, value)
        log_scale = og.full_like(self.temperature, float(count)).lgamma() + (count - 1) * self.temperature.log()
        score: Tensor = logits - value.mul(self.temperature)
        density: Tensor = (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + log_scale
        return density


class RelaxedOneHotCategorical(TransformedDistribution):
    """Probabilities that come nearer to one-hot vectors the lower the ``temperature`` is, with gradients."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    base_dist: ExpRelaxedCategorical

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args)

    @property
    def temperature(self) -> Tensor:
        """How far the distribution is from that of one-hot vectors."""
        temperature: Tensor = self.base_dist.temperature
        return temperature

    @property
    def logits(self) -> Tensor:
        """The normalized log-probabilities of the categories."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the categories."""
        return self.base_dist.probs
