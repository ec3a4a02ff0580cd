"""The half-normal distribution."""

from __future__ import annotations

import math

from .._opgrid import Tensor
from ._half import Half
from .normal import Normal


class HalfNormal(Half):
    """The absolute value of a normal variable of mean 0."""

    _symmetric = Normal

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.square() * (1 - 2 / math.pi)
