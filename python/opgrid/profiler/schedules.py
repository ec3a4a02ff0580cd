"""Profiles of a block, of all of it or of some steps of a loop."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, Self
from warnings import warn

from .events import EventList
from .recording import Recording, record_function


class ProfilerActivity(Enum):
    """What may be recorded. Only the CPU is."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3


class ProfilerAction(Enum):
    """What a profile does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """What can be recorded."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """What a profile does in each step: it skips some, then again and again waits, warms up and records.

    ``repeat`` is how often, 0 without an end; ``skip_first_wait`` other than 0 leaves out the first wait.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError("schedule(): expected numbers of 0 or more, and `active` above 0")
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        place = step % length
        if (repeat and step // length >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """A function for ``on_trace_ready`` that writes every trace into a folder, in the form that TensorBoard's plugin reads."""
    if use_gzip:
        raise NotImplementedError("tensorboard_trace_handler(): traces are written without compression; leave out use_gzip")

    def write(measured: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        measured.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json"))

    return write


class Measured:
    """The results of a recording."""

    _recording: Recording | None = None

    def _finished(self) -> Recording:
        if self._recording is None:
            raise RuntimeError("profile: nothing was recorded; read it after a block that ran, or a step of a schedule that is recorded")
        return self._recording

    def events(self) -> EventList:
        """The calls of operators, and the parts that `record_function` named."""
        return self._finished().events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """The averages of the events by name, which have a ``table()``."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes what ran as a trace that Perfetto and Chrome open."""
        self._finished().export_chrome_trace(path)


def warn_of_unrecorded(options: dict[str, Any]) -> None:
    """Warns of options that ask for more than times."""
    if ignored := [name for name, value in options.items() if value]:
        warn(f"profile(): {', '.join(ignored)} {'has' if len(ignored) == 1 else 'have'} no effect; times are recorded", stacklevel=3)


class profile(Measured):
    """Records the operators that run in a ``with`` block, or between ``start()`` and ``stop()``.

    With a ``schedule``, `step` is called after every step of a loop, and the steps are recorded that it says. ``on_trace_ready`` is
    called with this object whenever a recording has ended.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
    ) -> None:
        others = {activity for activity in activities or () if activity not in supported_activities()}
        warn_of_unrecorded(
            {
                **{str(activity): True for activity in sorted(others, key=str)},
                "record_shapes": record_shapes,
                "profile_memory": profile_memory,
                "with_stack": with_stack,
                "with_flops": with_flops,
                "with_modules": with_modules,
            }
        )
        self.schedule, self.on_trace_ready = schedule, on_trace_ready
        self.step_num = 0
        self.current_action = ProfilerAction.NONE
        self._open: Recording | None = None
        self._step: record_function | None = None

    def start(self) -> None:
        """Begins the profile."""
        self._go_to(ProfilerAction.RECORD_AND_SAVE if self.schedule is None else self.schedule(self.step_num))

    def stop(self) -> None:
        """Ends the profile."""
        self._go_to(ProfilerAction.NONE)

    def step(self) -> None:
        """Ends a step of the schedule and begins the next."""
        self.step_num += 1
        if self.schedule is not None:
            self._go_to(self.schedule(self.step_num))

    def _go_to(self, action: ProfilerAction) -> None:
        records = action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if self._step is not None:
            self._step.__exit__()
            self._step = None
        if self._open is not None and (not records or self.current_action is ProfilerAction.RECORD_AND_SAVE):
            self._open.finish()
            self._recording, self._open = self._open, None
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
        if records and self._open is None:
            self._open = Recording()
        if records and self.schedule is not None:
            self._step = record_function(f"ProfilerStep#{self.step_num}").__enter__()
        self.current_action = action

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self.stop()
