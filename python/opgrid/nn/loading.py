"""Copying a state dict into a module, and saying what does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .._opgrid import Tensor, TensorBase
from ..autograd import no_grad
from .parameter import Parameter

if TYPE_CHECKING:
    from .module import Module


class LoadedKeys(NamedTuple):
    """What `Module.load_state_dict` did not find, and what it had no use for."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"LoadedKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


def loaded(module: Module, state_dict: Mapping[str, Any], strict: bool, assign: bool) -> LoadedKeys:
    """What ``Module.load_state_dict`` does. A state dict that does not fit changes nothing."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"expected state_dict to be dict-like, found {type(state_dict).__name__}")
    places = {
        f"{path}.{name}" if path else name: (owner, name, tensor)
        for path, owner in module.named_modules(remove_duplicate=False)
        for name, tensor in owner._state()
    }
    missing = [key for key in places if key not in state_dict]
    unexpected = [key for key in state_dict if key not in places]
    problems: list[str] = []
    if strict and missing:
        problems.append(f"Missing key(s) in state_dict: {_quoted(missing)}.")
    if strict and unexpected:
        problems.append(f"Unexpected key(s) in state_dict: {_quoted(unexpected)}.")
    if problems:
        problems.append("strict=False leaves missing and unexpected keys out.")
    for key, (_, _, tensor) in places.items():
        problems += _misfit(key, state_dict[key], tensor) if key in state_dict else []
    if problems:
        lines = "".join(f"\n\t{line}" for line in problems)
        raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:{lines}")
    with no_grad():
        for key, (owner, name, tensor) in places.items():
            if key in state_dict:
                _take(owner, name, tensor, state_dict[key], assign)
    return LoadedKeys(missing, unexpected)


def _take(owner: Module, name: str, tensor: Tensor, value: Tensor, assign: bool) -> None:
    if not assign:
        tensor.copy_(value)
    elif name in owner._own("_parameters"):
        owner._own("_parameters")[name] = Parameter(value, tensor.requires_grad)
    else:
        owner._own("_buffers")[name] = value


def _misfit(key: str, value: Any, tensor: Tensor) -> list[str]:
    """What is wrong with the value of a key, if anything is."""
    if not isinstance(value, TensorBase):
        return [f'While copying the parameter named "{key}", expected a tensor, found {type(value).__name__}.']
    if value.shape == tensor.shape:
        return []
    return [
        f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
        f"the shape in current model is {tensor.shape}."
    ]


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
