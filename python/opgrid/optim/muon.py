"""Muon."""

from __future__ import annotations

import math
from collections.abc import Callable

import opgrid as og

from .._opgrid import Tensor
from ._batch import Batch, Group, State, average, number
from ._settings import settings
from .optimizer import Optimizer, Parameters

_RATIOS: dict[str, Callable[[int, int], float]] = {
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
    "spectral_unclamped": lambda rows, columns: math.sqrt(rows / columns),
}
"""What the learning rate of a matrix is multiplied by."""


class Muon(Optimizer):
    """Steps along the orthogonal matrix nearest to the momentum, after Jordan, 2024; for matrices.

    ``ns_steps`` iterations after Newton and Schulz with the polynomial of ``ns_coefficients`` approximate it, in bfloat16.
    ``adjust_lr_fn`` says how the rate depends on the shape: ``"original"``, ``"match_rms_adamw"`` or ``"spectral_unclamped"``.
    """

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        super().__init__(params, settings(locals()))

    def _check_settings(self, group: Group) -> None:
        for name, text in (("lr", "Learning rate"), ("momentum", "momentum"), ("weight_decay", "weight decay")):
            if group[name] < 0:
                raise ValueError(f"{text} should be >= 0 but is: {group[name]}")
        if group["adjust_lr_fn"] not in (None, *_RATIOS):
            raise ValueError(
                f"Adjust learning rate function {group['adjust_lr_fn']} is not supported; expected {', '.join(_RATIOS)}"
            )
        if group["ns_steps"] >= 100:
            raise ValueError(f"ns_steps must be less than 100, found {group['ns_steps']}")
        if len(group["ns_coefficients"]) != 3:
            raise ValueError(f"ns_coefficients must be a tuple of exactly 3 values, found {len(group['ns_coefficients'])}")
        for parameter in group["params"]:
            if parameter.ndim != 2:
                raise ValueError(
                    f"Muon only supports 2D parameters whereas we found a parameter with size: {tuple(parameter.shape)}; "
                    "give others to AdamW"
                )

    def _initial(self, parameter: Tensor, grad: Tensor, group: Group) -> State:
        if parameter.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        return {"momentum_buffer": og.zeros_like(grad)}

    def _update(self, batch: Batch, group: Group) -> None:
        rate, momentum = number(group["lr"]), group["momentum"]
        buffers = batch.state("momentum_buffer")
        average(buffers, batch.grads, momentum)
        steps = og.ops.aten._foreach_lerp(batch.grads, buffers, momentum) if group["nesterov"] else buffers
        batch.shrink(group["weight_decay"])
        ratio = _RATIOS[group["adjust_lr_fn"] or "original"]
        for parameter, step in zip(batch.parameters, steps, strict=True):
            step = _orthogonal(step, group["ns_coefficients"], group["ns_steps"], group["eps"])
            parameter.add_(step, alpha=-rate * ratio(*parameter.shape))


def _orthogonal(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """The matrix with singular values near one, in bfloat16.

    Each iteration applies ``a x + b x^3 + c x^5`` to the singular values, which begin at most one.
    """
    a, b, c = coefficients
    is_tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.to(og.bfloat16, copy=True)
    x = x.T if is_tall else x
    for _ in range(2):
        # The second time, since the norm of the first quotient can round to more than one.
        x.div_(x.norm().clamp(min=eps))
    for _ in range(steps):
        square = x @ x.T
        x = og.addmm(x, og.addmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x.T if is_tall else x
