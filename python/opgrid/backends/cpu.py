"""What the processor can do."""

from __future__ import annotations

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """The widest vector instructions of the processor that kernels are compiled for: ``"AVX512"``, ``"AVX2"`` or ``"DEFAULT"``."""
    try:
        with open("/proc/cpuinfo") as file:
            flags = next((line.split() for line in file if line.startswith("flags")), [])
    except OSError:
        return "DEFAULT"
    return "AVX512" if "avx512f" in flags else "AVX2" if "avx2" in flags and "fma" in flags else "DEFAULT"
