"""Constraints of single numbers."""

from __future__ import annotations

from typing import Any

from ..._opgrid import Tensor
from .base import Constraint


def _is_integer(value: Tensor) -> Tensor:
    return (value % 1).eq(0)


class _Boolean(Constraint):
    is_discrete = True
    lower_bound, upper_bound = 0, 1

    def check(self, value: Tensor) -> Tensor:
        return value.eq(0) | value.eq(1)


class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        # All numbers; NaN is none.
        return value.eq(value)


class _Below(Constraint):
    """Sets with an upper bound."""

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound


class _Above(Constraint):
    """Sets with a lower bound."""

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound


class _Between(Constraint):
    """Sets with two bounds."""

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Tensor:
        return value.ge(self.lower_bound) & value.le(self.upper_bound)


class _GreaterThan(_Above):
    def check(self, value: Tensor) -> Tensor:
        return value.gt(self.lower_bound)


class _GreaterThanEq(_Above):
    def check(self, value: Tensor) -> Tensor:
        return value.ge(self.lower_bound)


class _IntegerGreaterThan(_GreaterThanEq):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return _is_integer(value) & super().check(value)


class _LessThan(_Below):
    def check(self, value: Tensor) -> Tensor:
        return value.lt(self.upper_bound)


class _Interval(_Between):
    """Both bounds are in the interval."""


class _HalfOpenInterval(_Between):
    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & value.lt(self.upper_bound)


class _IntegerInterval(_Between):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return _is_integer(value) & super().check(value)
