"""Sizes of tensors."""

from __future__ import annotations

import operator

from ._symint import SymInt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Size(tuple[int, ...]):
    """The sizes of a tensor: a tuple of integers that knows how many elements there are."""

    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Size:
        return super().__new__(cls, [size if type(size) is SymInt else operator.index(size) for size in sizes])

    def numel(self) -> int:
        """The number of elements of a tensor of this size."""
        count = 1
        for size in self:
            count *= size
        return count

    def __repr__(self) -> str:
        return f"opgrid.Size({list(self)})"

    def __add__(self, other: Any) -> Size:
        return Size((*self, *other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> Size:
        return Size((*other, *self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Size:
        return Size(super().__mul__(times))

    __rmul__ = __mul__

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return Size(found) if isinstance(index, slice) else found

    def __reduce__(self) -> tuple[type[Size], tuple[tuple[int, ...]]]:
        return Size, (tuple(self),)
