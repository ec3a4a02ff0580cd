"""oneDNN, which is not used. Its settings are kept."""

from __future__ import annotations

import contextlib

from . import _flags

__all__ = ["allow_tf32", "deterministic", "enabled", "flags", "is_available"]

enabled = True
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether oneDNN is used: no."""
    return False


def flags(
    enabled: bool | None = False, deterministic: bool | None = False, allow_tf32: bool | None = True
) -> contextlib.AbstractContextManager[None]:
    """Other settings for the length of a ``with`` block."""
    return _flags.override(__name__, enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32)
