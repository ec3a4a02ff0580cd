"""The categorical distribution: the index of one of several categories."""

from __future__ import annotations

from typing import Any

import opgrid as og

from .._opgrid import Tensor
from .._size import Size
from . import constraints
from ._parameters import given_one, lazy_property, logits_to_probs, probs_to_logits
from .distribution import Distribution


class Categorical(Distribution):
    """Indices of categories, which are the last dimension of ``probs`` or ``logits``. Both are normalized.

    >>> import opgrid as og
    >>> die = og.distributions.Categorical(probs=og.ones(6))
    >>> die.sample((100,)).max() < 6
    tensor(True)
    >>> die.perplexity()
    tensor(6.0000)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _parameter: str
    _num_events: int

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None) -> None:
        self._parameter = given_one(self, probs=probs, logits=logits)
        given: Any = logits if probs is None else probs
        if given.dim() < 1:
            raise ValueError(f"Categorical: `{self._parameter}` has no dimensions, expected one dimension of categories or more")
        if self._parameter == "probs":
            self.__dict__["probs"] = given / given.sum(-1, keepdim=True)
        else:
            self.__dict__["logits"] = given - given.logsumexp(dim=-1, keepdim=True)
        self._num_events = self._param.shape[-1]
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def _param(self) -> Tensor:
        given: Tensor = vars(self)[self._parameter]
        return given

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return Size(self._param.shape)

    @lazy_property
    def logits(self) -> Tensor:
        """The normalized log-probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """The normalized probabilities."""
        return logits_to_probs(self.logits)

    @property
    def mean(self) -> Tensor:
        return og.full(self._batch_shape, og.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return self.mean

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = Size(sample_shape)
        with og.no_grad():
            drawn = og.multinomial(self.probs.reshape(-1, self._num_events), shape.numel(), True)
            return drawn.T.reshape(self._extended_shape(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        index, logits = og.broadcast_tensors([value.long().unsqueeze(-1), self.logits])
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        # A probability of 0 adds nothing, also where its logarithm is infinite.
        logits = self.logits.clamp(min=og.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(og.arange(self._num_events, dtype=og.long, device=self._param.device), expand)
