"""Where the package runs: refuses other places with a reason, before anything else is imported."""

from __future__ import annotations

import sys


def check(platform: str = sys.platform, abiflags: str = getattr(sys, "abiflags", "")) -> None:
    """Raises ``ImportError`` where the package cannot work: on Windows, and in interpreters without a global lock."""
    if platform == "win32":
        raise ImportError("opgrid does not run on Windows; use the Windows Subsystem for Linux, or Linux on x86-64")
    if "t" in abiflags:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise ImportError(
            f"opgrid relies on the global interpreter lock, and this Python {version} is a free-threaded build; use one with the lock, "
            f"such as python{version} instead of python{version}t"
        )


check()
