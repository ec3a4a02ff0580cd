"""Schedules that multiply rates by a factor."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, functions_per_group, kept_of_function, restore_functions

Function = Callable[[int], float]


class _ByFunctions(LRScheduler):
    """A schedule by functions of the number of steps: one function, or one for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Function | Sequence[Function], last_epoch: int = -1) -> None:
        self.lr_lambdas = functions_per_group(optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def _scaled(self, rates: list[Any]) -> list[Any]:
        return [rate * function(self.last_epoch) for function, rate in zip(self.lr_lambdas, rates, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """The attributes except the optimizer and the functions. Of objects that can be called, their attributes are kept."""
        return {**super().state_dict(), "lr_lambdas": [kept_of_function(function) for function in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores the attributes of another scheduler of the class, which keeps its functions."""
        functions = self.lr_lambdas
        super().load_state_dict({**state_dict, "lr_lambdas": functions})
        restore_functions(functions, state_dict["lr_lambdas"])


class LambdaLR(_ByFunctions):
    """The initial rate times a function of the number of steps: one function, or one for each group."""

    def _next(self) -> list[Any]:
        return self._scaled(self.base_lrs)


class MultiplicativeLR(_ByFunctions):
    """Multiplies the rate by a function of the number of steps: one function, or one for each group."""

    def _next(self) -> list[Any]:
        return self._rates() if self._is_initial else self._scaled(self._rates())


class _ByFactor(LRScheduler):
    """A schedule that multiplies all rates by `_factor` of the epoch; since the first epoch, by `_factor_so_far`."""

    def _next(self) -> list[Any]:
        return self._times(self._factor(self.last_epoch))

    def _at_epoch(self) -> list[Any]:
        return [rate * self._factor_so_far(self.last_epoch) for rate in self.base_lrs]

    def _factor(self, epoch: int) -> float:
        raise NotImplementedError

    def _factor_so_far(self, epoch: int) -> float:
        raise NotImplementedError


class StepLR(_ByFactor):
    """Multiplies the rate by ``gamma`` every ``step_size`` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return 1 if epoch == 0 or epoch % self.step_size else self.gamma

    def _factor_so_far(self, epoch: int) -> float:
        return float(self.gamma ** (epoch // self.step_size))


class MultiStepLR(_ByFactor):
    """Multiplies the rate by ``gamma`` at each of the ``milestones``, once for each time that one is listed."""

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return float(self.gamma ** self.milestones[epoch])

    def _factor_so_far(self, epoch: int) -> float:
        return float(self.gamma ** bisect_right(sorted(self.milestones.elements()), epoch))


class ConstantLR(_ByFactor):
    """The initial rate times ``factor`` for ``total_iters`` steps, and the initial rate afterwards."""

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"factor expected to be between 0 and 1, found {factor}")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        if epoch == 0:
            return self.factor
        return 1.0 / self.factor if epoch == self.total_iters else 1

    def _factor_so_far(self, epoch: int) -> float:
        return self.factor + (epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(_ByFactor):
    """The initial rate times a factor that goes from ``start_factor`` to ``end_factor`` over ``total_iters`` steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(f"start_factor expected to be more than 0 and at most 1, found {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"end_factor expected to be between 0 and 1, found {end_factor}")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        if epoch == 0:
            return self.start_factor
        if self._is_initial or epoch > self.total_iters:
            return 1
        change = self.end_factor - self.start_factor
        return 1.0 + change / (self.total_iters * self.start_factor + (epoch - 1) * change)

    def _factor_so_far(self, epoch: int) -> float:
        change = self.end_factor - self.start_factor
        return self.start_factor + change * min(self.total_iters, epoch) / self.total_iters


class ExponentialLR(_ByFactor):
    """Multiplies the rate by ``gamma`` every step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return 1 if self._is_initial else self.gamma

    def _factor_so_far(self, epoch: int) -> float:
        return float(self.gamma**epoch)


class PolynomialLR(_ByFactor):
    """The initial rate times ``(1 - t / total_iters) ** power``, zero from ``total_iters`` steps on."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        if self._is_initial or epoch > self.total_iters:
            return 1
        now, before = 1.0 - epoch / self.total_iters, 1.0 - (epoch - 1) / self.total_iters
        return float((now / before) ** self.power)

    def _factor_so_far(self, epoch: int) -> float:
        return float((1.0 - min(self.total_iters, epoch) / self.total_iters) ** self.power)
