"""Types for annotations."""

from __future__ import annotations

import os
from typing import IO, Any, TypeAlias

from ._opgrid import DispatchKey as DispatchKey
from ._opgrid import Storage as Storage
from ._opgrid import Tensor, device, dtype, layout
from ._size import Size

Number: TypeAlias = int | float | bool
Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]

_TensorOrTensors: TypeAlias = Tensor | tuple[Tensor, ...]
_dtype, _device, _layout, _size = dtype, device, layout, Size | list[int] | tuple[int, ...]
_int, _float, _bool = int, float, bool

__all__ = ["Any", "Device", "FileLike", "Number", "Size", "Storage", "Tensor", "device", "dtype", "layout"]
