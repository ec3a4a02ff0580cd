"""The arrays of the namespace: tensors whose infix operators and indices follow the standard, where torch's rules are others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import _opgrid
from .._functional import unravel_index
from ._dtypes import _is_number
from ._namespace import _op, arrays, namespace

_INFIX = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "pow", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
_COMPARISONS = {
    "lt": "less", "le": "less_equal", "eq": "equal", "ne": "not_equal", "gt": "greater", "ge": "greater_equal",
}  # fmt: skip


class Array(_opgrid.Tensor):
    """A tensor whose infix operators promote dtypes without regard to shapes, and whose slices may go backwards.

    ``array_api.asarray(x)`` is a tensor as an array, on the same memory. What is not named here is as in other tensors.
    """

    @property
    def size(self) -> int:  # type: ignore[override]
        """The number of elements."""
        return math.prod(self.shape)

    def __getitem__(self, key: Any, /) -> Any:
        shape = _shape_of_nothing(self, key)
        if shape is not None:
            return arrays(_op("empty")(shape, dtype=self.dtype, device=self.device))
        x, forward = _forwards(self, key)
        return arrays(_opgrid.Tensor.__getitem__(x, forward))

    def __setitem__(self, key: Any, value: Any, /) -> None:
        if _shape_of_nothing(self, key) is not None:
            return
        if _forwards(self, key)[0] is not self:
            numbers = namespace.arange(self.size, device=self.device)
            places = namespace.reshape(numbers, self.shape)[key]
            if places.size == 0:
                return
            key = unravel_index(places, self.shape)
        _opgrid.Tensor.__setitem__(self, key, value)

    __hash__ = _opgrid.Tensor.__hash__


def _shape_of_nothing(x: Array, key: Any) -> tuple[int, ...] | None:
    """The shape of what a mask without elements selects, which may have size 0 where the array has another size."""
    if not isinstance(key, _opgrid.TensorBase) or key.dtype != _opgrid.bool or not 0 < key.ndim <= x.ndim:
        return None
    sizes, shape = tuple(key.shape), tuple(x.shape)
    if sizes == shape[: key.ndim] or any(size not in (0, other) for size, other in zip(sizes, shape)):
        return None
    return (0, *shape[key.ndim :])


def _is_backward(part: Any) -> bool:
    return isinstance(part, slice) and part.step is not None and part.step < 0


def _axes_taken(part: Any) -> int:
    """How many axes a part of a key takes; an ellipsis takes what is left."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    is_mask = isinstance(part, _opgrid.TensorBase) and part.dtype == _opgrid.bool
    return part.ndim if is_mask else 1


def _forwards(x: Array, key: Any) -> tuple[Any, Any]:
    """An array and a key without slices that go backwards, which select the same: such axes are reversed."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if not any(map(_is_backward, parts)):
        return x, key
    taken = list(map(_axes_taken, parts))
    axis, reversed_axes = 0, []
    for place, part in enumerate(parts):
        if _is_backward(part):
            size = x.shape[axis]
            places = range(size)[part]
            start = size - 1 - places.start if places else 0
            parts[place] = slice(start, start - len(places) * places.step, -places.step)
            reversed_axes.append(axis)
        axis += x.ndim - sum(taken) if part is Ellipsis else taken[place]
    return _op("flip")(x, reversed_axes), tuple(parts)


def _infix(method: str, name: str, is_reflected: bool) -> Callable[[Array, Any], Any]:
    """A method for an infix operator: the function of that name for arrays and numbers, and else what tensors have."""
    function = namespace.function(name)

    def infix(self: Array, other: Any, /) -> Any:
        if not isinstance(other, _opgrid.TensorBase) and not _is_number(other):
            return getattr(_opgrid.Tensor, method)(self, other)
        return function(other, self) if is_reflected else function(self, other)

    infix.__name__ = method
    infix.__qualname__ = f"Array.{method}"
    return infix


def _in_place(method: str, name: str) -> Callable[[Array, Any], Array]:
    """A method for an infix operator that writes the array; others write what the functions return anyway."""
    function = namespace.function(name)

    def in_place(self: Array, other: Any, /) -> Array:
        self.copy_(function(self, other))
        return self

    in_place.__name__ = method
    in_place.__qualname__ = f"Array.{method}"
    return in_place


for _short, _name in _INFIX.items():
    setattr(Array, f"__{_short}__", _infix(f"__{_short}__", _name, False))
    setattr(Array, f"__r{_short}__", _infix(f"__r{_short}__", _name, True))
for _short, _name in _COMPARISONS.items():
    setattr(Array, f"__{_short}__", _infix(f"__{_short}__", _name, False))
for _short in ("floordiv", "mod"):
    setattr(Array, f"__i{_short}__", _in_place(f"__i{_short}__", _INFIX[_short]))
del _short, _name

namespace.extend("Array", Array)
