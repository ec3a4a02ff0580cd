"""Whether kernels may replace others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

_strict: ContextVar[bool] = ContextVar("opgrid_strict", default=False)


def may_replace() -> bool:
    """Whether a kernel for a cell that has one replaces it, with a warning."""
    return not _strict.get()


@contextlib.contextmanager
def strict() -> Iterator[None]:
    """Makes it an error that a kernel replaces another one, for the length of a block."""
    token = _strict.set(True)
    try:
        yield
    finally:
        _strict.reset(token)
