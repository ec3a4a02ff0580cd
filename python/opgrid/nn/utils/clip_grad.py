"""Clipping gradients."""

from __future__ import annotations

from collections.abc import Iterable

import opgrid as og

from ..._opgrid import Tensor, TensorBase
from ...autograd import no_grad


def _grads(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    listed = [parameters] if isinstance(parameters, TensorBase) else parameters
    return [parameter.grad for parameter in listed if parameter.grad is not None]


def get_total_norm(tensors: Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Tensor:
    """The norm of all elements of several tensors."""
    listed = list(tensors)
    if not listed:
        return og.tensor(0.0)
    norms = og.ops.aten._foreach_norm(listed, norm_type)
    total = og.linalg_vector_norm(og.stack(norms), norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite ({float(total)}), "
            "so it cannot be clipped; set error_if_nonfinite=False to continue anyway"
        )
    return total


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scales gradients in place so that their total norm is at most ``max_norm``; returns the norm before."""
    grads = _grads(parameters)
    with no_grad():
        total = get_total_norm(grads, norm_type, error_if_nonfinite)
        # Always multiplied, if only by one: a comparison would wait for the device.
        factor = (max_norm / (total + 1e-6)).clamp_max(1.0)
        if grads:
            og.ops.aten._foreach_mul_.Tensor(grads, factor)
    return total


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Clamps gradients in place to ``±clip_value``."""
    with no_grad():
        grads = _grads(parameters)
        if grads:
            og.ops.aten._foreach_clamp_min_(grads, -clip_value)
            og.ops.aten._foreach_clamp_max_(grads, clip_value)
