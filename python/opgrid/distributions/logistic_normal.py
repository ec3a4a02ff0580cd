"""The logistic-normal distribution of probabilities."""

from __future__ import annotations

from typing import Any

from .._opgrid import Tensor
from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform


class LogisticNormal(TransformedDistribution):
    """Probabilities by breaking a stick at normal variables: one more than there are elements in the last dimension of ``loc``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base if base.batch_shape else base.expand([1]), StickBreakingTransform(), validate_args)

    @property
    def _normal(self) -> Normal:
        """The normal variables, of which the last dimension is that of events."""
        normal: Normal = vars(self.base_dist)["base_dist"]
        return normal

    @property
    def loc(self) -> Tensor:
        """The mean of the normal variables."""
        return self._normal.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the normal variables."""
        return self._normal.scale
