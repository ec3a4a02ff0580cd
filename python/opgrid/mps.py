"""Devices of the kind ``mps``: none, unless a backend that is loaded has some."""

from __future__ import annotations

from ._devices import DeviceKind, Event, require

__all__ = ["Event", "current_allocated_memory", "driver_allocated_memory"]

_kind = DeviceKind("mps")

is_available = _kind.is_available
device_count = _kind.device_count
synchronize = _kind.synchronize
manual_seed = _kind.manual_seed
seed = _kind.seed
get_rng_state = _kind.get_rng_state
set_rng_state = _kind.set_rng_state


def empty_cache() -> None:
    """Gives memory back that is kept for new tensors."""
    require("mps")


def current_allocated_memory() -> int:
    """The bytes that tensors take: 0, as backends keep no count that Python sees."""
    require("mps")
    return 0


driver_allocated_memory = current_allocated_memory
