"""The default streams of random numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ._opgrid import Generator, _default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]

default_generator: Generator = _default_generator()
"""The stream that operators on the CPU draw from when no generator is given."""


@contextlib.contextmanager
def fork_rng(
    devices: Any = None, enabled: bool = True, _caller: str = "fork_rng", _devices_kw: str = "devices", device_type: str = "cuda"
) -> Iterator[None]:
    """A ``with`` block after which the streams are where they were before."""
    state = get_rng_state() if enabled else None
    try:
        yield
    finally:
        if state is not None:
            set_rng_state(state)


def thread_safe_generator() -> Generator | None:
    """The stream of this worker of a data loader: none of its own, all draw from the default one."""
    return None
