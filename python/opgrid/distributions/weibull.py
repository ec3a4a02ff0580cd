"""The Weibull distribution, of the time until a failure."""

from __future__ import annotations

from typing import Any

import opgrid as og

from .._opgrid import Tensor
from . import constraints
from ._parameters import EULER, broadcast_all
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform


class Weibull(TransformedDistribution):
    """``scale`` times a power of an exponential variable; failures become likelier with time where ``concentration`` is above 1."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    scale: Tensor
    concentration: Tensor

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(og.ones_like(self.scale), validate_args=validate_args)
        power = PowerTransform(exponent=self.concentration_reciprocal)
        super().__init__(base, [power, AffineTransform(loc=0, scale=self.scale)], validate_args)

    @property
    def concentration_reciprocal(self) -> Tensor:
        """1 divided by the concentration."""
        return self.concentration.reciprocal()

    @property
    def mean(self) -> Tensor:
        return self.scale * (1 + self.concentration_reciprocal).lgamma().exp()

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration_reciprocal

    @property
    def variance(self) -> Tensor:
        part = self.concentration_reciprocal
        return self.scale.square() * ((1 + 2 * part).lgamma().exp() - (2 * (1 + part).lgamma()).exp())

    def entropy(self) -> Tensor:
        part = self.concentration_reciprocal
        return EULER * (1 - part) + (self.scale * part).log() + 1
