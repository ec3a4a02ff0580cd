"""The multinomial distribution: how often each category is drawn."""

from __future__ import annotations

import math
from typing import Any

import opgrid as og

from .._opgrid import Tensor
from .._size import Size
from . import constraints
from ._probabilities import OverCategories
from .binomial import Binomial
from .categorical import Categorical


class Multinomial(OverCategories):
    """How often each category is drawn in ``total_count`` draws, a number that is the same for the whole batch."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int

    def __init__(
        self, total_count: int = 1, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError(f"Multinomial: expected one int as total_count, found {type(total_count).__name__}")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = Size(sample_shape)
        with og.no_grad():
            # The draws of one count are the last dimension.
            drawn = self._categorical.sample((self.total_count, *shape)).movedim(0, -1)
            counts = drawn.new_zeros(self._extended_shape(shape))
            return counts.scatter_add(-1, drawn, og.ones_like(drawn)).type_as(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        logits, value = og.broadcast_tensors([self.logits, value])
        # Categories that were never drawn and cannot be count nothing.
        logits = logits.masked_fill((value == 0) & (logits == -og.inf), 0)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        # The count of one category has a binomial distribution; 0 and 1 contribute nothing.
        marginal = Binomial(total_count=self.total_count, probs=self.probs)
        values = marginal.enumerate_support(expand=False)[1:]
        expected = (marginal.log_prob(values).exp() * (values + 1).lgamma()).sum((0, -1))
        return self.total_count * self._categorical.entropy() - math.lgamma(self.total_count + 1) + expected
