"""Averages of a model's weights over training, and the learning rates that go with them (Izmailov et al., 2018)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import opgrid as og

from .._opgrid import Tensor
from ..autograd import no_grad
from ..nn import Module
from ..nn.batchnorm import _BatchNorm
from .lr_scheduler.base import LRScheduler, per_group
from .optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Average = Callable[[Tensor, Tensor, Any], Tensor]
MultiAverage = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """A function for `AveragedModel`: the average that keeps a part ``decay`` of itself, and takes the rest from the model."""
    _check_decay(decay)

    def average(averaged: Tensor, current: Tensor, num_averaged: Any) -> Tensor:
        with no_grad():
            return averaged * decay + current * (1 - decay)

    return average


def get_swa_avg_fn() -> Average:
    """A function for `AveragedModel`: the mean of all models so far."""

    def average(averaged: Tensor, current: Tensor, num_averaged: Any) -> Tensor:
        with no_grad():
            mean: Tensor = averaged + (current - averaged) / (num_averaged + 1)
            return mean

    return average


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """As `get_ema_avg_fn`, for many tensors at once, in place."""
    _check_decay(decay)
    one = get_ema_avg_fn(decay)
    return lambda averaged, current, number: _average_all(averaged, current, 1 - decay, one, number)


def get_swa_multi_avg_fn() -> MultiAverage:
    """As `get_swa_avg_fn`, for many tensors at once, in place."""
    one = get_swa_avg_fn()
    return lambda averaged, current, number: _average_all(averaged, current, 1 / (int(number) + 1), one, number)


def _check_decay(decay: float) -> None:
    if not 0 <= decay <= 1:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _average_all(averaged: Sequence[Tensor], current: Sequence[Tensor], part: float, one: Average, number: Any) -> None:
    """Moves averages by a part of the way to the current values; integers by the function for one tensor."""
    pairs = list(zip(averaged, current, strict=True))
    exact = [pair for pair in pairs if pair[0].is_floating_point() or pair[0].is_complex()]
    with no_grad():
        if exact:
            og.ops.aten._foreach_lerp_([pair[0] for pair in exact], [pair[1] for pair in exact], part)
        for mean, value in pairs:
            if not (mean.is_floating_point() or mean.is_complex()):
                mean.copy_(one(mean, value, number))


class AveragedModel(Module):
    """A copy of a model whose weights are averages: call `update_parameters` after each step that counts.

    The average is the mean, or what ``avg_fn(averaged, current, num_averaged)`` computes for one tensor, or
    ``multi_avg_fn(averaged, current, num_averaged)`` for many in place. Buffers are copied from the model, or averaged with
    ``use_buffers``.
    """

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", og.tensor(0, dtype=og.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model computes."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Takes the model's weights into the average. The first ones are copied."""
        averaged: list[Tensor] = list(self.module.parameters())
        current: list[Tensor] = list(model.parameters())
        buffers = list(zip(self.module.buffers(), model.buffers(), strict=True))
        if self.use_buffers:
            averaged += [own for own, _ in buffers]
            current += [other for _, other in buffers]
        averaged = [mean.detach() for mean in averaged]
        current = [value.detach().to(mean.device) for mean, value in zip(averaged, current, strict=True)]
        with no_grad():
            if self.n_averaged.item() == 0:
                for mean, value in zip(averaged, current, strict=True):
                    mean.copy_(value)
            elif self.avg_fn is None:
                (self.multi_avg_fn or get_swa_multi_avg_fn())(averaged, current, self.n_averaged)
            else:
                for mean, value in zip(averaged, current, strict=True):
                    mean.copy_(self.avg_fn(mean, value, self.n_averaged))
            if not self.use_buffers:
                for own, other in buffers:
                    own.detach().copy_(other.detach())
            self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Computes the running statistics of a model's batch normalizations anew, over all batches of a loader.

    Batches are tensors, or lists and tuples whose first element is what the model takes.
    """
    layers = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not layers:
        return
    momenta = [layer.momentum for layer in layers]
    was_training = model.training
    model.train()
    for layer in layers:
        layer.reset_running_stats()
        # Without a momentum, the statistics are means over all batches.
        layer.momentum = None
    with no_grad():
        for batch in loader:
            batch = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(batch if device is None else batch.to(device))
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Goes from the rate of each group to ``swa_lr`` in ``anneal_epochs`` steps, along a cosine or a line, and stays there."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _part(self, step: int) -> float:
        """How much of the way is done after a number of steps."""
        part = max(0, min(1, step / max(1, self.anneal_epochs)))
        return part if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * part)) / 2

    def _next(self) -> list[Any]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._part(step - 1), self._part(step)
        rates = []
        for group in self.optimizer.param_groups:
            target = group["swa_lr"]
            # Where the group would have begun to get to its rate now.
            start = target if before == 1 else (group["lr"] - before * target) / (1 - before)
            rates.append(target * now + start * (1 - now))
        return rates
