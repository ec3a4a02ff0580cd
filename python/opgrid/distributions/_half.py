"""Distributions of the absolute value of a variable that is symmetric around 0."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import opgrid as og

from .._opgrid import Tensor
from . import constraints
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform


class Half(TransformedDistribution):
    """The absolute value of a variable of another distribution with ``loc`` 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _symmetric: ClassVar[type[Distribution]]

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        # The parameter is checked by this class, under its name.
        super().__init__(self._symmetric(0, scale, validate_args=False), AbsTransform(), validate_args)  # type: ignore[arg-type]

    @property
    def scale(self) -> Tensor:
        """The scale of the symmetric distribution."""
        scale: Tensor = vars(self.base_dist)["scale"]
        return scale

    @property
    def mode(self) -> Tensor:
        return og.zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return og.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -og.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
