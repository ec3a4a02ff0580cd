"""Clipping gradients."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import opgrid as og

from ..._opgrid import Tensor, TensorBase
from ...autograd import no_grad

Tensors = Tensor | Iterable[Tensor]


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, TensorBase) else list(tensors)  # type: ignore[list-item]


def _grads(parameters: Tensors) -> list[Tensor]:
    return [parameter.grad for parameter in _listed(parameters) if parameter.grad is not None]


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all elements of several tensors. ``foreach`` changes nothing."""
    listed = _listed(tensors)
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


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scales gradients in place so that a total norm, which is given, becomes at most ``max_norm``. ``foreach`` changes nothing."""
    grads = _grads(parameters)
    with no_grad():
        # Always multiplied, if only by one: a comparison would wait for the device.
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp_max(1.0)
        if grads:
            og.ops.aten._foreach_mul_.Tensor(grads, factor)


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales gradients in place so that their total norm is at most ``max_norm``; returns the norm before."""
    listed = _listed(parameters)
    with no_grad():
        total = get_total_norm(_grads(listed), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(listed, max_norm, total)
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """A deprecated name of `clip_grad_norm_`."""
    warnings.warn("nn.utils.clip_grad_norm is deprecated; use nn.utils.clip_grad_norm_", FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clamps gradients in place to ``±clip_value``. ``foreach`` changes nothing."""
    value = float(clip_value)
    with no_grad():
        grads = _grads(parameters)
        if grads:
            og.ops.aten._foreach_clamp_min_(grads, -value)
            og.ops.aten._foreach_clamp_max_(grads, value)
