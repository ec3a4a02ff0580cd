"""The base class of optimizers: parameter groups with settings, steps, state by parameter, and state dicts."""

from __future__ import annotations

import copy
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import opgrid as og

from .._opgrid import Tensor, TensorBase
from ..autograd import enable_grad, set_grad_enabled
from . import _hooks
from ._batch import Batch, Group, State, counter
from ._hooks import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from ._settings import require_runnable

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook", "required"]

Parameters = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
Closure = Callable[[], Any]

_COUNTERS = frozenset(["step", "mu_product", "mu", "eta"])
"""State whose dtype is not that of the parameter."""


class _RequiredParameter:
    """The default of a setting that has none."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()
"""Stands in the defaults of an optimizer for a setting that every group has to name."""


class Optimizer(_hooks.Hooked):
    """Updates parameters by their gradients, in place.

    ``params`` are tensors, pairs of names and tensors, or dicts with ``params`` and settings of their own; ``defaults``
    are the remaining settings. A class of its own defines `_initial` and `_update`, or `step`.
    """

    def __init__(self, params: Parameters, defaults: dict[str, Any]) -> None:
        if isinstance(params, TensorBase):
            raise TypeError("params of an optimizer should be an iterable of Tensors or dicts, found a tensor")
        if isinstance(params, (set, frozenset)):
            warnings.warn(
                "params of an optimizer are a set, whose order changes from run to run; pass a list", FutureWarning, stacklevel=2
            )
        self._reset_hooks()
        self.defaults = defaults
        self.state: defaultdict[Any, State] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list; pass those of a module, as model.parameters()")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in vars(cls):
            cls.step = _hooks.runs_step_hooks(cls.step)  # type: ignore[method-assign]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group of parameters: a dict with ``params`` and the settings that differ from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group).__name__}")
        group = dict(param_group)
        params = group["params"]
        if isinstance(params, (set, frozenset)):
            raise TypeError("optimizer parameters need a deterministic order; pass a list instead of a set")
        listed = [params] if isinstance(params, TensorBase) else list(params)
        names = [item[0] for item in listed if isinstance(item, tuple)]
        group["params"] = [item[1] if isinstance(item, tuple) else item for item in listed]
        if names:
            if len(names) < len(listed):
                raise ValueError(
                    f"all optimizer params should be with or without names, found {len(names)} names for {len(listed)}"
                )
            group["param_names"] = names
        for name, default in self.defaults.items():
            if group.setdefault(name, default) is required:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
        self._check_parameters(group)
        self._check_settings(group)
        self.param_groups.append(group)

    def _check_parameters(self, group: Group) -> None:
        for parameter in group["params"]:
            if not isinstance(parameter, TensorBase):
                found = type(parameter).__name__
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {found}")
            if not (self.defaults.get("differentiable") or parameter.is_leaf or parameter.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor; pass the leaf tensors that it was computed from")
        mine = {id(parameter) for parameter in group["params"]}
        if len(mine) < len(group["params"]):
            raise ValueError("optimizer contains a parameter group with duplicate parameters")
        for other in self.param_groups:
            if ("param_names" in other) != ("param_names" in group):
                raise ValueError("all optimizer param groups should be with or without names, found both")
            if any(id(parameter) in mine for parameter in other["params"]):
                raise ValueError("some parameters appear in more than one parameter group")

    def _check_settings(self, group: Group) -> None:
        """Raises for settings that are out of range."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Removes the gradients of all parameters, or sets them to zero, in place and without a graph."""
        for parameter in (p for group in self.param_groups for p in group["params"]):
            grad = parameter.grad
            if grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            elif grad.grad_fn is None:
                grad.requires_grad_(False).zero_()
            else:
                parameter.grad = og.zeros_like(grad)

    def step(self, closure: Closure | None = None) -> Any:
        """Updates each parameter that has a gradient. A closure computes the loss first, which ``step`` returns."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with set_grad_enabled(bool(self.defaults.get("differentiable"))):
            for group in self.param_groups:
                batch = self._batch(group)
                if batch is not None:
                    self._update(batch, group)
        return loss

    step = _hooks.runs_step_hooks(step)

    def _batch(self, group: Group) -> Batch | None:
        """The parameters of a group that have gradients, with their state, which begins here."""
        pairs = [(parameter, parameter.grad) for parameter in group["params"]]
        pairs = [pair for pair in pairs if pair[1] is not None]
        if not pairs:
            return None
        states = []
        for parameter, grad in pairs:
            require_runnable(group, parameter)
            state = self.state.get(parameter, {})
            _follow(parameter, state)
            if not state:
                state = self._initial(parameter, grad, group)
                if state:
                    self.state[parameter] = state
            states.append(state)
        return Batch([parameter for parameter, _ in pairs], [grad for _, grad in pairs], states, group)

    def _initial(self, parameter: Tensor, grad: Tensor, group: Group) -> State:
        """What is remembered of a parameter before its first step."""
        raise NotImplementedError(f"{type(self).__name__} has to define _initial, or step")

    def _update(self, batch: Batch, group: Group) -> None:
        """Updates the parameters in place, in few calls for all of them."""
        raise NotImplementedError(f"{type(self).__name__} has to define _update, or step")

    def state_dict(self) -> dict[str, Any]:
        """``state`` by index of parameter, and ``param_groups`` with these indices instead of parameters."""
        for hook in _hooks.of(self._state_dict_pre):
            hook(self)
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        numbers = {id(parameter): number for number, parameter in enumerate(parameters)}
        # As in torch's files, parameters come last.
        settings = [{name: value for name, value in group.items() if name != "params"} for group in self.param_groups]
        groups = [{**own, "params": [numbers[id(p)] for p in group["params"]]} for own, group in zip(settings, self.param_groups)]
        state = {
            numbers[id(parameter)] if isinstance(parameter, TensorBase) else parameter: dict(values)
            for parameter, values in self.state.items()
            if values
        }
        kept: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in _hooks.of(self._state_dict_post):
            changed = hook(self, kept)
            kept = kept if changed is None else changed
        return kept

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads state and settings of an optimizer with as many parameters, in the dtypes of these."""
        state_dict = dict(state_dict)
        for hook in _hooks.of(self._load_pre):
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups = copy.deepcopy(state_dict["param_groups"])
        self._check_groups(groups)
        owners: dict[Any, tuple[Tensor, Group]] = {}
        for mine, loaded in zip(self.param_groups, groups, strict=True):
            for saved, parameter in zip(loaded["params"], mine["params"], strict=True):
                owners[saved] = (parameter, loaded)
        state: defaultdict[Any, State] = defaultdict(dict)
        for number, values in state_dict["state"].items():
            if number in owners:
                parameter, group = owners[number]
                state[parameter] = {name: _loaded(name, value, parameter, group) for name, value in values.items()}
            else:
                # What belongs to no parameter is kept.
                state[number] = values
        for mine, loaded in zip(self.param_groups, groups, strict=True):
            loaded["params"] = mine["params"]
            if "param_names" in mine:
                loaded.setdefault("param_names", mine["param_names"])
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in _hooks.of(self._load_post):
            hook(self)

    def _check_groups(self, groups: list[Group]) -> None:
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

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restores state and groups. Settings that an older release did not have get their defaults."""
        vars(self).update(state)
        if "_step_pre" not in vars(self):
            self._reset_hooks()
        for group in self.param_groups:
            for name, default in self.defaults.items():
                group.setdefault(name, default)
        for values in self.state.values():
            if isinstance(values, dict) and isinstance(values.get("step"), (int, float)):
                values["step"] = counter(values["step"])

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for place, group in enumerate(self.param_groups):
            text += f"\nParameter Group {place}\n"
            text += "".join(f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params")
        return text + ")"


def _loaded(name: Any, value: Any, parameter: Tensor, group: Group) -> Any:
    """A copy of a value of the state, in the parameter's dtype unless it counts steps."""
    if isinstance(value, TensorBase):
        if name == "step":
            is_on_device = group.get("capturable") or group.get("fused")
            return value.to(parameter.device, og.float32, copy=True) if is_on_device else value.clone()
        dtype = parameter.dtype if parameter.is_floating_point() else value.dtype
        return value.to(parameter.device, dtype, copy=True)
    if isinstance(value, dict):
        return {inner: _loaded(inner, each, parameter, group) for inner, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_loaded(name, each, parameter, group) for each in value)
    return value


def _follow(parameter: Tensor, state: State) -> None:
    """Converts what is remembered of a parameter to its dtype, after its module was converted."""
    for name, value in state.items():
        if name not in _COUNTERS and isinstance(value, TensorBase) and value.dtype != parameter.dtype:
            state[name] = value.to(parameter.device, parameter.dtype)
