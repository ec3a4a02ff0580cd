"""The base class of schedulers, and what they do with groups of parameters."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..._opgrid import TensorBase
from .._batch import Group
from ..optimizer import Optimizer


class LRScheduler:
    """Sets the learning rates of an optimizer at each `step`.

    A class of its own defines ``get_lr``, which computes the next rates of all groups from ``self.last_epoch``, the number of
    steps so far. ``last_epoch`` other than -1 resumes a schedule: the groups must have ``initial_lr`` then.
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for place, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{place}] when resuming scheduler with "
                    f"last_epoch >= 0; load the optimizer's state dict first"
                )
        self.base_lrs: list[Any] = [copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        optimizer._opt_called = False
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_last_lr(self) -> list[Any]:
        """The current rate of each group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The next rate of each group."""
        if not self._get_lr_called_within_step:
            warnings.warn("to get the last rates that were computed, call get_last_lr()", UserWarning, stacklevel=2)
        return self._next()

    def _next(self) -> list[Any]:
        raise NotImplementedError(f"{type(self).__name__} has to define get_lr")

    def _at_epoch(self) -> list[Any]:
        """The rates of ``last_epoch``, whatever the previous ones were; `get_lr` where a schedule cannot say them directly."""
        return self.get_lr()

    def step(self, epoch: int | None = None) -> None:
        """Sets the next rates; call it after ``optimizer.step()``. With ``epoch``, which is deprecated, those of that epoch."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "lr_scheduler.step() was called before optimizer.step(), so the first rate of the schedule is skipped; "
                "call them in the other order",
                UserWarning,
                stacklevel=2,
            )
        if epoch is not None:
            warnings.warn("the argument epoch of step() is deprecated; call step() without it", UserWarning, stacklevel=2)
        self._step_count += 1
        self._go_to(self.last_epoch + 1 if epoch is None else epoch, directly=epoch is not None)

    def _go_to(self, epoch: int, directly: bool) -> None:
        """Sets the rates of an epoch, computed from the previous ones or directly."""
        self.last_epoch = epoch
        self._get_lr_called_within_step = True
        try:
            rates = self._at_epoch() if directly else self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, rate)
        self._last_lr = self._rates()

    def _rates(self) -> list[Any]:
        return [copied(group["lr"]) for group in self.optimizer.param_groups]

    def _times(self, factor: float) -> list[Any]:
        return [rate * factor for rate in self._rates()]

    def state_dict(self) -> dict[str, Any]:
        """The scheduler's attributes except its optimizer."""
        return {name: value for name, value in vars(self).items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores the attributes of another scheduler of the class."""
        vars(self).update(state_dict)


def check_optimizer(optimizer: Any) -> None:
    """Raises for what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def copied(value: Any) -> Any:
    """A setting of a group; of a tensor a copy, since schedulers write to those of groups."""
    return value.clone() if isinstance(value, TensorBase) else value


def set_rate(group: Group, rate: Any) -> None:
    """Sets the rate of a group, in place if it is a tensor."""
    if isinstance(group["lr"], TensorBase):
        group["lr"].fill_(rate.item() if isinstance(rate, TensorBase) else rate)
    else:
        group["lr"] = rate


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """An argument as a list with a value for each group."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in range(count)]
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups: found {len(value)} values for {count} groups"
        )
    return [copied(each) for each in value]


def functions_per_group(optimizer: Optimizer, functions: Any) -> list[Callable[[int], float]]:
    """One function for all groups, or one for each, as a list."""
    count = len(optimizer.param_groups)
    listed = list(functions) if isinstance(functions, (list, tuple)) else [functions] * count
    if len(listed) != count:
        raise ValueError(f"Expected {count} lr_lambdas, but got {len(listed)}")
    for function in listed:
        if not callable(function):
            raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
    return listed


def kept_of_function(function: Any) -> dict[str, Any] | None:
    """What a state dict keeps of a function: the attributes of an object that can be called, nothing of a plain function."""
    return None if function is None or isinstance(function, types.FunctionType) else dict(vars(function))


def restore_functions(functions: Sequence[Any], kept: Sequence[dict[str, Any] | None]) -> None:
    """Gives objects that can be called their attributes back."""
    for function, attributes in zip(functions, kept, strict=True):
        if attributes is not None:
            vars(function).update(attributes)
