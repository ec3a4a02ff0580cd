"""Settings of optimizers, and what they may be."""

from __future__ import annotations

from typing import Any

from .._opgrid import TensorBase
from ._batch import Group


def settings(local_names: dict[str, Any]) -> Group:
    """The arguments of a constructor, out of ``locals()``, except those that are no settings."""
    return {name: value for name, value in local_names.items() if name not in ("self", "params", "__class__")}


def require(holds: bool, name: str, value: Any, expected: str) -> None:
    """Raises ``ValueError`` for a setting that is out of range."""
    if not holds:
        raise ValueError(f"Invalid {name}: {value}; expected {expected}")


def require_not_negative(group: Group, **names: str) -> None:
    """Raises for a setting below zero. Keywords are settings, and what messages call them."""
    for setting, name in names.items():
        require(group[setting] >= 0, name, group[setting], "zero or more")


def require_learning_rate(group: Group) -> None:
    """Raises for a learning rate that is negative, or a tensor of several elements."""
    rate = group["lr"]
    if isinstance(rate, TensorBase) and rate.numel() != 1:
        raise ValueError(f"Tensor lr must be 1-element, found shape {tuple(rate.shape)}")
    require_not_negative(group, lr="learning rate")


def require_betas(group: Group) -> None:
    """Raises for rates of running averages that are not in ``[0, 1)``."""
    for place, beta in enumerate(group["betas"]):
        require(0 <= beta < 1, f"beta parameter at index {place}", beta, "zero or more and less than one")


def require_one_implementation(group: Group) -> None:
    """Raises for settings that ask for a fused step and for another kind of step at once."""
    if group["fused"] and group["differentiable"]:
        raise RuntimeError("`fused` does not support `differentiable`; set one of them")
    if group["fused"] and group["foreach"]:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together; set one of them")


def require_runnable(group: Group, parameter: Any) -> None:
    """Raises before a step for an implementation that the parameter's device or dtype does not have."""
    if group.get("fused") and not parameter.is_floating_point():
        raise RuntimeError(f"`fused=True` requires all the params to be floating point Tensors, found {parameter.dtype}")
    if group.get("capturable") and not group.get("fused") and parameter.device.type == "cpu":
        raise AssertionError("If capturable=True, params and state_steps must be on an accelerator, found cpu; leave it False")
