"""What programs use beside tensors and modules."""

from __future__ import annotations

from . import _pytree, checkpoint, debugging, fake_tensor, flop_counter, memory_timeline

__all__ = ["_pytree", "checkpoint", "debugging", "fake_tensor", "flop_counter", "memory_timeline"]
