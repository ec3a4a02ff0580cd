"""Functions that ask about tensors, devices and the package."""

from __future__ import annotations

import os
from typing import Any

from . import _opgrid

has_lapack = has_spectral = True
has_mkl = has_openmp = False


def get_device(input: Any) -> int:
    """The number of the tensor's device, -1 on the CPU."""
    return int(input.get_device())


def is_inference(input: Any) -> bool:
    """Whether the tensor comes from ``inference_mode``."""
    return bool(input.is_inference())


def is_distributed(input: Any) -> bool:
    """Whether several processes hold parts of the tensor: no."""
    return bool(input.is_distributed())


def is_vulkan_available() -> bool:
    """Whether there is a device of the kind ``vulkan``."""
    from ._devices import count

    return count("vulkan") > 0


def get_device_module(device: Any = None) -> Any:
    """The module of a kind of device, as ``opgrid.cuda``; of the accelerator, or of the CPU, where none is named."""
    import importlib

    from . import accelerator

    named = accelerator.current_accelerator() or "cpu" if device is None else device
    kind = _opgrid.device(named).type
    try:
        return importlib.import_module(f"opgrid.{kind}")
    except ImportError:
        raise RuntimeError(f"get_device_module(): there is no module of devices of the kind {kind!r}") from None


def compiled_with_cxx11_abi() -> bool:
    """Whether extensions use the strings of C++11: the interface of plugins passes none."""
    return True


def get_file_path(*path_components: str) -> str:
    """A path below the folder of the package."""
    return os.path.join(os.path.dirname(__file__), *path_components)


def prepare_multiprocessing_environment(path: str) -> None:
    """Nothing: processes need no preparation."""


def to_dlpack(tensor: Any) -> Any:
    """The tensor as a capsule of DLPack; newer programs hand the tensor itself to ``from_dlpack``."""
    return tensor.__dlpack__()


def dequantize(tensor: Any) -> Any:
    """The tensor, which is not quantized, as float32."""
    return tensor.dequantize()


def unsafe_split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> Any:
    """The tensor in parts of these sizes; see ``split``."""
    return _opgrid.function("split_with_sizes")(input, split_sizes, dim)


def spmm(input: Any, mat2: Any) -> Any:
    """The product of matrices; see ``mm``."""
    return _opgrid.function("mm")(input, mat2)


dsmm = spmm
