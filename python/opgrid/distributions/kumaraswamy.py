"""The Kumaraswamy distribution, of numbers from 0 to 1."""

from __future__ import annotations

from typing import Any

import opgrid as og

from .._opgrid import Tensor
from . import constraints
from ._parameters import EULER, broadcast_all
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform


class Kumaraswamy(TransformedDistribution):
    """Numbers from 0 to 1, much as the beta distribution has them, with an inverse of the distribution function."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(og.zeros_like(self.concentration0), og.ones_like(self.concentration0), validate_args=validate_args)
        rest = AffineTransform(loc=1.0, scale=-1.0)
        powers = (PowerTransform(self.concentration0.reciprocal()), PowerTransform(self.concentration1.reciprocal()))
        super().__init__(base, [powers[0], rest, powers[1]], validate_args)

    def _moment(self, order: int) -> Tensor:
        """The expected power of a draw."""
        part = 1 + order / self.concentration1
        return (self.concentration0.log() + part.lgamma() + self.concentration0.lgamma() - (part + self.concentration0).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)).pow(a.reciprocal())
        return mode.masked_fill((a < 1) | (b < 1), og.nan)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean.square()

    def entropy(self) -> Tensor:
        rest1, rest0 = 1 - self.concentration1.reciprocal(), 1 - self.concentration0.reciprocal()
        harmonic = (self.concentration0 + 1).digamma() + EULER
        return rest0 + rest1 * harmonic - self.concentration1.log() - self.concentration0.log()
