"""One step of recurrent networks."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import opgrid as og

from .. import _opgrid
from .._opgrid import Tensor
from . import init
from .module import Module
from .parameter import Parameter


class RNNCellBase(Module):
    """What cells have in common. Inputs are ``(N, input_size)`` or ``(input_size,)``, states are zeros where none are given."""

    _states: ClassVar[int] = 1
    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        shapes = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size), "bias_ih": (rows,), "bias_hh": (rows,)}
        for name, shape in shapes.items():
            is_there = bias or name.startswith("weight")
            made = Parameter(og.empty(shape, device=device, dtype=dtype)) if is_there else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all parameters uniformly from ``±1 / sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    @property
    def _weights(self) -> tuple[Any, ...]:
        return (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)

    def _prepared(self, input: Tensor, given: tuple[Tensor, ...] | None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Input and states with a batch dimension."""
        for what, tensor in (("input", input), *(("hx", state) for state in given or ())):
            if tensor.dim() not in (1, 2):
                name = type(self).__name__
                raise ValueError(f"{name}: {what} has {tensor.dim()} dimensions, expected 1, or 2 with a batch")
        if input.dim() == 1:
            input = input.unsqueeze(0)
            given = None if given is None else tuple(state.unsqueeze(0) for state in given)
        if given is None:
            zeros = og.zeros((input.shape[0], self.hidden_size), dtype=input.dtype, device=input.device)
            given = (zeros,) * self._states
        return input, given

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        return text


class RNNCell(RNNCellBase):
    """``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)``, or with ``nonlinearity="relu"`` `ReLU` of that."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        cells = {"tanh": og.rnn_tanh_cell, "relu": og.rnn_relu_cell}
        if self.nonlinearity not in cells:
            raise RuntimeError(f"RNNCell: nonlinearity is {self.nonlinearity!r}, expected tanh or relu")
        steps, (state,) = self._prepared(input, None if hx is None else (hx,))
        result: Tensor = cells[self.nonlinearity](steps, state, *self._weights)
        return result if input.dim() == 2 else result.squeeze(0)

    def extra_repr(self) -> str:
        more = "" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}"
        return super().extra_repr() + more


class GRUCell(RNNCellBase):
    """A gated recurrent unit, with reset, update and new gates in each weight."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        steps, (state,) = self._prepared(input, None if hx is None else (hx,))
        result: Tensor = og.gru_cell(steps, state, *self._weights)
        return result if input.dim() == 2 else result.squeeze(0)


class LSTMCell(RNNCellBase):
    """Long short-term memory, with input, forget, cell and output gates in each weight: ``h, c = cell(input, (h, c))``."""

    _states = 2

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        steps, states = self._prepared(input, None if hx is None else tuple(hx))
        h, c = og.lstm_cell(steps, list(states), *self._weights)
        return (h, c) if input.dim() == 2 else (h.squeeze(0), c.squeeze(0))
