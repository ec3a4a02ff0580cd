"""Transforms from all real numbers to the values that a constraint allows.

``biject_to(constraint)`` is a bijection, for instance for sampling in unconstrained space; ``transform_to(constraint)`` is easier to
optimize by, and may map several inputs to one result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints, transforms
from ._parameters import is_number

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

_Factory = Callable[[Any], transforms.Transform]


class ConstraintRegistry:
    """For classes of constraints, functions that make a transform to a constraint.

    >>> import opgrid as og
    >>> from opgrid.distributions import constraints, transform_to
    >>> transform_to(constraints.positive)(og.tensor([0.0]))
    tensor([1.])
    """

    def __init__(self) -> None:
        self._registry: dict[type, _Factory] = {}

    def register(self, constraint: Any, factory: _Factory | None = None) -> Any:
        """Registers a function for the class of a constraint, or for the class itself; without a function, a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"register(): expected a constraint or a class of constraints, found {constraint!r}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> transforms.Transform:
        """The transform to a constraint."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"no transform to {constraint!r} is registered; register one for {type(constraint).__name__}")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _beyond(bound: Any, direction: int) -> transforms.Transform:
    """To the numbers above a bound, or below it."""
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(bound, direction)])


def _to_interval(constraint: Any) -> transforms.Transform:
    lower, upper = constraint.lower_bound, constraint.upper_bound
    if is_number(lower) and is_number(upper) and (lower, upper) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(lower, upper - lower)])


def _both(to: ConstraintRegistry) -> dict[Any, _Factory]:
    """The transforms that both registries have."""
    return {
        constraints.real: lambda _: transforms.identity_transform,
        constraints.independent: lambda c: transforms.IndependentTransform(to(c.base_constraint), c.reinterpreted_batch_ndims),
        constraints.greater_than: lambda c: _beyond(c.lower_bound, 1),
        constraints.greater_than_eq: lambda c: _beyond(c.lower_bound, 1),
        constraints.less_than: lambda c: _beyond(c.upper_bound, -1),
        constraints.interval: _to_interval,
        constraints.half_open_interval: _to_interval,
        constraints.corr_cholesky: lambda _: transforms.CorrCholeskyTransform(),
        constraints.cat: lambda c: transforms.CatTransform([to(part) for part in c.cseq], c.dim, c.lengths),
        constraints.stack: lambda c: transforms.StackTransform([to(part) for part in c.cseq], c.dim),
    }


_OWN: list[tuple[ConstraintRegistry, dict[Any, _Factory]]] = [
    (biject_to, {constraints.simplex: lambda _: transforms.StickBreakingTransform()}),
    (
        transform_to,
        {
            constraints.simplex: lambda _: transforms.SoftmaxTransform(),
            constraints.lower_cholesky: lambda _: transforms.LowerCholeskyTransform(),
            constraints.positive_definite: lambda _: transforms.PositiveDefiniteTransform(),
            constraints.positive_semidefinite: lambda _: transforms.PositiveDefiniteTransform(),
        },
    ),
]

for _registry, _transforms in _OWN:
    for _constraint, _make in {**_both(_registry), **_transforms}.items():
        _registry.register(_constraint, _make)
