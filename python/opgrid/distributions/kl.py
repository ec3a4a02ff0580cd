"""Kullback-Leibler divergences: which function computes that of two classes of distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from warnings import warn

from .._opgrid import Tensor
from .distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

_Divergence = Callable[[Any, Any], Tensor]

_registered: dict[tuple[type, type], _Divergence] = {}
_found: dict[tuple[type, type], _Divergence | None] = {}
"""What was looked up since something was registered."""


def register_kl(type_p: type, type_q: type) -> Callable[[_Divergence], _Divergence]:
    """Registers a function for the divergence of two classes, as a decorator. Classes that are derived from them use it, too.

    >>> from opgrid.distributions import Normal, register_kl
    >>> class Shifted(Normal): ...
    >>> @register_kl(Shifted, Normal)
    ... def divergence(p, q):
    ...     return (p.loc - q.loc).abs()
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type) or not issubclass(kind, Distribution):
            raise TypeError(f"register_kl(): expected a class of distributions as {name}, found {kind!r}")

    def register(function: _Divergence) -> _Divergence:
        _registered[type_p, type_q] = function
        _found.clear()
        return function

    return register


def _lookup(type_p: type, type_q: type) -> _Divergence | None:
    """The function for the nearest base classes. It is ambiguous if it depends on which class is looked at first."""

    def distance(pair: tuple[type, type]) -> tuple[int, int]:
        return type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1])

    pairs = [pair for pair in _registered if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not pairs:
        return None
    by_p = min(pairs, key=distance)
    by_q = min(pairs, key=lambda pair: distance(pair)[::-1])
    if _registered[by_p] is not _registered[by_q]:
        warn(
            f"kl_divergence() of {type_p.__name__} and {type_q.__name__} is ambiguous; "
            f"call register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _registered[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The divergence ``E[log p(x) - log q(x)]`` for ``x`` drawn from ``p``: one number for each distribution of the batch."""
    kinds = type(p), type(q)
    if kinds not in _found:
        _found[kinds] = _lookup(*kinds)
    function = _found[kinds]
    if function is None:
        raise NotImplementedError(
            f"no divergence of {kinds[0].__name__} from {kinds[1].__name__} is known; give one to register_kl()"
        )
    return function(p, q)
