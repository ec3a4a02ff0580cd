"""What programs take from torch's module in C: switches, and the answer of classes that leave functions alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._opgrid import below_autograd as _AutoDispatchBelowAutograd
from .overrides import DisableTorchFunction, DisableTorchFunctionSubclass

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "_AutoDispatchBelowAutograd", "_disabled_torch_function_impl"]


def _disabled_torch_function_impl(
    func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    """Calls the function and asks no class: the ``__torch_function__`` of classes that see operators only."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))
