"""What this version of the package is, and what it was built with."""

from __future__ import annotations

from . import _opgrid

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

__version__: str = _opgrid.__version__
debug = False
git_version: str | None = None
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
