"""Transforms of single elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import opgrid as og

from ..._opgrid import Tensor
from .. import constraints
from .._parameters import broadcast_all, is_number, lazy_property
from .base import Stateless, Transform


class _Increasing(Stateless):
    """Bijections of single elements that increase."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign: Any = +1


class ExpTransform(_Increasing):
    """``y = exp(x)``."""

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SigmoidTransform(_Increasing):
    """``y = 1 / (1 + exp(-x))``, kept away from 0 and 1."""

    codomain: Any = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        y = _inside(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -og.nn.functional.softplus(-x) - og.nn.functional.softplus(x)


class SoftplusTransform(_Increasing):
    """``y = log(1 + exp(x))``."""

    def _call(self, x: Tensor) -> Tensor:
        return og.nn.functional.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -og.nn.functional.softplus(-x)


class TanhTransform(_Increasing):
    """``y = tanh(x)``. With ``cache_size=1``, results that round to 1 or -1 have an inverse, too."""

    codomain: Any = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(1 - tanh(x)²), without a difference that cancels.
        return 2.0 * (math.log(2.0) - x - og.nn.functional.softplus(-2.0 * x))


class AbsTransform(Stateless):
    """``y = abs(x)``, of which the inverse is the positive input."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class PowerTransform(Transform):
    """``y = x ** exponent`` of positive numbers."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _equal(self.exponent, other.exponent)

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return og.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class AffineTransform(Transform):
    """``y = loc + scale * x``, of events of ``event_dim`` dimensions."""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> Any:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    @property
    def sign(self) -> Any:
        return (self.scale > 0) - (self.scale < 0) if is_number(self.scale) else self.scale.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and _equal(self.loc, other.loc) and _equal(self.scale, other.scale)

    def _call(self, x: Tensor) -> Tensor:
        y: Tensor = self.loc + self.scale * x
        return y

    def _inverse(self, y: Tensor) -> Tensor:
        x: Tensor = (y - self.loc) / self.scale
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale
        result = og.full_like(x, math.log(abs(scale))) if is_number(scale) else scale.abs().log()
        if self._event_dim:
            result = result.reshape((*result.shape[: -self._event_dim], -1)).sum(-1)
        return result.expand(x.shape[: x.dim() - self._event_dim])

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return og.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """``y = distribution.cdf(x)``, for instance to couple variables as normal ones are."""

    bijective = True
    codomain = constraints.unit_interval
    sign: Any = +1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        y: Tensor = self.distribution.cdf(x)
        return y

    def _inverse(self, y: Tensor) -> Tensor:
        x: Tensor = self.distribution.icdf(y)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        density: Tensor = self.distribution.log_prob(x)
        return density


def _inside(y: Tensor) -> Tensor:
    """Numbers moved to between 0 and 1, without both."""
    limits = og.finfo(y.dtype)
    return y.clamp(min=limits.tiny, max=1.0 - limits.eps)


def clipped_sigmoid(x: Tensor) -> Tensor:
    """The sigmoid, kept away from 0 and 1."""
    return _inside(x.sigmoid())


def _equal(left: Any, right: Any) -> bool:
    """Whether two numbers or tensors are equal everywhere."""
    if is_number(left) and is_number(right):
        return bool(left == right)
    return bool((left == right).all())
