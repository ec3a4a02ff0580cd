"""Initial values of parameters. All functions fill their tensor in place, without recording, and return it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import opgrid as og

from .._opgrid import Generator, Tensor
from ..autograd import no_grad

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills with values from the uniform distribution over ``[a, b)``."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills with values from a normal distribution."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills with one value."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fills with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fills with zeros."""
    with no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Fills a matrix with the identity."""
    if tensor.ndim != 2:
        raise ValueError(f"eye_(): only tensors with 2 dimensions are supported, found {tensor.ndim}")
    with no_grad():
        tensor.zero_().diagonal().fill_(1)
        return tensor


def _fans(tensor: Tensor) -> tuple[int, int]:
    """The number of inputs of each output, and of outputs of each input."""
    if tensor.ndim < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions; "
            f"found shape {list(tensor.shape)}; use uniform_ or normal_ instead"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _fan(tensor: Tensor, mode: str) -> int:
    modes = ("fan_in", "fan_out")
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {list(modes)}")
    return _fans(tensor)[modes.index(mode.lower())]


_CONVOLUTIONS = [f"conv{kind}{dims}d" for kind in ("", "_transpose") for dims in (1, 2, 3)]


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor on the standard deviation that makes up for an activation function."""
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is not None and (isinstance(param, bool) or not isinstance(param, (int, float))):
            raise ValueError(f"negative_slope {param} not a valid number")
        slope = 0.01 if param is None else float(param)
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity in ("linear", "sigmoid") or nonlinearity in _CONVOLUTIONS:
        return 1.0
    known = "linear, relu, leaky_relu, tanh, sigmoid or selu"
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}; expected {known}")


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform values after Glorot and Bengio, 2010."""
    fan_in, fan_out = _fans(tensor)
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal values after Glorot and Bengio, 2010."""
    fan_in, fan_out = _fans(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform values after He et al., 2015; ``a`` is the slope of the leaky ReLU that follows."""
    if 0 in tensor.shape:
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal values after He et al., 2015; ``a`` is the slope of the leaky ReLU that follows."""
    if 0 in tensor.shape:
        return tensor
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)), generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fills with values from a normal distribution, of which those outside of ``[a, b]`` are drawn anew."""
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            f"mean is {mean}, more than 2 standard deviations outside of [{a}, {b}]; the values may be distributed otherwise",
            stacklevel=2,
        )
    inside = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    with no_grad():
        if inside > 0.3:
            return _drawn_until_inside(tensor, mean, std, a, b, generator)
        return _drawn_by_rejection(tensor, mean, std, a, b, generator)


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _drawn_until_inside(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    """Draws from the normal distribution until all values are inside, as few are outside."""
    low, high = (float(og.tensor(bound, dtype=tensor.dtype)) for bound in (a, b))
    result = tensor.normal_(mean, std, generator=generator)
    while bool((outside := (result < low) | (result > high)).any()):
        result = og.where(outside, og.empty_like(result).normal_(mean, std, generator=generator), result)
    return tensor.copy_(result)


def _drawn_by_rejection(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    """Draws from the uniform distribution and rejects by the density, relative to its maximum inside."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def rejected(values: Tensor) -> Tensor:
        density = values.sub(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        return og.empty_like(tensor).uniform_(generator=generator).log_().gt(density)

    result = tensor.uniform_(a, b, generator=generator)
    pending = rejected(result)
    while bool(pending.any()):
        values = og.empty_like(tensor).uniform_(a, b, generator=generator)
        result = og.where(pending, values, result)
        pending = og.where(pending, rejected(values), pending)
    return tensor.copy_(result)


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fills the weight of a convolution so that it keeps channels as they are, as far as there are as many."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError(f"dirac_(): only tensors with 3, 4, or 5 dimensions are supported, found {tensor.ndim}")
    outputs, inputs = tensor.shape[:2]
    if outputs % groups != 0:
        raise ValueError(f"dirac_(): the first size is {outputs}, expected a multiple of groups, which is {groups}")
    center = tuple(size // 2 for size in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(outputs // groups, inputs)):
                tensor[(group * (outputs // groups) + channel, channel, *center)] = 1
        return tensor


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fills with a matrix of orthonormal rows or columns, times ``gain``, after Saxe et al., 2013; all dimensions but the first count as one."""
    if tensor.ndim < 2:
        raise ValueError(f"orthogonal_(): only tensors with 2 or more dimensions are supported, found {tensor.ndim}")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    with no_grad():
        drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        q, r = og.linalg_qr(drawn.t() if rows < columns else drawn)
        # With the signs of the diagonal, all orthogonal matrices are as likely (Mezzadri, 2006).
        q = q * r.diagonal().sign()
        tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape))
        return tensor.mul_(gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fills a matrix with normal values, and in each column a part of ``sparsity`` with zeros, after Martens, 2010."""
    if tensor.ndim != 2:
        raise ValueError(f"sparse_(): only tensors with 2 dimensions are supported, found {tensor.ndim}")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    count = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            # The places come from the global generator, as in torch.
            tensor[og.randperm(rows)[:count], column] = 0
        return tensor


def _deprecated(fill: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function under its name without the underscore."""
    old = fill.__name__[:-1]

    def deprecated(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(f"nn.init.{old} is deprecated; use nn.init.{fill.__name__}", FutureWarning, stacklevel=2)
        return fill(*args, **kwargs)

    deprecated.__name__ = deprecated.__qualname__ = old
    deprecated.__doc__ = f"A deprecated name of `{fill.__name__}`."
    return deprecated


constant = _deprecated(constant_)
dirac = _deprecated(dirac_)
eye = _deprecated(eye_)
kaiming_normal = _deprecated(kaiming_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
normal = _deprecated(normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
uniform = _deprecated(uniform_)
xavier_normal = _deprecated(xavier_normal_)
xavier_uniform = _deprecated(xavier_uniform_)
