"""The Gumbel distribution, of greatest values."""

from __future__ import annotations

import math
from typing import Any

import opgrid as og

from .._opgrid import Tensor
from . import constraints
from ._parameters import EULER, broadcast_all
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform


class Gumbel(TransformedDistribution):
    """The distribution of the greatest of many numbers: ``loc - scale * log(-log(u))`` for ``u`` from 0 to 1."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = og.finfo(self.loc.dtype)
        base = Uniform(og.full_like(self.loc, limits.tiny), og.full_like(self.loc, 1 - limits.eps), validate_args=validate_args)
        negative_log = [ExpTransform().inv, AffineTransform(loc=0, scale=-og.ones_like(self.scale))]
        to = [*negative_log, ExpTransform().inv, AffineTransform(loc=self.loc, scale=-self.scale)]
        super().__init__(base, to, validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * EULER

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.square()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + EULER)
