"""How long operators and named parts of a program run: as events, as averages in a table, and as a trace for Perfetto.

>>> import opgrid as og
>>> from opgrid.profiler import profile, record_function
>>> with profile() as measured:
...     with record_function("product"):
...         _ = og.ones(8, 8) @ og.ones(8, 8)
>>> times = {average.key: average for average in measured.key_averages()}
>>> times["product"].count, times["aten::mm"].count
(1, 1)
>>> times["product"].cpu_time_total > times["aten::mm"].cpu_time_total
True

``print(measured.key_averages().table(sort_by="self_cpu_time_total"))`` prints the table, ``measured.export_chrome_trace(path)`` writes
the trace. Times are those of the CPU, in microseconds.
"""

from __future__ import annotations

from .events import Event, EventAverage, EventList
from .recording import record_function
from .schedules import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "Event",
    "EventAverage",
    "EventList",
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
