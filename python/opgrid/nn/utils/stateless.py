"""Calls of modules with other parameters; an older name of `opgrid.func.functional_call`."""

from __future__ import annotations

import warnings
from typing import Any

from ..module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Deprecated in favor of `opgrid.func.functional_call`: calls a module with other parameters and buffers."""
    from ...func import functional_call

    warnings.warn("nn.utils.stateless.functional_call is deprecated; use func.functional_call", FutureWarning, stacklevel=2)
    return functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
