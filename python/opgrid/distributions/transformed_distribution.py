"""Distributions of functions of random variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opgrid as og

from .._opgrid import Tensor
from .._size import Size
from . import constraints
from ._parameters import sum_rightmost
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform


class TransformedDistribution(Distribution):
    """The distribution of what transforms make of the draws of a distribution.

    >>> import opgrid as og
    >>> from opgrid.distributions import Normal, TransformedDistribution, transforms
    >>> log_normal = TransformedDistribution(Normal(0.0, 1.0), [transforms.ExpTransform()])
    >>> log_normal.log_prob(og.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: Any = {}
    base_dist: Distribution

    def __init__(
        self, base_distribution: Distribution, transforms: Transform | Sequence[Transform], validate_args: bool | None = None
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(transform, Transform) for transform in self.transforms):
            raise ValueError(f"{type(self).__name__}: expected a Transform or a list of these, found {transforms!r}")
        whole = ComposeTransform(self.transforms)
        shape = Size((*base_distribution.batch_shape, *base_distribution.event_shape))
        if len(shape) < whole.domain.event_dim:
            raise ValueError(
                f"{type(self).__name__}: the base distribution has shape {tuple(shape)}, expected {whole.domain.event_dim} dimensions or more"
            )
        # Transforms with parameters may broadcast.
        event_dim, result = len(base_distribution.event_shape), whole.forward_shape(shape)
        expanded = whole.inverse_shape(result)
        if tuple(expanded) != tuple(shape):
            base_distribution = base_distribution.expand(expanded[: len(expanded) - event_dim])
        more = whole.domain.event_dim - event_dim
        self.base_dist = Independent(base_distribution, more) if more > 0 else base_distribution
        event_dim = max(whole.codomain.event_dim, event_dim + whole.codomain.event_dim - whole.domain.event_dim)
        batch = len(result) - event_dim
        super().__init__(result[:batch], result[batch:], validate_args)

    def _expanded(self, name: str, value: Any, batch_shape: Size) -> Any:
        if name != "base_dist":
            return super()._expanded(name, value, batch_shape)
        shape = ComposeTransform(self.transforms).inverse_shape(batch_shape + self._event_shape)
        return value.expand(shape[: len(shape) - len(value.event_shape)])

    @property
    def has_rsample(self) -> Any:
        return self.base_dist.has_rsample

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self._event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    def _forward(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with og.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        event_dim, result, y = len(self._event_shape), None, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            term = sum_rightmost(transform.log_abs_det_jacobian(x, y), event_dim - transform.domain.event_dim)
            result = -term if result is None else result - term
            y = x
        density = sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))
        return density if result is None else result + density

    def _increasing(self, probability: Tensor) -> Tensor:
        """A probability, or one minus it where the transforms decrease."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return probability if isinstance(sign, int) and sign == 1 else sign * (probability - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._increasing(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._forward(self.base_dist.icdf(self._increasing(value)))
