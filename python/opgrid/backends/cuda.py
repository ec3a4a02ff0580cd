"""How devices of the kind ``cuda`` multiply and attend. The settings are kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = [
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_linalg_library",
    "sdp_kernel",
]


class _Products:
    """How matrices are multiplied there."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False


matmul = _Products()
_ways = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built() -> bool:
    """Whether the package has kernels for these devices: no."""
    return False


def is_flash_attention_available() -> bool:
    """Whether there is a kernel for attention on these devices: no."""
    return False


def preferred_linalg_library(backend: Any = None) -> str:
    """The library that linear algebra uses there: the default one."""
    return "default"


def flash_sdp_enabled() -> bool:
    """Whether attention may be computed block by block."""
    return _ways["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Sets what :func:`flash_sdp_enabled` says."""
    _ways["flash"] = enabled


def mem_efficient_sdp_enabled() -> bool:
    """Whether attention may be computed with little memory."""
    return _ways["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Sets what :func:`mem_efficient_sdp_enabled` says."""
    _ways["mem_efficient"] = enabled


def math_sdp_enabled() -> bool:
    """Whether attention may be computed by products and a softmax."""
    return _ways["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Sets what :func:`math_sdp_enabled` says."""
    _ways["math"] = enabled


def cudnn_sdp_enabled() -> bool:
    """Whether attention may be computed by cuDNN."""
    return _ways["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Sets what :func:`cudnn_sdp_enabled` says."""
    _ways["cudnn"] = enabled


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """Which ways of computing attention are allowed, for the length of a ``with`` block."""
    before = dict(_ways)
    _ways.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _ways.update(before)
