"""Mixed precision on devices of the kind ``cuda``, from before ``opgrid.amp`` took the kind."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _opgrid
from .. import amp as _amp

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(_amp.autocast):
    """``amp.autocast("cuda", ...)``."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", enabled=enabled, dtype=dtype or getattr(_opgrid, "float16"), cache_enabled=cache_enabled)


class GradScaler(_amp.GradScaler):
    """``amp.GradScaler("cuda", ...)``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("cuda", *args, **kwargs)


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: Any = None) -> Any:
    """``amp.custom_fwd(..., device_type="cuda")``."""
    return _amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


custom_bwd = functools.partial(_amp.custom_bwd, device_type="cuda")
