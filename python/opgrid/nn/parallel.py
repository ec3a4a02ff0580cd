"""Modules on several devices, of which there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .module import Module


class DataParallel(Module):
    """Calls a module, as torch does where it has no device for parallel work; its names begin with ``module`` in state dicts."""

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)
