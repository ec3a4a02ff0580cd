"""What programs use beside tensors and modules."""

from __future__ import annotations

import importlib
from typing import Any

from . import _pytree, checkpoint, debugging, fake_tensor, flop_counter, memory_timeline

__all__ = ["_pytree", "checkpoint", "data", "debugging", "fake_tensor", "flop_counter", "memory_timeline"]


def __getattr__(name: str) -> Any:
    # They take longer to import than the rest of the package, or are rarely asked for.
    if name in ("_python_dispatch", "data"):
        return importlib.import_module(f"{__name__}.data")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
