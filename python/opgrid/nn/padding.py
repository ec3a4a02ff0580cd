"""Padding of the last one to three dimensions, as modules."""

from __future__ import annotations

from typing import ClassVar

from .._opgrid import Tensor
from . import functional as F
from .functional.sizes import Sizes
from .module import Module


class _Pad(Module):
    """Pads both ends of the last dimensions: by one number, or by ``(left, right, top, bottom, front, back)`` as far as it goes."""

    _dims: ClassVar[int]
    _mode: ClassVar[str]

    def __init__(self, padding: Sizes) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self._dims) if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPad(_Pad):
    """Pads with the elements of the other end."""

    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (self._dims + 1, self._dims + 2):
            raise ValueError(f"expected {self._dims + 1}D or {self._dims + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class _ReflectionPad(_Pad):
    """Pads with the mirror image of the elements next to the end."""

    _mode = "reflect"


class _ReplicationPad(_Pad):
    """Pads with the element at the end."""

    _mode = "replicate"


class _ConstantPad(_Pad):
    """Pads with one value."""

    def __init__(self, padding: Sizes, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    """Pads with zeros."""

    def __init__(self, padding: Sizes) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class CircularPad1d(_CircularPad):
    """Pads ``(N, C, L)`` or ``(C, L)`` with the elements of the other end."""

    _dims = 1


class CircularPad2d(_CircularPad):
    """Pads ``(N, C, H, W)`` or ``(C, H, W)`` with the elements of the other end."""

    _dims = 2


class CircularPad3d(_CircularPad):
    """Pads ``(N, C, D, H, W)`` or ``(C, D, H, W)`` with the elements of the other end."""

    _dims = 3


class ReflectionPad1d(_ReflectionPad):
    """Pads ``(N, C, L)`` or ``(C, L)`` with the mirror image of the elements next to the end."""

    _dims = 1


class ReflectionPad2d(_ReflectionPad):
    """Pads ``(N, C, H, W)`` or ``(C, H, W)`` with the mirror image of the elements next to the end."""

    _dims = 2


class ReflectionPad3d(_ReflectionPad):
    """Pads ``(N, C, D, H, W)`` or ``(C, D, H, W)`` with the mirror image of the elements next to the end."""

    _dims = 3


class ReplicationPad1d(_ReplicationPad):
    """Pads ``(N, C, L)`` or ``(C, L)`` with the element at the end."""

    _dims = 1


class ReplicationPad2d(_ReplicationPad):
    """Pads ``(N, C, H, W)`` or ``(C, H, W)`` with the element at the end."""

    _dims = 2


class ReplicationPad3d(_ReplicationPad):
    """Pads ``(N, C, D, H, W)`` or ``(C, D, H, W)`` with the element at the end."""

    _dims = 3


class ConstantPad1d(_ConstantPad):
    """Pads the last dimension with one value."""

    _dims = 1


class ConstantPad2d(_ConstantPad):
    """Pads the last two dimensions with one value."""

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """Pads the last three dimensions with one value."""

    _dims = 3


class ZeroPad1d(_ZeroPad):
    """Pads the last dimension with zeros."""

    _dims = 1


class ZeroPad2d(_ZeroPad):
    """Pads the last two dimensions with zeros."""

    _dims = 2


class ZeroPad3d(_ZeroPad):
    """Pads the last three dimensions with zeros."""

    _dims = 3
