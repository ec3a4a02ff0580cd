"""Modules without initial values, and weights in other memory formats."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

import opgrid as og

from ..conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..module import Module

_M = TypeVar("_M", bound=Module)


def skip_init(module_cls: type[_M], *args: Any, **kwargs: Any) -> _M:
    """Makes a module without setting or drawing initial values: parameters have the elements that their memory had."""
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"skip_init(): expected a class of modules, found {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(f"skip_init(): {module_cls.__name__} takes no device, expected a module that can be made on meta")
    device = kwargs.pop("device", None)
    # What is not named goes to the device that new tensors have.
    where = og.empty(0).device if device is None else device
    return module_cls(*args, **{**kwargs, "device": "meta"}).to_empty(device=where)


def _converted(module: _M, kinds: tuple[type[Module], ...], memory_format: og.memory_format) -> _M:
    for part in module.modules():
        if isinstance(part, kinds):
            weight: Any = part.weight
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: _M, memory_format: og.memory_format) -> _M:
    """Converts the weights of all convolutions over two dimensions to a memory format."""
    return _converted(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: _M, memory_format: og.memory_format) -> _M:
    """Converts the weights of all convolutions over three dimensions to a memory format."""
    return _converted(module, (Conv3d, ConvTranspose3d), memory_format)
