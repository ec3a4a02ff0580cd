"""The profile of a block under the name that it has in torch's older interface; :mod:`opgrid.profiler` has schedules, too."""

from __future__ import annotations

from typing import Any, Self

from ..profiler.events import EventAverage, EventList
from ..profiler.recording import Recording, record_function
from ..profiler.schedules import Measured, warn_of_unrecorded

__all__ = ["profile", "record_function"]


class profile(Measured):
    """Records the operators that run in a ``with`` block, unless ``enabled`` is false.

    >>> import opgrid as og
    >>> from opgrid.autograd.profiler import profile
    >>> with profile() as measured:
    ...     _ = og.ones(2).sum()
    >>> "aten::sum" in measured.table()
    True
    """

    def __init__(self, enabled: bool = True, *, use_cpu: bool = True, **options: Any) -> None:
        warn_of_unrecorded(options)
        self.enabled = enabled and use_cpu

    def __enter__(self) -> Self:
        if self.enabled:
            self._recording = Recording()
        return self

    def __exit__(self, *_raised: object) -> None:
        if self.enabled:
            self._finished().finish()

    @property
    def function_events(self) -> EventList:
        """The events of the block."""
        return self.events()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, each without those within it, in microseconds."""
        return self.events().self_cpu_time_total

    def total_average(self) -> EventAverage:
        """The sum of all events."""
        return self.events().total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """The averages as text."""
        return self.key_averages().table(sort_by, row_limit, **options)

    def __str__(self) -> str:
        return self.table() if self.enabled else "<profile that is not enabled>"
