"""Integers that code computes from sizes of traced tensors."""

from __future__ import annotations

import operator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_LONGEST = 1000
"""The longest expression that is kept, in characters. Integers with a longer one are ordinary numbers."""


class SymInt(int):
    """A size of a tensor while a program with sizes that vary is traced, or an integer computed from such sizes.

    It is the number that it is in the example. Comparisons are recorded: the program that is traced expects that they have the same result.
    """

    _expression: str

    def __new__(cls, value: int, expression: str) -> SymInt:
        self = super().__new__(cls, value)
        self._expression = expression
        return self

    def __bool__(self) -> bool:
        return self != 0

    def __pos__(self) -> int:
        return self

    def __neg__(self) -> int:
        return self * -1

    __hash__ = int.__hash__

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)


def _text(value: Any) -> str | None:
    """An integer of 64 bits as sympy writes it; others are larger than any size."""
    if isinstance(value, SymInt):
        return value._expression
    is_kept = isinstance(value, int) and -(2**63) <= value < 2**63
    return f"Integer({int(value)})" if is_kept else None


def _arithmetic_method(plain: Callable[[int, int], int], form: str, is_reflected: bool) -> Callable[[SymInt, Any], Any]:
    """A method that computes with another integer what sympy writes in that form."""

    def method(self: SymInt, other: Any) -> Any:
        text = _text(other)
        if text is None:
            return NotImplemented
        sides = (int(other), int(self)) if is_reflected else (int(self), int(other))
        texts = (text, self._expression) if is_reflected else (self._expression, text)
        value, expression = plain(*sides), form.format(*texts)
        return SymInt(value, expression) if len(expression) <= _LONGEST else value

    return method


def _comparison_method(name: str, plain: Callable[[int, int], bool]) -> Callable[[SymInt, Any], Any]:
    """A method that compares with another integer, and records what came out."""

    def method(self: SymInt, other: Any) -> Any:
        from . import _opgrid

        text = _text(other)
        if text is None:
            return NotImplemented
        holds = plain(int(self), int(other))
        _opgrid._record_comparison(self._expression, name, text, holds)
        return holds

    return method


for _name, _plain, _form in [
    ("add", operator.add, "Add({}, {})"),
    ("sub", operator.sub, "Add({}, Mul(Integer(-1), {}))"),
    ("mul", operator.mul, "Mul({}, {})"),
    ("floordiv", operator.floordiv, "FloorDiv({}, {})"),
    ("mod", operator.mod, "PythonMod({}, {})"),
]:
    setattr(SymInt, f"__{_name}__", _arithmetic_method(_plain, _form, is_reflected=False))
    setattr(SymInt, f"__r{_name}__", _arithmetic_method(_plain, _form, is_reflected=True))
for _name, _plain in [
    ("==", operator.eq),
    ("!=", operator.ne),
    ("<", operator.lt),
    ("<=", operator.le),
    (">", operator.gt),
    (">=", operator.ge),
]:
    setattr(SymInt, f"__{_plain.__name__}__", _comparison_method(_name, _plain))
