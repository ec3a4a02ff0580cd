"""How much memory tensors take while a program runs, operator by operator.

>>> import opgrid as og
>>> from opgrid.utils.fake_tensor import FakeTensorMode
>>> from opgrid.utils.memory_timeline import MemoryTimeline
>>> with FakeTensorMode(), MemoryTimeline() as timeline:
...     x = og.ones(1024, 256)
...     y = (x + 1).relu()
...     del x
...     z = y.sum()
>>> [(entry.operator, entry.bytes // 1024) for entry in timeline.entries]
[('aten::ones', 1024), ('aten::add.Tensor', 2048), ('aten::relu', 3072), ('aten::sum', 1024)]
>>> timeline.peak.operator
'aten::relu'

With fake tensors it is what they would take, of all devices. Else it is what tensors of the process have on the CPU now, on all
threads, with what the allocator rounds sizes up by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import _opgrid
from .._modes import DispatchMode
from .._place import line_of_caller

__all__ = ["Entry", "MemoryTimeline"]


@dataclass(frozen=True)
class Entry:
    """What tensors took after a call."""

    operator: str
    """The operator, as ``aten::add.Tensor``."""
    bytes: int
    """What all tensors took, in bytes."""
    place: str | None = None
    """The line of the program that called it, where that was the most so far."""


class MemoryTimeline(DispatchMode):
    """Notes what tensors take after each operator in a ``with`` block, backward passes too.

    ``entries`` has all calls in their order; the line is looked up for those that took more than all before.
    """

    entries: list[Entry]

    def __init__(self) -> None:
        self.entries = []
        self._most = -1

    def __opgrid_dispatch__(
        self, func: _opgrid.OpOverload, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        now = _opgrid._memory_in_use()
        is_most = now > self._most
        self._most = max(now, self._most)
        self.entries.append(Entry(func.name(), now, line_of_caller() if is_most else None))
        return result

    @property
    def peak(self) -> Entry:
        """The call after which tensors took the most.

        Raises `ValueError` where nothing was called.
        """
        if not self.entries:
            raise ValueError("MemoryTimeline has no entries, for no operator was called in its `with` block")
        return max(self.entries, key=lambda entry: entry.bytes)

    def get_table(self, width: int = 40) -> str:
        """The calls as text, one in a row, with bars of up to ``width`` signs."""
        longest = max((len(entry.operator) for entry in self.entries), default=0)
        most = max((entry.bytes for entry in self.entries), default=0)
        rows = []
        for entry in self.entries:
            bar = "#" * (entry.bytes * width // most if most else 0)
            rows.append(f"{entry.operator:<{longest}}  {entry.bytes / 2**20:>10.2f} MiB  {bar}".rstrip())
        return "\n".join(rows)
