"""Devices by kind: what ``opgrid.cuda``, ``opgrid.xpu`` and others ask the registry, which knows those of the backends that are loaded."""

from __future__ import annotations

import contextlib
import functools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from . import _opgrid
from .errors import DeviceError

__all__ = ["DeviceKind", "Event", "Stream", "count", "require", "with_device"]


def with_device(device: _opgrid.device, func: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which runs with that device as the one of new tensors."""

    @functools.wraps(func)
    def within(*args: Any, **kwargs: Any) -> Any:
        with device:
            return func(*args, **kwargs)

    return within


def count(device_type: str) -> int:
    """How many devices of a kind the registered backends have; one CPU."""
    return 1 if device_type == "cpu" else _opgrid._device_count(device_type)


def require(device_type: str, index: int | None = None) -> None:
    """Refuses devices that are not there.

    Raises: DeviceError, which is a ``RuntimeError``.
    """
    there = count(device_type)
    if there == 0:
        raise DeviceError(
            f"no device of the kind {device_type!r} is there: no backend that is loaded has one; use 'cpu', or load a plugin with "
            f"`opgrid.Plugin`"
        )
    if index is not None and not 0 <= index < there:
        raise DeviceError(f"found device {device_type}:{index}, expected a number below {there}")


class DeviceKind:
    """What there is to know of one kind of device. Questions have an answer where none is there; the rest raises ``DeviceError``."""

    def __init__(self, device_type: str) -> None:
        self.device_type = device_type

    def is_available(self) -> bool:
        """Whether there is a device of this kind."""
        return self.device_count() > 0

    def device_count(self) -> int:
        """How many devices of this kind there are."""
        return count(self.device_type)

    def init(self) -> None:
        """Sees to it that there is a device; it starts with its first tensor."""
        require(self.device_type)

    def is_initialized(self) -> bool:
        """Whether a device was started: there is one."""
        return self.is_available()

    def is_bf16_supported(self, including_emulation: bool = True) -> bool:
        """Whether there is a device for tensors of bfloat16."""
        return self.is_available()

    def current_device(self) -> int:
        """The number of the device that is meant where none is named."""
        require(self.device_type)
        return _opgrid._current_device(self.device_type).index or 0

    def set_device(self, device: Any) -> None:
        """Makes a device the one that is meant where none is named, on this thread."""
        _opgrid._set_current_device(self._device(device))

    def get_device_name(self, device: Any = None) -> str:
        """The name of a device."""
        return f"{self.device_type}:{self._index(device)}"

    def get_device_capability(self, device: Any = None) -> tuple[int, int]:
        """What a device can do, which backends do not say."""
        raise DeviceError(f"get_device_capability(): {self.get_device_name(device)} does not say what it can do")

    def get_device_properties(self, device: Any = None) -> Any:
        """Figures of a device, which backends do not say."""
        raise DeviceError(f"get_device_properties(): {self.get_device_name(device)} does not give figures")

    def synchronize(self, device: Any = None) -> None:
        """Waits until a device is done."""
        _opgrid._synchronize(self._device(device))

    def empty_cache(self) -> None:
        """Gives memory back that is kept for new tensors, where a device keeps any."""

    def manual_seed(self, seed: int) -> None:
        """Starts the streams of random numbers of the devices anew. They begin with the seed of ``opgrid.manual_seed``."""
        if self.is_available():
            _opgrid.manual_seed(int(seed))

    def manual_seed_all(self, seed: int) -> None:
        """Starts the streams of random numbers of all devices anew."""
        self.manual_seed(seed)

    def seed(self) -> None:
        """Starts the streams of random numbers anew, from a seed that is another one each time."""
        if self.is_available():
            _opgrid.seed()

    def seed_all(self) -> None:
        """Starts the streams of all devices anew, from a seed that is another one each time."""
        self.seed()

    def initial_seed(self) -> int:
        """The seed that the streams of random numbers began with."""
        require(self.device_type)
        return _opgrid.initial_seed()

    def get_rng_state_all(self) -> list[Any]:
        """Where the streams of random numbers of all devices are."""
        return [_opgrid.get_rng_state() for _ in range(self.device_count())]

    def set_rng_state_all(self, new_states: Any) -> None:
        """Puts the streams of random numbers of all devices where they were."""
        for state in new_states:
            require(self.device_type)
            _opgrid.set_rng_state(state)

    def get_rng_state(self, device: Any = None) -> Any:
        """Where the stream of random numbers of a device is."""
        self._index(device)
        return _opgrid.get_rng_state()

    def set_rng_state(self, new_state: Any, device: Any = None) -> None:
        """Puts the stream of random numbers of a device where it was."""
        self._index(device)
        _opgrid.set_rng_state(new_state)

    def memory_allocated(self, device: Any = None) -> int:
        """The bytes that tensors take: 0, as backends keep no count that Python sees."""
        return 0

    def max_memory_allocated(self, device: Any = None) -> int:
        """The most bytes that tensors took: 0, as backends keep no count that Python sees."""
        return 0

    def memory_reserved(self, device: Any = None) -> int:
        """The bytes that are kept for tensors: 0, as backends keep no count that Python sees."""
        return 0

    def max_memory_reserved(self, device: Any = None) -> int:
        """The most bytes that were kept for tensors: 0, as backends keep no count that Python sees."""
        return 0

    def memory_stats(self, device: Any = None) -> OrderedDict[str, Any]:
        """Figures of the memory by name, none: backends keep no count that Python sees."""
        return OrderedDict()

    def mem_get_info(self, device: Any = None) -> tuple[int, int]:
        """The free bytes and all bytes of a device, which backends do not say."""
        raise DeviceError(f"mem_get_info(): {self.get_device_name(device)} does not say how much memory it has")

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        """Begins the figures of the most bytes anew."""
        self._index(device)

    def ipc_collect(self) -> None:
        """Lets go of memory that other processes no longer use."""
        require(self.device_type)

    def _index(self, device: Any) -> int:
        """The number of the device that is meant, which is there."""
        if device is None:
            return self.current_device()
        index = device if isinstance(device, int) else _opgrid.device(device).index or 0
        require(self.device_type, index)
        return index

    def _device(self, device: Any) -> Any:
        """The device that is meant, with its number."""
        return _opgrid.device(self.device_type, self._index(device))

    @contextlib.contextmanager
    def device(self, device: Any) -> Iterator[None]:
        """The device that is meant where none is named, for the length of a ``with`` block. Without a device nothing changes."""
        if device is None or not self.is_available():
            yield
            return
        before = _opgrid._set_current_device(self._device(device))
        try:
            yield
        finally:
            _opgrid._set_current_device(before)

    def stream(self, stream: Any) -> contextlib.AbstractContextManager[Any]:
        """A ``with`` block without effect, as streams are not made in Python."""
        return contextlib.nullcontext(stream)


class Stream:
    """A queue of work of a device. Streams are those of backends, in Rust and C; Python makes none."""

    def __init__(self, device: Any = None, priority: int = 0, **_options: Any) -> None:
        if device is not None and _opgrid.device(device).type != "cpu":
            require(_opgrid.device(device).type)
        raise DeviceError("Stream(): streams of devices are not made in Python; calls run in the order in which they are made")


class Event:
    """A point in the work of a device, which a stream passes. Without a device there is no stream to record."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.enable_timing = enable_timing

    def record(self, stream: Any = None) -> None:
        """Asks for the point, of a stream."""
        raise DeviceError("Event.record(): streams of devices are not made in Python; measure with `time.perf_counter`")

    def query(self) -> bool:
        """Whether the point was passed: it was where it was never asked for."""
        return True

    def synchronize(self) -> None:
        """Waits for the point."""

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds between two points."""
        raise DeviceError("Event.elapsed_time(): both events must be recorded before their times can be compared")
