"""Distributions of which batch dimensions are dimensions of events."""

from __future__ import annotations

from typing import Any

from .._opgrid import Tensor
from .._size import Size
from . import constraints
from ._parameters import sum_rightmost
from .distribution import Distribution


class Independent(Distribution):
    """A distribution of which the last ``reinterpreted_batch_ndims`` batch dimensions belong to an event.

    ``log_prob`` is summed over them: ``Independent(Normal(loc, scale), 1)`` is a normal distribution of vectors with a diagonal covariance.
    """

    arg_constraints: Any = {}
    base_dist: Distribution

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch = len(base_distribution.batch_shape) - reinterpreted_batch_ndims
        if batch < 0:
            raise ValueError(
                f"Independent: `reinterpreted_batch_ndims` is {reinterpreted_batch_ndims}, expected at most "
                f"{len(base_distribution.batch_shape)}, the number of batch dimensions of {base_distribution!r}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        shape = base_distribution.batch_shape + base_distribution.event_shape
        super().__init__(shape[:batch], shape[batch:], validate_args)

    def _expanded(self, name: str, value: Any, batch_shape: Size) -> Any:
        if name == "base_dist":
            return value.expand(batch_shape + self._event_shape[: self.reinterpreted_batch_ndims])
        return super()._expanded(name, value, batch_shape)

    @property
    def has_rsample(self) -> Any:
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> Any:
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        support, more = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(support, more) if more else support

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Independent: enumerate_support() would list the product of all values of a batch")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist!r}, {self.reinterpreted_batch_ndims})"
