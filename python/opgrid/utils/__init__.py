"""What programs use beside tensors and modules."""

from __future__ import annotations

from . import checkpoint

__all__ = ["checkpoint"]
