"""Devices of the kind ``mtia``: none, unless a backend that is loaded has some."""

from __future__ import annotations

from ._devices import DeviceKind

_kind = DeviceKind("mtia")

is_available = _kind.is_available
device_count = _kind.device_count
init = _kind.init
is_initialized = _kind.is_initialized
current_device = _kind.current_device
set_device = _kind.set_device
get_device_name = _kind.get_device_name
get_device_capability = _kind.get_device_capability
get_device_properties = _kind.get_device_properties
synchronize = _kind.synchronize
empty_cache = _kind.empty_cache
manual_seed = _kind.manual_seed
manual_seed_all = _kind.manual_seed_all
get_rng_state = _kind.get_rng_state
set_rng_state = _kind.set_rng_state
get_rng_state_all = _kind.get_rng_state_all
set_rng_state_all = _kind.set_rng_state_all
memory_allocated = _kind.memory_allocated
max_memory_allocated = _kind.max_memory_allocated
memory_reserved = _kind.memory_reserved
max_memory_reserved = _kind.max_memory_reserved
memory_stats = _kind.memory_stats
mem_get_info = _kind.mem_get_info
reset_peak_memory_stats = _kind.reset_peak_memory_stats
device = _kind.device
stream = _kind.stream
