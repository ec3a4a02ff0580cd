"""Schedules that go up and down, of which momentum goes the other way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .._batch import Group
from ..optimizer import Optimizer
from .base import LRScheduler, check_optimizer, kept_of_function, per_group, restore_functions, set_rate


class _WithMomentum(LRScheduler):
    """What schedules do that change momentum, or the first of ``betas``, beside the rate."""

    cycle_momentum: bool
    use_beta1: bool

    def _begin_momentum(self, optimizer: Optimizer, base: Any, top: Any, is_new: bool) -> tuple[list[Any], list[Any]]:
        """The momenta of each group, at the highest rate and at the lowest one; new schedules begin with the latter."""
        if not {"momentum", "betas"} & set(optimizer.defaults):
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        bases, tops = per_group("base_momentum", optimizer, base), per_group("max_momentum", optimizer, top)
        if is_new:
            for group, low, high in zip(optimizer.param_groups, bases, tops, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low
        return bases, tops

    def _set_momentum(self, group: Group, momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_WithMomentum):
    """Goes from ``base_lr`` to ``max_lr`` and back again and again, after Smith, 2017.

    In mode ``"triangular2"`` each cycle is half as high as the one before; in mode ``"exp_range"`` heights fall by ``gamma``
    each step. ``scale_fn`` gives them instead, by the number of the cycle or of the step (``scale_mode`` ``"cycle"`` or
    ``"iterations"``).
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: float = 2000,
        step_size_down: float | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(
                f"mode is invalid and scale_fn is None: found {mode!r}, expected 'triangular', 'triangular2' or 'exp_range'"
            )
        lows = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, low in zip(optimizer.param_groups, lows, strict=True):
                set_rate(group, low)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            momenta = self._begin_momentum(optimizer, base_momentum, max_momentum, last_epoch == -1)
            self.base_momentums, self.max_momentums = momenta
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def scale_fn(self, x: float) -> float:
        """The height of a cycle, or of a step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return float(self.gamma**x)
        return float(1 / 2.0 ** (x - 1)) if self.mode == "triangular2" else 1.0

    def _next(self) -> list[Any]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle
        part = place / self.step_ratio if place <= self.step_ratio else (place - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            groups = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in groups:
                self._set_momentum(group, high - (high - low) * part * scale)
        return [low + (high - low) * part * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """The attributes except the optimizer and ``scale_fn``; of an object that can be called, its attributes are kept."""
        return {**super().state_dict(), "_scale_fn_custom": kept_of_function(self._scale_fn_custom)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores the attributes of another scheduler of the class, which keeps its function."""
        function = self._scale_fn_custom
        super().load_state_dict({**state_dict, "_scale_fn_custom": function})
        restore_functions([function], [state_dict["_scale_fn_custom"]])


class OneCycleLR(_WithMomentum):
    """The 1cycle policy, after Smith and Topin, 2017: up to ``max_lr`` in a part ``pct_start`` of the steps, then down.

    It starts at ``max_lr / div_factor`` and ends at that over ``final_div_factor``. Momentum moves the other way.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
            total_steps = epochs * steps_per_epoch
        if not isinstance(total_steps, int) or total_steps <= 0:
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self.total_steps = total_steps
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = _phases(total_steps, pct_start, three_phase)
        is_new = last_epoch == -1
        tops = per_group("max_lr", optimizer, max_lr)
        if is_new:
            for group, top in zip(optimizer.param_groups, tops, strict=True):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(optimizer, base_momentum, max_momentum, is_new)
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, part: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    def _next(self) -> list[Any]:
        number = self.last_epoch
        if number > self.total_steps:
            raise ValueError(f"Tried to step {number} times. The specified number of total steps is {self.total_steps}")
        phases = self._schedule_phases
        place = next((place for place, phase in enumerate(phases) if number <= phase["end_step"]), len(phases) - 1)
        begins, phase = phases[place - 1]["end_step"] if place else 0.0, phases[place]
        part = (number - begins) / (phase["end_step"] - begins)
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            for group in groups:
                momentum = self._between(group[phase["start_momentum"]], group[phase["end_momentum"]], part)
                self._set_momentum(group, momentum)
        return [self._between(group[phase["start_lr"]], group[phase["end_lr"]], part) for group in groups]


def _phases(total: int, part: float, has_three: bool) -> list[dict[str, Any]]:
    """The end of each phase, and the settings of a group that it moves between."""
    first = (float(part * total) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    others: list[tuple[float, str, str, str, str]] = [(total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    if has_three:
        others = [
            (float(2 * part * total) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
            (total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
        ]
    names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    return [dict(zip(names, phase, strict=True)) for phase in (first, *others)]
