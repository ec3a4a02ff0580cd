"""Divergences between families: ``E[-log q(x)]`` of draws from ``p``, by moments of ``p``, minus the entropy of ``p``.

They are infinite where ``p`` has values that ``q`` does not have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import opgrid as og

from .._opgrid import Tensor
from .bernoulli import Bernoulli
from .beta import Beta
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl import register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform


def _for(table: dict[type, Callable[..., Any]], distribution: Any) -> Callable[..., Any]:
    """The entry for a distribution's class."""
    return next(function for kind, function in table.items() if isinstance(distribution, kind))


def _mean_log_of_interval(low: Tensor, high: Tensor) -> Tensor:
    """The mean of the logarithm between two numbers."""
    return (high.xlogy(high) - low.xlogy(low)) / (high - low) - 1


MEAN_LOG: dict[type, Callable[[Any], Tensor]] = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: og.ones_like(p.rate).digamma() - p.rate.log(),
    Gamma: lambda p: p.concentration.digamma() - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: _mean_log_of_interval(p.low, p.high),
}
"""``E[log x]``."""

MEAN_LOG_OF_REST: dict[type, Callable[[Any], Tensor]] = {
    Uniform: lambda p: _mean_log_of_interval(1 - p.high, 1 - p.low),
}
"""``E[log(1 - x)]``."""

LOG_MEAN_EXP: dict[type, Callable[[Any, Tensor], Tensor]] = {
    Normal: lambda p, t: t * p.loc + (t * p.scale).square() / 2,
    Exponential: lambda p, t: -(-t / p.rate).log1p(),
    Gamma: lambda p, t: -p.concentration * (-t / p.rate).log1p(),
    Uniform: lambda p, t: t * p.low + ((t * (p.high - p.low)).expm1() / (t * (p.high - p.low))).log(),
}
"""``log E[exp(t * x)]``, for numbers ``t`` below 0."""


def _mean_distance(p: Normal, center: Tensor) -> Tensor:
    """``E[|x - center|]`` of normal variables."""
    z = (p.loc - center) / p.scale
    near = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z.square()).exp()
    return near + (p.loc - center) * (math.sqrt(0.5) * z).erf()


CROSS_ENTROPY: dict[type, Callable[[Any, Any], Tensor]] = {
    Beta: lambda q, p: (
        q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
        - (q.concentration1 - 1) * _for(MEAN_LOG, p)(p) - (q.concentration0 - 1) * _for(MEAN_LOG_OF_REST, p)(p)
    ),
    ContinuousBernoulli: lambda q, p: -p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm(),
    Exponential: lambda q, p: q.rate * p.mean - q.rate.log(),
    Gamma: lambda q, p: (
        q.concentration.lgamma() - q.concentration * q.rate.log()
        - (q.concentration - 1) * _for(MEAN_LOG, p)(p) + q.rate * p.mean
    ),
    Gumbel: lambda q, p: (
        q.scale.log() + (p.mean - q.loc) / q.scale
        + (q.loc / q.scale + _for(LOG_MEAN_EXP, p)(p, -q.scale.reciprocal())).exp()
    ),
    Laplace: lambda q, p: (2 * q.scale).log() + _mean_distance(p, q.loc) / q.scale,
    Normal: lambda q, p: (
        q.scale.log() + 0.5 * math.log(2 * math.pi) + (p.variance + (p.mean - q.loc).square()) / (2 * q.variance)
    ),
    Pareto: lambda q, p: (q.alpha + 1) * _for(MEAN_LOG, p)(p) - q.alpha.log() - q.alpha * q.scale.log(),
    # The factorials of 0 and 1 are 1.
    Poisson: lambda q, p: q.rate - p.mean * q.rate.log(),
    Uniform: lambda q, p: (q.high - q.low).log(),
}  # fmt: skip
"""``E[-log q(x)]`` for draws from ``p``."""

_BOUNDED = (Beta, ContinuousBernoulli, Pareto, Uniform)

PAIRS: dict[type, tuple[type, ...]] = {
    Bernoulli: (Poisson,),
    Beta: (ContinuousBernoulli, Exponential, Gamma, Normal, Pareto, Uniform),
    ContinuousBernoulli: (Exponential, Normal, Pareto, Uniform),
    Exponential: (*_BOUNDED, Gamma, Gumbel, Normal),
    Gamma: (*_BOUNDED, Exponential, Gumbel, Normal),
    Gumbel: (*_BOUNDED, Exponential, Gamma, Normal),
    Laplace: (*_BOUNDED, Exponential, Gamma, Normal),
    Normal: (*_BOUNDED, Exponential, Gamma, Gumbel, Laplace),
    Pareto: (Beta, ContinuousBernoulli, Exponential, Gamma, Normal, Uniform),
    Uniform: (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto),
}
"""The classes ``q`` for each ``p``. Moments that an entry of `CROSS_ENTROPY` asks for are there, unless the divergence is infinite."""


def _is_outside(p: Any, q: Any) -> Any:
    """Where ``p`` has values below or above all those of ``q``."""
    below = getattr(p.support, "lower_bound", -math.inf) < getattr(q.support, "lower_bound", -math.inf)
    above = getattr(p.support, "upper_bound", math.inf) > getattr(q.support, "upper_bound", math.inf)
    return below | above


def _by_moments(p: Any, q: Any) -> Tensor:
    outside = og.as_tensor(_is_outside(p, q)).expand(og.broadcast_shapes(p.batch_shape, q.batch_shape))
    if outside.all():
        return og.full_like(outside, og.inf, dtype=p.entropy().dtype)
    divergence: Tensor = _for(CROSS_ENTROPY, q)(q, p) - p.entropy()
    return divergence.masked_fill(outside, og.inf)


for _p, _others in PAIRS.items():
    for _q in _others:
        register_kl(_p, _q)(_by_moments)
