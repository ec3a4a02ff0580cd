"""The device and dtype that ``Module.to`` is asked for."""

from __future__ import annotations

from typing import Any

from .. import _opgrid
from .._opgrid import TensorBase


def target_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The device and the dtype that the arguments of ``Module.to`` ask for."""
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    for name in kwargs:
        if name not in ("non_blocking", "copy"):
            raise TypeError(f"to() got an unexpected keyword argument '{name}'")
    for given in args:
        if isinstance(given, TensorBase):
            device, dtype = given.device, given.dtype
        elif isinstance(given, _opgrid.dtype):
            dtype = given
        elif isinstance(given, (str, _opgrid.device)):
            device = given
        elif given is not None and not isinstance(given, bool):
            raise TypeError(f"to(): expected a device, a dtype or a tensor, found {type(given).__name__}")
    if dtype is not None and not dtype.is_floating_point:
        raise TypeError(f"to(): modules take floating-point dtypes only, found {dtype}")
    return device, dtype
