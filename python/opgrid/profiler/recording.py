"""One recording: the operators that the dispatcher's profile saw, and the parts of the program that were named."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ContextDecorator
from typing import Any, NamedTuple

from .. import _opgrid
from .events import Event, EventList, nested

_running: list[Recording] = []
"""The recordings that see named parts."""


class _Part(NamedTuple):
    """A named part of the program, which ran on a thread of Python."""

    name: str
    thread: int
    start_ns: int
    end_ns: int


class Recording:
    """What ran from its beginning until it was finished.

    The thread that begins it should be the first that calls an operator in it: named parts of this thread are shown together with
    its operators, those of other threads alone.
    """

    def __init__(self) -> None:
        self._profile, self._parts, self._thread = _opgrid.Profile(), list[_Part](), threading.get_ident()
        before = time.monotonic_ns()
        self._profile.__enter__()
        # The profile counts from a moment between these.
        self._zero = before, time.monotonic_ns()
        self._trace: dict[str, Any] = {}
        self.events = EventList()
        """The calls of operators and the named parts, when it is finished."""
        _running.append(self)

    def add(self, part: _Part) -> None:
        """Adds a part that has run."""
        self._parts.append(part)

    def finish(self) -> None:
        """Ends the recording."""
        _running.remove(self)
        self._profile.__exit__(None, None, None)
        handle, path = tempfile.mkstemp(suffix=".json")
        os.close(handle)
        try:
            self._profile.export_chrome_trace(path)
            with open(path, encoding="utf-8") as file:
                self._trace = json.load(file)
        finally:
            os.unlink(path)
        self._trace["traceEvents"] += [self._traced(part) for part in self._parts]
        self.events = nested(self._events())

    def _traced(self, part: _Part) -> dict[str, Any]:
        # Wide enough to have in it whatever ran in it, wherever the profile began between the two moments.
        start, end = (part.start_ns - self._zero[1]) / 1e3, (part.end_ns - self._zero[0]) / 1e3
        thread = 1 if part.thread == self._thread else part.thread
        times = {"ts": start, "dur": end - start, "pid": os.getpid(), "tid": thread}
        return {"name": part.name, "cat": "user_annotation", "ph": "X", "args": {}, **times}

    def _events(self) -> Iterator[Event]:
        for ran in self._trace["traceEvents"]:
            # What a call passes to further kernels of its operator is part of the call.
            if ran["ph"] == "X" and not str(ran["args"].get("kind", "")).startswith("redispatch"):
                is_operator = ran["cat"] == "operator"
                name = ran["name"].partition(".")[0] if is_operator else ran["name"]
                yield Event(name, ran["ts"], ran["ts"] + ran["dur"], ran["tid"], is_user_annotation=not is_operator)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes what ran as a trace that Perfetto and Chrome open."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self._trace, file)


class record_function(ContextDecorator):
    """Names a part of the program, in a ``with`` block or as a decorator of a function; profiles show it beside the operators."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._starts: list[int] = []

    def _recreate_cm(self) -> record_function:
        # A function that is decorated may call itself, on several threads.
        return record_function(self.name, self.args)

    def __enter__(self) -> record_function:
        self._starts.append(time.monotonic_ns())
        return self

    def __exit__(self, *_raised: object) -> None:
        start = self._starts.pop()
        for recording in list(_running):
            recording.add(_Part(self.name, threading.get_ident(), start, time.monotonic_ns()))
