"""The kind of device that programs use beside the CPU: the first of which a backend that is loaded has a device."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from . import _opgrid
from ._devices import DeviceKind
from .errors import DeviceError

_KINDS = ("cuda", "xpu", "mps", "mtia", "hpu", "privateuseone")


def _kind() -> DeviceKind | None:
    kinds = (DeviceKind(device_type) for device_type in _KINDS)
    return next((kind for kind in kinds if kind.is_available()), None)


def _expected() -> DeviceKind:
    kind = _kind()
    if kind is None:
        raise DeviceError("no accelerator is there: no backend that is loaded has a device; use 'cpu'")
    return kind


def is_available() -> bool:
    """Whether there is a device beside the CPU."""
    return _kind() is not None


def device_count() -> int:
    """How many of them there are."""
    kind = _kind()
    return 0 if kind is None else kind.device_count()


def current_accelerator(check_available: bool = False) -> Any:
    """The kind of device, without a number; ``None`` where there is none."""
    kind = _kind()
    return None if kind is None else _opgrid.device(kind.device_type)


def current_device_index() -> int:
    """The number of the device that is meant where none is named."""
    return _expected().current_device()


def set_device_index(device: Any, /) -> None:
    """Checks that the device is there; see ``cuda.set_device``."""
    _expected().set_device(device)


def synchronize(device: Any = None, /) -> None:
    """Waits until a device is done."""
    _expected().synchronize(device)


def empty_cache() -> None:
    """Gives memory back that is kept for new tensors, where a device keeps any."""
    _expected().empty_cache()


def memory_allocated(device_index: Any = None, /) -> int:
    """The bytes that tensors take: 0, as backends keep no count that Python sees."""
    return _expected().memory_allocated(device_index)


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def memory_stats(device_index: Any = None, /) -> OrderedDict[str, Any]:
    """Figures of the memory by name: none."""
    return _expected().memory_stats(device_index)


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Begins the figures of the most bytes anew."""
    _expected().reset_peak_memory_stats(device_index)
