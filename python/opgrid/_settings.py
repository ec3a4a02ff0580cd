"""Settings of the process that programs make before they begin: determinism, precision, warnings, threads, anomalies, autocasting.

Operators give the same results each time and compute float32 in float32, so most of these are only kept, for programs and
backends that ask for them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from . import _opgrid

_MODES = {"default": 0, "warn": 1, "error": 2}
_PRECISIONS = ("highest", "high", "medium")

_deterministic_mode = 0
_matmul_precision = "highest"
_warns_always = False
_interop_threads: int | None = None
_checks_nan = True


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Asks for operators whose results are the same each time, which those of the CPU are."""
    set_deterministic_debug_mode(0 if not mode else 1 if warn_only else 2)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether :func:`use_deterministic_algorithms` is on."""
    return _deterministic_mode > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether operators that are not deterministic are to warn instead of failing."""
    return _deterministic_mode == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Sets what operators that are not deterministic are to do: nothing (0, ``"default"``), warn (1, ``"warn"``) or fail (2,
    ``"error"``)."""
    global _deterministic_mode
    number = _MODES.get(debug_mode) if isinstance(debug_mode, str) else debug_mode
    if not isinstance(number, int):
        if isinstance(debug_mode, str):
            raise RuntimeError(f"set_deterministic_debug_mode(): found {debug_mode!r}, expected one of {', '.join(map(repr, _MODES))}")
        raise TypeError(f"set_deterministic_debug_mode(): expected a str or an int, found {type(debug_mode).__name__}")
    if number not in _MODES.values():
        raise RuntimeError(f"set_deterministic_debug_mode(): found {number}, expected 0, 1 or 2")
    _deterministic_mode = int(number)


def get_deterministic_debug_mode() -> int:
    """What operators that are not deterministic are to do, as :func:`set_deterministic_debug_mode` takes it."""
    return _deterministic_mode


def set_float32_matmul_precision(precision: str) -> None:
    """Sets how precise products of float32 matrices have to be: ``"highest"``, ``"high"`` or ``"medium"``. The CPU computes them in
    float32 in any case."""
    global _matmul_precision
    if precision not in _PRECISIONS:
        warnings.warn(f"set_float32_matmul_precision(): found {precision!r}, expected one of {_PRECISIONS}; nothing is set", stacklevel=2)
        return
    _matmul_precision = precision


def get_float32_matmul_precision() -> str:
    """How precise products of float32 matrices have to be."""
    return _matmul_precision


def set_flush_denormal(mode: bool) -> bool:
    """Whether numbers below the normal ones could be made zero: never, operators keep them."""
    return not mode


def set_warn_always(b: bool, /) -> None:
    """Sets whether warnings that are given once are given each time."""
    global _warns_always
    if not isinstance(b, bool):
        raise RuntimeError(f"set_warn_always(): expected a bool, found {type(b).__name__}")
    _warns_always = b


def is_warn_always_enabled() -> bool:
    """Whether warnings that are given once are given each time."""
    return _warns_always


def get_num_interop_threads() -> int:
    """How many calls may run beside each other within one operator's caller, which is kept for programs that ask."""
    return _interop_threads or _opgrid.get_num_threads()


def set_num_interop_threads(int: int, /) -> None:
    """Sets what :func:`get_num_interop_threads` gives; calls run on the thread that makes them."""
    global _interop_threads
    if int <= 0:
        raise RuntimeError(f"set_num_interop_threads(): found {int}, expected a positive number")
    _interop_threads = int


def init_num_threads() -> None:
    """Sees to it that threads are counted, which they are."""


def is_anomaly_enabled() -> bool:
    """Whether calls are recorded with the places where they were made; see ``autograd.detect_anomaly``."""
    before = bool(_opgrid._set_anomaly_enabled(False))
    _opgrid._set_anomaly_enabled(before)
    return before


def is_anomaly_check_nan_enabled() -> bool:
    """Whether gradients that are NaN are refused where anomalies are looked for."""
    return _checks_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Looks for anomalies in gradients, or no longer."""
    global _checks_nan
    _checks_nan = check_nan
    _opgrid._set_anomaly_enabled(enabled and check_nan)


def is_inference_mode_enabled() -> bool:
    """Whether this thread is within ``inference_mode``: new tensors take part in no gradients there."""
    included, _ = _opgrid.local_keys()
    return not included.has("ADInplaceOrView")


def _legacy_autocast(kind: str, device_type: str) -> dict[str, Callable[..., Any]]:
    """The functions of autocasting for one kind of device, which have its name in theirs."""

    def is_enabled() -> bool:
        return _opgrid.is_autocast_enabled(device_type)

    def set_enabled(enabled: bool, /) -> None:
        _opgrid.set_autocast_enabled(device_type, enabled)

    def get_dtype() -> Any:
        return _opgrid.get_autocast_dtype(device_type)

    def set_dtype(dtype: Any, /) -> None:
        _opgrid.set_autocast_dtype(device_type, dtype)

    functions: dict[str, tuple[Any, str]] = {
        f"is_autocast_{kind}_enabled": (is_enabled, "Whether autocasting is on for"),
        f"set_autocast_{kind}_enabled": (set_enabled, "Switches autocasting for"),
        f"get_autocast_{kind}_dtype": (get_dtype, "The dtype of autocasting for"),
        f"set_autocast_{kind}_dtype": (set_dtype, "Sets the dtype of autocasting for"),
    }
    for name, (function, text) in functions.items():
        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"{text} devices of the kind {device_type!r}."
    return {name: function for name, (function, _) in functions.items()}


LEGACY_AUTOCAST = {
    name: function
    for kind, device_type in {"cpu": "cpu", "gpu": "cuda", "ipu": "ipu", "xla": "xla"}.items()
    for name, function in _legacy_autocast(kind, device_type).items()
    if name not in ("is_autocast_gpu_enabled", "set_autocast_gpu_enabled")
}
"""The functions of autocasting from before those that take the kind of device, by their names."""
globals().update(LEGACY_AUTOCAST)
