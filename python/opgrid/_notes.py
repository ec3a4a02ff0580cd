"""Warnings that a process gives once."""

from __future__ import annotations

import warnings

_given: set[str] = set()


def note(text: str, category: type[Warning] = UserWarning, stacklevel: int = 3) -> None:
    """Warns, the first time that this text is given; each time with ``set_warn_always``."""
    from . import _settings

    if text in _given and not _settings.is_warn_always_enabled():
        return
    _given.add(text)
    warnings.warn(text, category, stacklevel=stacklevel)
