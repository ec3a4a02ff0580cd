"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

import opgrid as og

from .._opgrid import Tensor
from .._size import Size
from . import constraints
from .categorical import Categorical
from .distribution import Distribution


class MixtureSameFamily(Distribution):
    """A draw from a component that is drawn first: the last batch dimension of ``component_distribution`` is that of components.

    >>> import opgrid as og
    >>> from opgrid.distributions import Categorical, MixtureSameFamily, Normal
    >>> mixture = MixtureSameFamily(Categorical(og.ones(2)), Normal(og.tensor([-1.0, 1.0]), 0.5))
    >>> mixture.mean
    tensor(0.)
    """

    arg_constraints: Any = {}

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(f"MixtureSameFamily: expected a Categorical for the mixture, found {type(mixture_distribution).__name__}")
        if not isinstance(component_distribution, Distribution):
            raise ValueError(f"MixtureSameFamily: expected a Distribution of components, found {type(component_distribution).__name__}")
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        *batch_shape, count = component_distribution.batch_shape
        for size, other in zip(reversed(mixture_distribution.batch_shape), reversed(batch_shape), strict=False):
            if size != other and 1 not in (size, other):
                raise ValueError(
                    f"MixtureSameFamily: the mixture has batch shape {tuple(mixture_distribution.batch_shape)}, which does not broadcast "
                    f"with {tuple(batch_shape)}, that of the components"
                )
        if mixture_distribution.logits.shape[-1] != count:
            raise ValueError(
                f"MixtureSameFamily: the mixture has {mixture_distribution.param_shape[-1]} categories, expected {count}, the last batch "
                f"dimension of the components"
            )
        super().__init__(batch_shape, component_distribution.event_shape, validate_args)

    def _expanded(self, name: str, value: Any, batch_shape: Size) -> Any:
        if name == "_component_distribution":
            return value.expand((*batch_shape, value.batch_shape[-1]))
        return super()._expanded(name, value, batch_shape)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the index of a component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components, along the last batch dimension."""
        return self._component_distribution

    @property
    def _component_dim(self) -> int:
        return -1 - len(self._event_shape)

    def _mean_of(self, moment: Tensor) -> Tensor:
        """The expected value of what components have."""
        probs = self._mixture_distribution.probs
        probs = probs.reshape((*probs.shape, *[1] * len(self._event_shape)))
        return (probs * moment).sum(self._component_dim)

    @property
    def mean(self) -> Tensor:
        return self._mean_of(self._component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        between = (self._component_distribution.mean - self.mean.unsqueeze(self._component_dim)).square()
        return self._mean_of(self._component_distribution.variance) + self._mean_of(between)

    def cdf(self, value: Tensor) -> Tensor:
        of_components = self._component_distribution.cdf(value.unsqueeze(self._component_dim))
        return (of_components * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        of_components = self._component_distribution.log_prob(value.unsqueeze(self._component_dim))
        return (of_components + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with og.no_grad():
            index = self._mixture_distribution.sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            # The mixture may have fewer batch dimensions than the components.
            index = index.expand((*sample_shape, *self._batch_shape)) if index.dim() == len(sample_shape) else index
            index = index.reshape((*index.shape, 1, *[1] * len(self._event_shape)))
            shape = (*drawn.shape[: drawn.dim() + self._component_dim], 1, *self._event_shape)
            return drawn.gather(self._component_dim, index.expand(shape)).squeeze(self._component_dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
