"""Several processes that share work: not available, which programs ask before they use it."""

from __future__ import annotations

from typing import Any, NoReturn

from .errors import NotSupportedError

__all__ = [
    "barrier",
    "destroy_process_group",
    "get_rank",
    "get_world_size",
    "init_process_group",
    "is_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
]


def is_available() -> bool:
    """Whether processes can share work: no."""
    return False


is_initialized = is_nccl_available = is_gloo_available = is_mpi_available = is_available


def _no_group(*_args: Any, **_kwargs: Any) -> NoReturn:
    raise ValueError("no process group was made: `opgrid.distributed` is not available; ask `is_initialized()` first")


get_rank = get_world_size = barrier = destroy_process_group = _no_group


def init_process_group(*_args: Any, **_kwargs: Any) -> NoReturn:
    """Refused: processes do not share work."""
    raise NotSupportedError("init_process_group(): processes do not share work; leave it out where `is_available()` is false")
