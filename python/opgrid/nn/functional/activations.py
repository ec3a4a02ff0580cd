"""Activation functions."""

from __future__ import annotations

import warnings

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


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the scale and the slope that keep mean and variance through layers."""
    return og.selu_(input) if inplace else og.selu(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` above zero, ``alpha * (exp(x / alpha) - 1)`` below."""
    return og.celu_(input, alpha) if inplace else og.celu(input, alpha)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``x`` above zero, ``weight * x`` below, with one slope, or one for each channel ``(N, C, …)``."""
    return og.prelu(input, weight)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``x`` above a threshold, ``value`` elsewhere."""
    return og.threshold_(input, threshold, value) if inplace else og.threshold(input, threshold, value)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Zero where ``|x|`` is at most ``lambd``, ``x`` elsewhere."""
    return og.hardshrink(input, lambd)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``x``, moved towards zero by ``lambd``."""
    return og.softshrink(input, lambd)


def softsign(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``."""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``."""
    return input - input.tanh()


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
    if min_val > max_val:
        raise ValueError(f"hardtanh(): min_val is {min_val}, expected at most max_val, which is {max_val}")
    return og.hardtanh_(input, min_val, max_val) if inplace else og.hardtanh(input, min_val, max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """A piecewise linear `sigmoid`."""
    return og.hardsigmoid_(input) if inplace else og.hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * hardsigmoid(x)``."""
    return og.hardswish_(input) if inplace else og.hardswish(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half times the `sigmoid` of the second."""
    if input.dim() == 0:
        raise RuntimeError("glu(): input has no dimensions, expected one that can be halved")
    return og.glu(input, dim)


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: og.dtype | None = None
) -> Tensor:
    """``exp(x)``, divided by its sum along a dimension."""
    return og.softmax(input, _chosen(dim, input, "softmax", _stacklevel), dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: og.dtype | None = None
) -> Tensor:
    """`softmax` of ``-x``."""
    return og.softmax(-input, _chosen(dim, input, "softmin", _stacklevel), dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: og.dtype | None = None
) -> Tensor:
    """The logarithm of `softmax`."""
    return og.log_softmax(input, _chosen(dim, input, "log_softmax", _stacklevel), dtype)


def _chosen(dim: int | None, input: Tensor, name: str, stacklevel: int) -> int:
    """The dimension, which older programs leave out."""
    if dim is not None:
        return dim
    found = 0 if input.dim() in (0, 1, 3) else 1
    warnings.warn(f"{name}(): dim is not given and taken to be {found}; say dim={found}", stacklevel=stacklevel + 1)
    return found


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """Draws from a categorical distribution, so that gradients flow: `softmax` of ``(logits + Gumbel noise) / tau``.

    With ``hard``, results are one-hot vectors with the gradients of the soft ones. ``eps`` changes nothing.
    """
    if eps != 1e-10:
        warnings.warn("gumbel_softmax(): eps is deprecated and changes nothing", stacklevel=3)
    noise = -og.empty_like(logits).exponential_().log()
    soft = og.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    places = soft.max(dim, keepdim=True)[1]
    return og.zeros_like(logits).scatter_(dim, places, 1.0) - soft.detach() + soft


# The operators that write their input.
celu_ = og.celu_
elu_ = og.elu_
hardtanh_ = og.hardtanh_
leaky_relu_ = og.leaky_relu_
relu_ = og.relu_
rrelu_ = og.rrelu_
selu_ = og.selu_
threshold_ = og.threshold_
