"""Schedules along a cosine."""

from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler


class CosineAnnealingLR(LRScheduler):
    """Follows a cosine from the initial rate to ``eta_min`` in ``T_max`` steps, and back, after Loshchilov and Hutter, 2016."""

    def __init__(self, optimizer: Optimizer, T_max: float, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _next(self) -> list[Any]:
        epoch, period, low = self.last_epoch, self.T_max, self.eta_min
        if self._is_initial:
            return self._rates()
        if self._step_count == 1 and epoch > 0:
            return self._at_epoch()
        if (epoch - 1 - period) % (2 * period) == 0:
            # The rate is ``eta_min``, from where no factor leads away.
            rise = 1 - math.cos(math.pi / period)
            return [rate + (base - low) * rise / 2 for rate, base in zip(self._rates(), self.base_lrs, strict=True)]
        factor = (1 + math.cos(math.pi * epoch / period)) / (1 + math.cos(math.pi * (epoch - 1) / period))
        return [factor * (rate - low) + low for rate in self._rates()]

    def _at_epoch(self) -> list[Any]:
        return _between(self.base_lrs, self.eta_min, self.last_epoch, self.T_max)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Follows a cosine from the initial rate to ``eta_min``, and starts again, after Loshchilov and Hutter, 2016.

    The first period has ``T_0`` steps, each other one ``T_mult`` times as many as the one before.
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min).__name__}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def step(self, epoch: float | None = None) -> None:
        """Sets the next rates, or those of an epoch, which may be a fraction."""
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self._find_period(epoch)
        self._go_to(math.floor(epoch), directly=False)

    def _find_period(self, epoch: float) -> None:
        self.T_i, self.T_cur = self.T_0, epoch
        if epoch < self.T_0:
            return
        if self.T_mult == 1:
            self.T_cur = epoch % self.T_0
            return
        restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
        self.T_i = self.T_0 * self.T_mult**restarts

    def _next(self) -> list[Any]:
        return _between(self.base_lrs, self.eta_min, self.T_cur, self.T_i)


def _between(bases: list[Any], low: float, place: float, period: float) -> list[Any]:
    """The points of cosines from the rates, at the beginning of a period, to the lowest one, at its end."""
    return [low + (base - low) * (1 + math.cos(math.pi * place / period)) / 2 for base in bases]
