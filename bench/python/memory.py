"""How much memory a process takes while it does something, as Linux counts it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def kibibytes(entry: str) -> int:
    """What the system says of this process's memory."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(entry))


def growth(call: Callable[[], Any], times: int) -> int:
    """Bytes in use at most in so many calls, beyond those before."""
    # From here on the highest mark counts anew.
    Path("/proc/self/clear_refs").write_text("5")
    before = kibibytes("VmRSS:")
    for _ in range(times):
        call()
    return 1024 * (kibibytes("VmHWM:") - before)
