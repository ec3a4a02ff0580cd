"""Memory of tensors."""

from __future__ import annotations

from ._storage import TypedStorage
from ._opgrid import Storage as UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
