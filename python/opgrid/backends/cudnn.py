"""cuDNN, which is not there. Its settings are kept: ``cudnn.deterministic = True``."""

from __future__ import annotations

import contextlib
from typing import Any

from . import _flags

__all__ = ["allow_tf32", "benchmark", "benchmark_limit", "deterministic", "enabled", "flags", "is_acceptable", "is_available", "version"]

enabled = True
benchmark = False
benchmark_limit: int | None = 10
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether there is cuDNN: no."""
    return False


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN takes a tensor: no."""
    return False


def version() -> int | None:
    """The version of cuDNN: none."""
    return None


def flags(
    enabled: bool | None = False,
    benchmark: bool | None = False,
    benchmark_limit: int | None = 10,
    deterministic: bool | None = False,
    allow_tf32: bool | None = True,
) -> contextlib.AbstractContextManager[None]:
    """Other settings for the length of a ``with`` block."""
    return _flags.override(
        __name__,
        enabled=enabled,
        benchmark=benchmark,
        benchmark_limit=benchmark_limit,
        deterministic=deterministic,
        allow_tf32=allow_tf32,
    )
