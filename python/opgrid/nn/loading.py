"""State dicts of modules: what goes into them, and how they are loaded.

The functions follow torch's protocol, so that modules may override ``_save_to_state_dict`` and ``_load_from_state_dict``
and add state of their own with ``get_extra_state`` and ``set_extra_state``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .._opgrid import Tensor, TensorBase
from ..autograd import no_grad
from .parameter import Parameter

if TYPE_CHECKING:
    from .module import Module

EXTRA = "_extra_state"
"""What the key of a module's own state ends in."""

_ASSIGN = "assign_to_params_buffers"
_CHECK_ONLY = "_check_only"
_ASSIGNED = "_assigned"


class LoadedKeys(NamedTuple):
    """The missing and unexpected keys of `Module.load_state_dict`."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class StateDict(OrderedDict[str, Any]):
    """Tensors and extra state by key. ``_metadata`` has the version of each module by its name."""

    _metadata: dict[str, dict[str, Any]]


def checks_first(load: Callable[..., None]) -> Callable[..., None]:
    """Marks a ``_load_from_state_dict`` that changes nothing where it is asked only to check."""
    load._checks_first = True  # type: ignore[attr-defined]
    return load


def saved(module: Module, destination: Any, prefix: str, keep_vars: bool) -> Any:
    """What ``Module.state_dict`` does."""
    if destination is None:
        destination = StateDict()
        destination._metadata = {}
    local_metadata = {"version": module._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = local_metadata
    for hook, _, _ in module._hooks("_state_dict_pre_hooks"):
        hook(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._own("_modules").items():
        if child is not None:
            child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for hook, may_replace, _ in module._hooks("_state_dict_hooks"):
        result = hook(module, destination, prefix, local_metadata)
        if result is not None and not may_replace:
            raise RuntimeError("state_dict post-hook must return None; change the state dict in place")
        if result is not None:
            destination = result
    return destination


def save_own(module: Module, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
    """What ``Module._save_to_state_dict`` does."""
    for name, tensor in _own_state(module):
        destination[prefix + name] = tensor if keep_vars else tensor.detach()
    if _overrides(module, "get_extra_state"):
        destination[prefix + EXTRA] = module.get_extra_state()


def loaded(module: Module, state_dict: Mapping[str, Any], strict: bool, assign: bool) -> LoadedKeys:
    """What ``Module.load_state_dict`` does.

    A state dict that does not fit changes nothing, unless modules load in a way of their own, which cannot be foreseen.
    """
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"expected state_dict to be dict-like, found {type(state_dict).__name__}")
    metadata = getattr(state_dict, "_metadata", None) or {}
    if all(_can_check(part) for part in module.modules()):
        _Loading(module, metadata, assign, check_only=True).run(state_dict).finish(strict)
    return _Loading(module, metadata, assign, check_only=False).run(state_dict).finish(strict)


class _Loading:
    """One way through a module and those below it, and what it has found."""

    def __init__(self, root: Module, metadata: Mapping[str, Any], assign: bool, check_only: bool) -> None:
        self.root = root
        self.metadata = metadata
        self.settings: dict[str, Any] = {}
        if assign:
            self.settings.update({_ASSIGN: True, _ASSIGNED: {}})
        if check_only:
            self.settings[_CHECK_ONLY] = True
        self.keys = LoadedKeys([], [])
        self.problems: list[str] = []

    def run(self, state_dict: Mapping[str, Any]) -> _Loading:
        # Modules may change the dict that they are given.
        self.load(self.root, dict(state_dict), "")
        return self

    def load(self, module: Module, state_dict: dict[str, Any], prefix: str) -> None:
        local_metadata = {**self.metadata.get(prefix[:-1], {}), **self.settings}
        module._load_from_state_dict(
            state_dict,
            prefix,
            local_metadata,
            True,
            self.keys.missing_keys,
            self.keys.unexpected_keys,
            self.problems,
        )
        for name, child in module._own("_modules").items():
            if child is not None:
                below = f"{prefix}{name}."
                self.load(child, {key: value for key, value in state_dict.items() if key.startswith(below)}, below)
        if _CHECK_ONLY in self.settings:
            return
        for hook, _, _ in module._hooks("_load_state_dict_post_hooks"):
            if hook(module, self.keys) is not None:
                raise RuntimeError(
                    "hooks registered with register_load_state_dict_post_hook must return None; "
                    "change the lists of keys in place"
                )

    def finish(self, strict: bool) -> LoadedKeys:
        problems = list(self.problems)
        if strict:
            found = [
                f"{what} key(s) in state_dict: {_quoted(keys)}."
                for what, keys in (("Missing", self.keys.missing_keys), ("Unexpected", self.keys.unexpected_keys))
                if keys
            ]
            if found:
                found.append("strict=False leaves missing and unexpected keys out.")
            problems = found + problems
        if problems:
            lines = "".join(f"\n\t{line}" for line in problems)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self.root).__name__}:{lines}")
        return self.keys


def load_own(
    module: Module,
    state_dict: dict[str, Any],
    prefix: str,
    local_metadata: dict[str, Any],
    strict: bool,
    missing_keys: list[str],
    unexpected_keys: list[str],
    error_msgs: list[str],
) -> None:
    """What ``Module._load_from_state_dict`` does."""
    for hook, with_module, _ in module._hooks("_load_state_dict_pre_hooks"):
        args = (state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        hook(module, *args) if with_module else hook(*args)
    own = dict(_own_state(module))
    for name, tensor in own.items():
        key = prefix + name
        if key not in state_dict:
            if strict:
                missing_keys.append(key)
            continue
        value = state_dict[key]
        problem = _misfit(key, value, tensor)
        if problem is not None:
            error_msgs.append(problem)
        elif not local_metadata.get(_CHECK_ONLY):
            _take(module, name, tensor, value, key, local_metadata, error_msgs)
    extra = prefix + EXTRA
    if _overrides(module, "set_extra_state"):
        if extra not in state_dict:
            if strict:
                missing_keys.append(extra)
        elif not local_metadata.get(_CHECK_ONLY):
            module.set_extra_state(state_dict[extra])
    elif strict and extra in state_dict:
        unexpected_keys.append(extra)
    if strict:
        children = module._own("_modules")
        for key in state_dict:
            if key.startswith(prefix) and key != extra:
                name, dot, _ = key[len(prefix) :].partition(".")
                if name not in (children if dot else own):
                    unexpected_keys.append(key)


def _take(
    module: Module,
    name: str,
    tensor: Tensor,
    value: Tensor,
    key: str,
    local_metadata: dict[str, Any],
    error_msgs: list[str],
) -> None:
    """Copies a value into a tensor of the module, or puts it there in its place."""
    try:
        with no_grad():
            if not local_metadata.get(_ASSIGN):
                tensor.copy_(value.reshape(tensor.shape))
                return
            if name in module._own("_parameters"):
                value = _assigned(tensor, value, local_metadata.get(_ASSIGNED, {}))
            setattr(module, name, value)
    except Exception as error:  # noqa: BLE001 what a backend or a subclass raises is reported with all the others
        error_msgs.append(
            f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.shape} and whose '
            f"dimensions in the checkpoint are {value.shape}, an exception occurred: {error}."
        )


def _assigned(tensor: Tensor, value: Tensor, assigned: dict[int, Any]) -> Tensor:
    """The parameter of a value. Where tied parameters get one memory, they stay one parameter."""
    before, made = assigned.get(id(tensor), (None, None))
    if made is not None and _is_same_memory(made, value):
        parameter: Tensor = made
        return parameter
    if isinstance(value, Parameter):
        made = value.requires_grad_(tensor.requires_grad)
    else:
        made = Parameter(value, tensor.requires_grad)
    # The old tensor is kept alive, so that no other one gets its id meanwhile.
    assigned[id(tensor)] = tensor, made
    return made


def _is_same_memory(a: Tensor, b: Tensor) -> bool:
    if a is b:
        return True
    is_alike = a.shape == b.shape and a.stride() == b.stride() and a.dtype == b.dtype and a.device == b.device
    return is_alike and a.device.type != "meta" and a.data_ptr() == b.data_ptr()


def _misfit(key: str, value: Any, tensor: Tensor) -> str | None:
    """What is wrong with the value of a key, if anything is."""
    if not isinstance(value, TensorBase):
        return f'While copying the parameter named "{key}", expected a tensor, found {type(value).__name__}.'
    # A number may have been saved as a list of one.
    if value.shape == tensor.shape or (tensor.dim() == 0 and value.shape == (1,)):
        return None
    return (
        f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
        f"the shape in current model is {tensor.shape}."
    )


def _own_state(module: Module) -> Iterator[tuple[str, Tensor]]:
    """The parameters and the persistent buffers of a module itself."""
    temporary = module._own("_temporary")
    for kind in ("_parameters", "_buffers"):
        for name, tensor in module._own(kind).items():
            if tensor is not None and name not in temporary:
                yield name, tensor


def _overrides(module: Module, name: str) -> bool:
    from .module import Module

    return getattr(type(module), name) is not getattr(Module, name)


def _can_check(module: Module) -> bool:
    """Whether the module's loading can be tried without changing anything."""
    may_check = getattr(module._load_from_state_dict, "_checks_first", False)
    return may_check and not module._hooks("_load_state_dict_pre_hooks")


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
