"""Events of a profile: what ran, when, and within what; averages of them, and their table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any


def formatted_time(microseconds: float) -> str:
    """A time with the unit that suits it."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


class _Times:
    """Times of the CPU in microseconds, and as texts. No other device is timed."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time = device_time_total = self_device_time_total = 0.0

    @property
    def cpu_time(self) -> float:
        """The mean time of one call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        """The mean time of one call as text."""
        return formatted_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """The time of all calls as text."""
        return formatted_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """The time of all calls without what they called, as text."""
        return formatted_time(self.self_cpu_time_total)


@dataclass(eq=False, repr=False)
class Event(_Times):
    """One call of an operator, or one run of a named part of the program. Times are counted from the beginning of the profile."""

    name: str
    start_us: float
    end_us: float
    thread: int
    is_user_annotation: bool = False
    cpu_parent: Event | None = None
    cpu_children: list[Event] = field(default_factory=list)
    count = 1

    @property
    def key(self) -> str:
        """What averages are taken by."""
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """How long it ran."""
        return self.end_us - self.start_us

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """How long it ran without what it called."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def __repr__(self) -> str:
        return f"<Event name={self.name} cpu_time={self.cpu_time_str} start_us={self.start_us:.3f} thread={self.thread}>"


@dataclass(repr=False)
class EventAverage(_Times):
    """The times of all events with one name."""

    key: str
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    is_user_annotation: bool = False

    def add(self, other: Event | EventAverage) -> EventAverage:
        """Counts another event, or others."""
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.is_user_annotation |= other.is_user_annotation
        return self

    def __repr__(self) -> str:
        return f"<EventAverage key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str} calls={self.count}>"


def nested(events: Iterable[Event]) -> EventList:
    """Events in their order, each with the events of its thread that ran within it."""
    ordered = EventList(sorted(events, key=lambda event: (event.thread, event.start_us, -event.end_us)))
    around: list[Event] = []
    for event in ordered:
        while around and (around[-1].thread != event.thread or around[-1].end_us < event.end_us):
            around.pop()
        if around:
            event.cpu_parent = around[-1]
            around[-1].cpu_children.append(event)
        around.append(event)
    return ordered


_COLUMNS: list[tuple[str, Callable[[Any, float], str]]] = [
    ("Self CPU %", lambda event, total: f"{event.self_cpu_time_total / total:.2%}"),
    ("Self CPU", lambda event, _: event.self_cpu_time_total_str),
    ("CPU total %", lambda event, total: f"{event.cpu_time_total / total:.2%}"),
    ("CPU total", lambda event, _: event.cpu_time_total_str),
    ("CPU time avg", lambda event, _: event.cpu_time_str),
    ("# of Calls", lambda event, _: str(event.count)),
]

SORT_KEYS = ("count", "cpu_time", "cpu_time_total", "device_time", "device_time_total", "self_cpu_time_total", "self_device_time_total")


class EventList(list[Any]):
    """Events or averages of a profile."""

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, each without those that ran within it."""
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """The averages by name. Shapes and stacks are not recorded, so that names alone tell events apart."""
        averages: dict[str, EventAverage] = {}
        for event in self:
            averages.setdefault(event.key, EventAverage(event.key)).add(event)
        return EventList(averages.values())

    def total_average(self) -> EventAverage:
        """The sum of all."""
        total = EventAverage("Total")
        for event in self:
            total.add(event)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_name_column_width: int = 55,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """The events as text, the longest first by ``sort_by``, which is one of `SORT_KEYS`; ``row_limit`` -1 shows all of them."""
        events: list[Any] = list(self)
        if top_level_events_only:
            events = [event for event in events if getattr(event, "cpu_parent", None) is None]
        if sort_by is not None:
            key = sort_by.replace("cuda", "device")
            if key not in SORT_KEYS:
                raise ValueError(f"table(): sort_by is {sort_by!r}, expected one of {', '.join(SORT_KEYS)}")
            events.sort(key=lambda event: getattr(event, key), reverse=True)
        total = self.self_cpu_time_total
        titles, rows = self._cells(events if row_limit < 0 else events[:row_limit])
        rows = [[_shortened(name, max_name_column_width), *texts] for name, *texts in rows]
        widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
        rule = "  ".join("-" * width for width in widths)
        lines = ["  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in (titles, *rows)]
        head = [] if header is None else [header]
        return "\n".join([*head, rule, lines[0], rule, *lines[1:], rule, f"Self CPU time total: {formatted_time(total)}", ""])

    def _cells(self, events: list[Any]) -> tuple[list[str], list[list[str]]]:
        """The titles and rows of a table of some of the events."""
        total = self.self_cpu_time_total or 1.0
        rows = [[event.key, *(text(event, total) for _, text in _COLUMNS)] for event in events]
        return ["Name", *(title for title, _ in _COLUMNS)], rows

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        from .._inspect import html_table

        return html_table(*self._cells(list(self)))


def _shortened(name: str, width: int) -> str:
    return name if len(name) <= width else f"{name[: width - 3]}..."
