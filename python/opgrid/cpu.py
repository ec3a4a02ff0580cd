"""The CPU as a device among others, for programs that ask its module by the kind of device."""

from __future__ import annotations

import contextlib
from typing import Any

from . import _opgrid

__all__ = [
    "Stream",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "set_device",
    "stream",
    "synchronize",
]


class Stream:
    """Calls on the CPU, which run in the order in which they are made."""

    def wait_stream(self, stream: Any) -> None:
        """Lets calls wait for those of another stream, which are done."""


_STREAM = Stream()


def is_available() -> bool:
    """Whether there is a CPU."""
    return True


def is_initialized() -> bool:
    """Whether the CPU was started."""
    return True


def device_count() -> int:
    """How many CPUs there are as devices: one."""
    return 1


def current_device() -> str:
    """The device that is meant where none is named."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing: there is one CPU."""


def synchronize(device: Any = None) -> None:
    """Waits for all calls, which are done when they return."""


def current_stream(device: Any = None) -> Stream:
    """The one stream of the CPU."""
    return _STREAM


def stream(stream: Stream | None) -> contextlib.AbstractContextManager[Stream | None]:
    """The stream that calls run on, for the length of a ``with`` block."""
    return contextlib.nullcontext(stream)


def manual_seed(seed: int) -> None:
    """Starts the default stream of random numbers anew."""
    _opgrid.manual_seed(seed)


manual_seed_all = manual_seed
