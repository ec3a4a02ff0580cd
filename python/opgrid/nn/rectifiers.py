"""Activation functions that leave positive numbers as they are, or nearly so, as modules."""

from __future__ import annotations

import warnings

import opgrid as og

from .. import _opgrid
from .._opgrid import Tensor
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


class _InPlace(Module):
    """A function that can write its input in place."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def _settings(self) -> str:
        """What ``repr`` shows before ``inplace``."""
        return ""

    def extra_repr(self) -> str:
        parts = [self._settings(), "inplace=True" if self.inplace else ""]
        return ", ".join(part for part in parts if part)


class ReLU(_InPlace):
    """``max(x, 0)``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class SiLU(_InPlace):
    """``x * sigmoid(x)``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_InPlace):
    """``x * tanh(softplus(x))``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class SELU(_InPlace):
    """`ELU` with the scale and the slope that keep mean and variance through layers."""

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class Hardswish(_InPlace):
    """``x`` times a piecewise linear sigmoid."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardsigmoid(_InPlace):
    """A piecewise linear sigmoid."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class LeakyReLU(_InPlace):
    """``x`` above zero, ``negative_slope * x`` below."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def _settings(self) -> str:
        return f"negative_slope={self.negative_slope}"


class RReLU(_InPlace):
    """``x`` above zero, ``a * x`` below, with a random ``a`` between two bounds for each element, or their mean when not training."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def _settings(self) -> str:
        return f"lower={self.lower}, upper={self.upper}"


class _Exponential(_InPlace):
    """A function that approaches ``-alpha`` exponentially."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def _settings(self) -> str:
        return f"alpha={self.alpha}"


class ELU(_Exponential):
    """``x`` above zero, ``alpha * (exp(x) - 1)`` below."""

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Exponential):
    """``x`` above zero, ``alpha * (exp(x / alpha) - 1)`` below."""

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class Threshold(_InPlace):
    """``x`` above a threshold, ``value`` elsewhere."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def _settings(self) -> str:
        return f"threshold={self.threshold}, value={self.value}"


class Hardtanh(_InPlace):
    """``x``, clamped between two bounds. ``min_value`` and ``max_value`` are their deprecated names."""

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        for old, new, value in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if value is not None:
                warnings.warn(f"{old} is deprecated; use {new} instead", FutureWarning, stacklevel=2)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        if self.max_val <= self.min_val:
            # torch raises an assertion here.
            raise AssertionError(f"Hardtanh: min_val is {self.min_val}, expected less than max_val, which is {self.max_val}")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def _settings(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"


class ReLU6(Hardtanh):
    """``min(max(x, 0), 6)``."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.relu6(input, self.inplace)

    def _settings(self) -> str:
        return ""


class PReLU(Module):
    """``x`` above zero, ``weight * x`` below, with one slope to learn, or one for each channel ``(N, C, …)``."""

    weight: Parameter

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(og.empty((num_parameters,), device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets all slopes to ``init``."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class GELU(Module):
    """``x`` times the cumulative normal distribution, approximated by tanh with ``approximate="tanh"``."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"
