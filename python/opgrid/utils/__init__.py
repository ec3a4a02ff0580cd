"""What programs use beside tensors and modules."""

from __future__ import annotations

from . import checkpoint, debugging, flop_counter

__all__ = ["checkpoint", "debugging", "flop_counter"]
