"""Forward mode on tensors: dual numbers, which carry a tangent along.

>>> import opgrid as og
>>> from opgrid.autograd import forward_ad
>>> with forward_ad.dual_level():
...     x = forward_ad.make_dual(og.tensor([1.0, 2.0]), og.tensor([1.0, 0.5]))
...     y = forward_ad.unpack_dual(x * x)
>>> y.tangent
tensor([2., 2.])

:func:`opgrid.func.jvp` does the same with a function.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any, NamedTuple

from .. import _opgrid
from .._opgrid import Tensor

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """The parts of a dual tensor."""

    primal: Tensor
    tangent: Tensor | None


class _Levels(threading.local):
    def __init__(self) -> None:
        self.entered: list[Any] = []


_levels = _Levels()


def enter_dual_level() -> int:
    """Enters a level on this thread, in which tensors can have tangents; gives its number."""
    _levels.entered.append(_opgrid._enter_forward())
    return len(_levels.entered) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """Leaves the level that this thread entered last. Dual tensors of it are of no use then."""
    _at("exit_dual_level()", level)
    if level is not None and level != len(_levels.entered) - 1:
        raise RuntimeError(
            f"exit_dual_level(): found the level {level}, expected {len(_levels.entered) - 1}; leave levels in the reverse order"
        )
    _levels.entered.pop().leave()


class dual_level:
    """A ``with`` block in which tensors can have tangents. Blocks nest, and so have tangents tangents."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """The tensor with a tangent of the same sizes and dtype, at the innermost level or another one of this thread."""
    entered = _at("make_dual()", level)

    def plain(part: Tensor) -> Any:
        # What was made within the block is of the level, and would be of no use after it.
        return entered.inner(part) if entered.tangent(part) is None else part

    return entered.dual(plain(tensor), plain(tangent))  # type: ignore[no-any-return]


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor without its tangent, and the tangent; ``None`` where it has none at the level."""
    if not _levels.entered:
        return UnpackedDualTensor(tensor, None)
    found = _at("unpack_dual()", level)
    return UnpackedDualTensor(found.inner(tensor), found.tangent(tensor))


def _at(what: str, level: int | None) -> Any:
    if not _levels.entered:
        raise RuntimeError(f"{what}: found no dual level; enter one by `with forward_ad.dual_level():` first")
    if level is not None and not 0 <= level < len(_levels.entered):
        raise RuntimeError(f"{what}: found the level {level}, expected one from 0 to {len(_levels.entered) - 1}")
    return _levels.entered[-1 if level is None else level]
