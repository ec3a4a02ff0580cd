"""The geometric distribution: how many trials fail before the first that succeeds."""

from __future__ import annotations

from typing import Any

import opgrid as og

from .._opgrid import Tensor
from . import constraints
from ._parameters import broadcast_all
from ._probabilities import Binary


class Geometric(Binary):
    """The number of failures before the first success, which has the probability ``probs`` in each trial."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._set_binary(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not (self._param > 0).all():
            raise ValueError(f"Geometric: expected `probs` above 0, without which no trial ever succeeds, found\n{self._param}")

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return og.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with og.no_grad():
            probs = self.probs
            u = probs.new_empty(self._extended_shape(sample_shape)).uniform_(og.finfo(probs.dtype).tiny, 1)
            return (u.log() / (-probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        value, probs = broadcast_all(value, self.probs)
        # Without a failure, a probability of 1 counts nothing; 0 * log(0) is NaN.
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return og.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
