"""Modes that look for what goes wrong: the first operator that makes a NaN, and one that answers differently when called again.

>>> import opgrid as og
>>> from opgrid.utils.debugging import NanHunter
>>> with NanHunter():
...     og.tensor([-1.0]).sqrt().exp()
Traceback (most recent call last):
    ...
RuntimeError: aten::sqrt returned NaN in 1 of 1 elements of shape (1,), and no argument has one; ...
"""

from __future__ import annotations

from typing import Any

from .. import _opgrid
from .._modes import DispatchMode
from .._place import line_of_caller

__all__ = ["DeterminismCheck", "NanHunter"]


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, _opgrid.TensorBase):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _tensors(item)]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in _tensors(item)]
    return []


def _is_inexact(tensor: Any) -> bool:
    has_data = tensor.device.type != "meta" and not _opgrid._is_fake(tensor)
    return has_data and bool(tensor.dtype.is_floating_point or tensor.dtype.is_complex)


class NanHunter(DispatchMode):
    """Raises an error at the first operator in a ``with`` block whose result has a NaN that none of its arguments has.

    With ``infinities``, infinite elements count as well. Backward passes are looked at, too; the line that the error names is then
    that of ``backward()``.
    """

    def __init__(self, infinities: bool = False) -> None:
        self.infinities = infinities

    def _count(self, tensor: Any) -> int:
        if not _is_inexact(tensor):
            return 0
        found = ~tensor.isfinite() if self.infinities else tensor.isnan()
        return int(found.sum().item())

    def __opgrid_dispatch__(
        self, func: _opgrid.OpOverload, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        is_known = any(self._count(tensor) for tensor in _tensors([args, kwargs]))
        result = func(*args, **kwargs)
        # What is not filled yet may have anything in it.
        if is_known or "empty" in func.name():
            return result
        for tensor in _tensors(result):
            if count := self._count(tensor):
                what = "NaN or infinity" if self.infinities else "NaN"
                raise RuntimeError(
                    f"{func.name()} returned {what} in {count} of {tensor.numel()} elements of shape {tuple(tensor.shape)}, and no argument "
                    f"has one; it was called at {line_of_caller()}"
                )
        return result


class DeterminismCheck(DispatchMode):
    """Calls every operator in a ``with`` block twice, and raises an error where the results differ.

    Both calls draw the same random numbers. Operators that write an argument are called once.
    """

    def __opgrid_dispatch__(
        self, func: _opgrid.OpOverload, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        state = _opgrid.get_rng_state()
        result = func(*args, **kwargs)
        writes = any(argument.is_write for argument in func._schema.arguments)
        if writes or "empty" in func.name() or kwargs.get("generator") is not None:
            return result
        after = _opgrid.get_rng_state()
        _opgrid.set_rng_state(state)
        again = func(*args, **kwargs)
        _opgrid.set_rng_state(after)
        for first, second in zip(_tensors(result), _tensors(again), strict=True):
            if first.device.type != "meta" and not _is_same(first, second):
                raise RuntimeError(
                    f"{func.name()} gave two results for the same arguments, of shape {tuple(first.shape)}; it was called at {line_of_caller()}"
                )
        return result


def _is_same(first: Any, second: Any) -> bool:
    if first.shape != second.shape:
        return False
    equal = first == second
    if _is_inexact(first):
        equal = equal | (first.isnan() & second.isnan())
    return bool(equal.all().item())
