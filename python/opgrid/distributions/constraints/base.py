"""The base class of constraints, and those that are made of others or depend on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import opgrid as og

from ..._opgrid import Tensor
from .._parameters import shown


class Constraint:
    """A set of values: whether it is discrete, and how many of the last dimensions of a value are one event."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each event of a value is in the set: a tensor of bool without the dimensions of events."""
        raise NotImplementedError(f"{type(self).__name__} has no check()")

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={shown(bound)}" for name, bound in vars(self).items())
        return f"{type(self).__name__.removeprefix('_')}({bounds})"


class _Dependent(Constraint):
    """A set that depends on other values, and is therefore not checked."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def _known(self, name: str) -> Any:
        value = getattr(self, f"_{name}")
        if value is NotImplemented:
            raise NotImplementedError(f"{name} of this constraint depends on the distribution; ask for it on an object")
        return value

    @property
    def is_discrete(self) -> Any:
        return self._known("is_discrete")

    @property
    def event_dim(self) -> Any:
        return self._known("event_dim")

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """The constraint with other properties, as in ``constraints.dependent(event_dim=1)``."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("a dependent constraint cannot be checked; ask an object for it, not the class")

    def __repr__(self) -> str:
        return f"{type(self).__name__.removeprefix('_')}()"


class _DependentProperty(property, _Dependent):
    """A property that is a dependent constraint when the class is asked."""

    def __init__(
        self, fn: Callable[[Any], Any] | None = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        property.__init__(self, fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable[[Any], Any]) -> _DependentProperty:  # type: ignore[override]
        """Decorates the function, as in ``@constraints.dependent_property(is_discrete=False, event_dim=0)``."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on other values."""
    return isinstance(constraint, _Dependent)


class _Wrapper(Constraint):
    """A constraint on top of another one."""

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint: expected a Constraint, found {type(base_constraint).__name__}")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> Any:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        return self.base_constraint.event_dim

    def __repr__(self) -> str:
        arguments = ", ".join(repr(value) for value in vars(self).values())
        return f"{type(self).__name__.removeprefix('_')}({arguments})"


class _IndependentConstraint(_Wrapper):
    """Events of more dimensions, of which each part has to satisfy a constraint."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        super().__init__(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims: expected an int of 0 or more, found {reinterpreted_batch_ndims!r}")
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def event_dim(self) -> Any:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        batch = result.dim() - self.reinterpreted_batch_ndims
        if batch < 0:
            raise ValueError(f"expected a value of {self.event_dim} dimensions or more, found {value.dim()}")
        return result.reshape((*result.shape[:batch], -1)).all(-1)


class MixtureSameFamilyConstraint(_Wrapper):
    """Values of a mixture: every component has to allow them."""

    def check(self, value: Tensor) -> Tensor:
        batch = value.dim() - self.event_dim
        if batch < 0:
            raise ValueError(f"expected a value of {self.event_dim} dimensions or more, found {value.dim()}")
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return result.reshape((*result.shape[:batch], -1)).all(-1)


class _Sequence(Constraint):
    """Constraints for the parts of a value along a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        if not all(isinstance(constraint, Constraint) for constraint in cseq):
            raise AssertionError(f"cseq: expected constraints, found {cseq!r}")
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self) -> Any:
        return any(constraint.is_discrete for constraint in self.cseq)

    @property
    def event_dim(self) -> Any:
        return max(constraint.event_dim for constraint in self.cseq)

    def __repr__(self) -> str:
        return f"{type(self).__name__.removeprefix('_')}()"


class _Cat(_Sequence):
    """Parts of given lengths, which stand in one dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths: expected {len(self.cseq)}, one for each constraint, found {len(self.lengths)}")

    def check(self, value: Tensor) -> Tensor:
        parts = value.split(self.lengths, self.dim)
        return og.cat([constraint.check(part) for constraint, part in zip(self.cseq, parts, strict=True)], self.dim)


class _Stack(_Sequence):
    """Parts with a dimension of their own."""

    @property
    def event_dim(self) -> Any:
        dim = super().event_dim
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        parts = value.unbind(self.dim)
        return og.stack([constraint.check(part) for constraint, part in zip(self.cseq, parts, strict=True)], self.dim)
