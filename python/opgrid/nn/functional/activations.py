"""Activation functions."""

from __future__ import annotations

import opgrid as og

from ..._opgrid import Tensor


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(x, 0)``."""
    return og.relu_(input) if inplace else og.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(x, 0), 6)``."""
    return og.relu6_(input) if inplace else og.relu6(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``x`` above zero, ``negative_slope * x`` below."""
    return og.leaky_relu_(input, negative_slope) if inplace else og.leaky_relu(input, negative_slope)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """``x`` above zero, ``a * x`` below, with a random ``a`` between two bounds for each element, or their mean when not training."""
    return og.rrelu_(input, lower, upper, training) if inplace else og.rrelu(input, lower, upper, training)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` above zero, ``alpha * (exp(x) - 1)`` below."""
    return og.elu_(input, alpha) if inplace else og.elu(input, alpha)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """``x`` times the cumulative normal distribution, approximated by tanh with ``approximate="tanh"``."""
    return og.gelu(input, approximate=approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``."""
    return og.silu_(input) if inplace else og.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))``."""
    return og.mish_(input) if inplace else og.mish(input)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return og.tanh(input)


def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))``."""
    return og.sigmoid(input)


def logsigmoid(input: Tensor) -> Tensor:
    """The logarithm of `sigmoid`."""
    return og.log_sigmoid(input)


def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``."""
    return og.softplus(input, beta, threshold)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``x``, clamped between two bounds."""
    return og.hardtanh_(input, min_val, max_val) if inplace else og.hardtanh(input, min_val, max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """A piecewise linear `sigmoid`."""
    return og.hardsigmoid_(input) if inplace else og.hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * hardsigmoid(x)``."""
    return og.hardswish_(input) if inplace else og.hardswish(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half times the `sigmoid` of the second."""
    return og.glu(input, dim)


def softmax(input: Tensor, dim: int, *, dtype: og.dtype | None = None) -> Tensor:
    """``exp(x)``, divided by its sum along a dimension."""
    return og.softmax(input, dim, dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: og.dtype | None = None) -> Tensor:
    """The logarithm of `softmax`."""
    return og.log_softmax(input, dim, dtype)
