"""The base class of optimizers: parameter groups with settings, state by parameter, and state dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import opgrid as og

from .._opgrid import Tensor, TensorBase
from ..autograd import enable_grad, no_grad

Parameters = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
Closure = Callable[[], Any]


class Optimizer:
    """Updates parameters by their gradients, in place.

    ``params`` are tensors, or dicts with ``params`` and settings of their own; ``defaults`` are the remaining settings.
    """

    def __init__(self, params: Parameters, defaults: dict[str, Any]) -> None:
        if isinstance(params, TensorBase):
            raise TypeError("params of an optimizer should be an iterable of Tensors or dicts, found a tensor")
        self.defaults = defaults
        self.state: dict[Tensor, dict[str, Any]] = {}
        self.param_groups: list[dict[str, Any]] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list; pass those of a module, as model.parameters()")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group of parameters: a dict with ``params`` and the settings that differ from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group).__name__}")
        group = dict(param_group)
        params = group["params"]
        if isinstance(params, (set, frozenset)):
            raise TypeError("optimizer parameters need a deterministic order; pass a list instead of a set")
        listed = [params] if isinstance(params, TensorBase) else list(params)
        group["params"] = [item[1] if isinstance(item, tuple) and len(item) == 2 else item for item in listed]
        for parameter in group["params"]:
            if not isinstance(parameter, TensorBase):
                found = type(parameter).__name__
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {found}")
            if not (parameter.is_leaf or parameter.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor; pass the leaf tensors that it was computed from")
        for name, default in self.defaults.items():
            group.setdefault(name, default)
        mine = {id(parameter) for parameter in group["params"]}
        if len(mine) < len(group["params"]):
            raise ValueError("optimizer contains a parameter group with duplicate parameters")
        if any(id(parameter) in mine for other in self.param_groups for parameter in other["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self._check_settings(group)
        self.param_groups.append(group)

    def _check_settings(self, group: dict[str, Any]) -> None:
        """Raises for settings that are out of range."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Removes the gradients of all parameters, or sets them to zero."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad = None if set_to_none else og.zeros_like(parameter.grad)

    def step(self, closure: Closure | None = None) -> Any:
        """Updates each parameter that has a gradient. A closure computes the loss first, which ``step`` returns."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                pairs = [(parameter, parameter.grad) for parameter in group["params"]]
                updated = [(parameter, grad) for parameter, grad in pairs if grad is not None]
                if updated:
                    states = [self.state.setdefault(parameter, {}) for parameter, _ in updated]
                    for (parameter, _), state in zip(updated, states, strict=True):
                        _follow(parameter, state)
                    self._update([pair[0] for pair in updated], [pair[1] for pair in updated], states, group)
        return loss

    def _update(
        self, parameters: list[Tensor], grads: list[Tensor], states: list[dict[str, Any]], group: dict[str, Any]
    ) -> None:
        """Updates the parameters of a group in place, in few calls for all of them."""
        raise NotImplementedError(f"{type(self).__name__} has to define _update, or step")

    def state_dict(self) -> dict[str, Any]:
        """``state`` by index of parameter, and ``param_groups`` with these indices instead of parameters."""
        numbers = {
            id(parameter): number
            for number, parameter in enumerate(p for group in self.param_groups for p in group["params"])
        }
        groups = [{**group, "params": [numbers[id(p)] for p in group["params"]]} for group in self.param_groups]
        state = {
            numbers[id(parameter)] if isinstance(parameter, TensorBase) else parameter: dict(values)
            for parameter, values in self.state.items()
            if values
        }
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads state and settings of an optimizer with as many parameters, in the dtypes of these."""
        groups: list[dict[str, Any]] = state_dict["param_groups"]
        if len(groups) != len(self.param_groups):
            raise ValueError(
                "loaded state dict has a different number of parameter groups: "
                f"found {len(groups)}, expected {len(self.param_groups)}"
            )
        for place, (mine, loaded) in enumerate(zip(self.param_groups, groups, strict=True)):
            if len(mine["params"]) != len(loaded["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group: "
                    f"found {len(loaded['params'])} parameters in group {place}, expected {len(mine['params'])}"
                )
        parameters: dict[Any, Tensor] = {}
        for mine, loaded in zip(self.param_groups, groups, strict=True):
            parameters.update(zip(loaded["params"], mine["params"], strict=True))
        state: dict[Any, Any] = {}
        for number, values in state_dict["state"].items():
            if number in parameters:
                parameter = parameters[number]
                state[parameter] = {name: _loaded(name, value, parameter) for name, value in values.items()}
            else:
                # What belongs to no parameter is kept.
                state[number] = values
        self.state = state
        self.param_groups = [
            {**loaded, "params": mine["params"]} for mine, loaded in zip(self.param_groups, groups, strict=True)
        ]

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for place, group in enumerate(self.param_groups):
            text += f"\nParameter Group {place}\n"
            text += "".join(f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params")
        return text + ")"


def _loaded(name: str, value: Any, parameter: Tensor) -> Any:
    """A copy of a value of the state, in the parameter's dtype unless it counts steps."""
    if not isinstance(value, TensorBase):
        return value
    if name == "step" or not parameter.is_floating_point():
        return value.clone()
    return value.to(parameter.device, parameter.dtype, copy=True)


def _follow(parameter: Tensor, state: dict[str, Any]) -> None:
    """Converts what is remembered of a parameter to its dtype, after its module was converted."""
    for name, value in state.items():
        if isinstance(value, TensorBase) and name != "step" and value.dtype != parameter.dtype:
            state[name] = value.to(parameter.device, parameter.dtype)


def real(tensors: list[Tensor]) -> list[Tensor]:
    """The tensors, complex ones as pairs of real numbers on the same memory."""
    return [og.view_as_real(tensor) if tensor.is_complex() else tensor for tensor in tensors]


def refuse(holds: bool, name: str, value: Any, expected: str) -> None:
    """Raises for a setting that is out of range."""
    if not holds:
        raise ValueError(f"Invalid {name}: {value}; expected {expected}")
