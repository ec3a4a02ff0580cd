"""Devices of the kind ``mps``."""

from __future__ import annotations

from ..mps import is_available

__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_built() -> bool:
    """Whether the package has kernels for these devices: no."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether this is that version of macOS: it is Linux."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether this is macOS 13: it is Linux."""
    return False
