"""Recurrent networks over sequences, which may be packed."""

from __future__ import annotations

import math
import warnings
from typing import Any

import opgrid as og

from .. import _opgrid
from .._opgrid import Tensor
from . import init
from .module import Module
from .parameter import Parameter
from .utils.rnn import PackedSequence, _runs

_MODES = {"LSTM": ("lstm", 4), "GRU": ("gru", 3), "RNN_TANH": ("rnn_tanh", 1), "RNN_RELU": ("rnn_relu", 1)}
"""Each mode's operator, and how many matrices it has in one."""


class RNNBase(Module):
    """What recurrent networks have in common: ``num_layers`` layers, each in one or two directions.

    Inputs are ``(L, N, input_size)``, with ``batch_first`` ``(N, L, input_size)``, without a batch ``(L, input_size)``, or a
    `PackedSequence`. States are ``(num_layers * directions, N, hidden_size)``, and zeros where none are given. ``dropout``
    is between layers, when training.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = dropout
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_settings()
        self.dropout = float(dropout)
        gates, width = _MODES[mode][1] * hidden_size, proj_size or hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            received = input_size if layer == 0 else width * self._directions
            for suffix in ("", "_reverse")[: self._directions]:
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, received), "weight_hh": (gates, width)}
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    setattr(self, f"{name}_l{layer}{suffix}", Parameter(og.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append([f"{name}_l{layer}{suffix}" for name in shapes])
        self.reset_parameters()

    def _check_settings(self) -> None:
        name = type(self).__name__
        if self.mode not in _MODES:
            raise ValueError(f"{name}: mode is {self.mode!r}, expected one of {', '.join(_MODES)}")
        if isinstance(self.dropout, bool) or not isinstance(self.dropout, (int, float)) or not 0 <= self.dropout <= 1:
            raise ValueError(f"{name}: dropout is {self.dropout!r}, expected a probability between 0 and 1")
        if self.dropout > 0 and self.num_layers == 1:
            warnings.warn(
                f"dropout is between layers, and num_layers={self.num_layers} has none between; found dropout={self.dropout}",
                stacklevel=4,
            )
        for setting, kind in (("bias", bool), ("batch_first", bool), ("input_size", int), ("hidden_size", int)):
            value = getattr(self, setting)
            if not isinstance(value, kind):
                raise TypeError(f"{name}: {setting} is of class {type(value).__name__}, expected {kind.__name__}")
        for setting in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, setting) <= 0:
                raise ValueError(f"{name}: {setting} is {getattr(self, setting)}, expected a number above zero")
        if not 0 <= self.proj_size < self.hidden_size:
            raise ValueError(
                f"{name}: proj_size is {self.proj_size}, expected zero, or less than hidden_size, which is {self.hidden_size}"
            )

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each direction of each layer."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self) -> list[Parameter]:
        return [weight for weights in self.all_weights for weight in weights]

    def flatten_parameters(self) -> None:
        """Does nothing: parameters need not lie in one block of memory."""

    def reset_parameters(self) -> None:
        """Draws all parameters uniformly from ``±1 / sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _state_widths(self) -> tuple[int, ...]:
        """The last size of each state."""
        return (self.hidden_size,)

    def _computed(self, input: Any, given: tuple[Tensor, ...] | None) -> tuple[Any, tuple[Tensor, ...]]:
        """The results for all steps, and the last states."""
        if isinstance(input, PackedSequence):
            return self._computed_packed(input, given)
        name = type(self).__name__
        if input.dim() not in (2, 3):
            raise ValueError(f"{name}: input has {input.dim()} dimensions, expected 2, or 3 with a batch")
        is_batched, batch_dim = input.dim() == 3, 0 if self.batch_first else 1
        if given is not None and any(state.dim() != input.dim() for state in given):
            found = ", ".join(str(state.dim()) for state in given)
            raise RuntimeError(f"{name}: states have {found} dimensions, expected {input.dim()}, as the input has")
        if not is_batched:
            input = input.unsqueeze(batch_dim)
            given = None if given is None else tuple(state.unsqueeze(1) for state in given)
        states = self._checked(input, given, input.shape[batch_dim])
        layers = (self.num_layers, self.dropout, self.training, self.bidirectional, self.batch_first)
        output, last = self._operated(input, states, self._flat_weights, layers)
        if not is_batched:
            output, last = output.squeeze(batch_dim), tuple(state.squeeze(1) for state in last)
        return output, last

    def _operated(
        self, input: Tensor, states: tuple[Tensor, ...], weights: list[Any], layers: tuple[Any, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        operator = getattr(og.ops.aten, _MODES[self.mode][0]).input
        output, *last = operator(input, list(states) if self.mode == "LSTM" else states[0], weights, self.bias, *layers)
        return output, tuple(last)

    def _checked(self, input: Tensor, given: tuple[Tensor, ...] | None, count: int) -> tuple[Tensor, ...]:
        """The first states, after checks of what is given."""
        name, dtype = type(self).__name__, self._flat_weights[0].dtype
        if input.dtype != dtype and not og.is_autocast_enabled(input.device.type):
            raise ValueError(f"{name}: input is of {input.dtype}, expected {dtype}, as the weights are; use input.to({dtype})")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(f"{name}: input has last size {input.shape[-1]}, expected input_size, which is {self.input_size}")
        shapes = [(self.num_layers * self._directions, count, width) for width in self._state_widths()]
        if given is None:
            return tuple(og.zeros(shape, dtype=input.dtype, device=input.device) for shape in shapes)
        for state, shape in zip(given, shapes, strict=True):
            if state.shape != shape:
                raise RuntimeError(f"{name}: a state has shape {list(state.shape)}, expected {list(shape)}")
        return given

    def _computed_packed(
        self, input: PackedSequence, given: tuple[Tensor, ...] | None
    ) -> tuple[PackedSequence, tuple[Tensor, ...]]:
        data, batch_sizes, order, back = input
        if data.dim() != 2:
            raise RuntimeError(f"{type(self).__name__}: packed data has {data.dim()} dimensions, expected 2")
        runs = _runs(batch_sizes.tolist())
        if given is not None and order is not None:
            given = tuple(state.index_select(1, order) for state in given)
        states = self._checked(data, given, runs[0][2])
        ended: list[tuple[Tensor, ...]] = []
        for layer in range(self.num_layers):
            if layer > 0 and self.dropout > 0:
                data = og.dropout(data, self.dropout, self.training)
            outputs = []
            for direction in range(self._directions):
                place = layer * self._directions + direction
                own = tuple(state[place : place + 1] for state in states)
                output, last = self._one_way(data, runs, own, self.all_weights[place], direction == 1)
                outputs.append(output)
                ended.append(last)
            data = outputs[0] if len(outputs) == 1 else og.cat(outputs, -1)
        final = tuple(og.cat(parts) for parts in zip(*ended, strict=True))
        if back is not None:
            final = tuple(state.index_select(1, back) for state in final)
        return PackedSequence(data, batch_sizes, order, back), final

    def _one_way(
        self,
        data: Tensor,
        runs: list[tuple[int, int, int]],
        states: tuple[Tensor, ...],
        weights: list[Parameter],
        backwards: bool,
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """One direction of a layer over packed steps: one call for each run of steps of as many sequences.

        Forwards, sequences end, and their states are set aside. Backwards, sequences begin, with their first states.
        """
        offsets = [0]
        for start, end, size in runs:
            offsets.append(offsets[-1] + (end - start) * size)
        outputs: list[Tensor] = []
        aside: list[tuple[Tensor, ...]] = []
        now = tuple(state[:, : (runs[-1] if backwards else runs[0])[2]] for state in states)
        for place in reversed(range(len(runs))) if backwards else range(len(runs)):
            start, end, size = runs[place]
            have = now[0].shape[1]
            if size > have:
                now = tuple(og.cat([state, first[:, have:size]], 1) for state, first in zip(now, states, strict=True))
            elif size < have:
                aside.append(tuple(state[:, size:] for state in now))
                now = tuple(state[:, :size] for state in now)
            steps = data[offsets[place] : offsets[place + 1]].unflatten(0, (end - start, size))
            result, now = self._operated(
                steps.flip(0) if backwards else steps, now, weights, (1, 0.0, self.training, False, False)
            )
            outputs.append((result.flip(0) if backwards else result).flatten(0, 1))
        parts = list(zip(now, *reversed(aside), strict=True))
        return og.cat(outputs[::-1] if backwards else outputs), tuple(og.cat(part, 1) for part in parts)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        for name, value in usual.items():
            if getattr(self, name) != value:
                text += f", {name}={getattr(self, name)}"
        return text


class _OneState(RNNBase):
    """A recurrent network with one state."""

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        output, (last,) = self._computed(input, None if hx is None else (hx,))
        return output, last


class RNN(_OneState):
    """Elman networks: ``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)``, or with ``nonlinearity="relu"`` `ReLU` of that."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: nonlinearity is {nonlinearity!r}, expected tanh or relu")
        sizes, mode = (input_size, hidden_size, num_layers), f"RNN_{nonlinearity.upper()}"
        super().__init__(mode, *sizes, bias, batch_first, dropout, bidirectional, 0, device, dtype)
        self.nonlinearity = nonlinearity


class GRU(_OneState):
    """Gated recurrent units, with reset, update and new gates in each weight."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
    ) -> None:
        sizes = (input_size, hidden_size, num_layers)
        super().__init__("GRU", *sizes, bias, batch_first, dropout, bidirectional, 0, device, dtype)


class LSTM(RNNBase):
    """Long short-term memory, with input, forget, cell and output gates in each weight.

    It has two states: ``output, (h, c) = lstm(input, (h, c))``. With ``proj_size``, results and ``h`` are projected to that
    size by ``weight_hr``.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
    ) -> None:
        sizes = (input_size, hidden_size, num_layers)
        super().__init__("LSTM", *sizes, bias, batch_first, dropout, bidirectional, proj_size, device, dtype)

    def _state_widths(self) -> tuple[int, ...]:
        return (self.proj_size or self.hidden_size, self.hidden_size)

    def forward(
        self, input: Any, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        output, (h, c) = self._computed(input, None if hx is None else tuple(hx))
        return output, (h, c)
