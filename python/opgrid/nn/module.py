"""Modules: parameters, buffers and other modules, with a function that computes with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import opgrid as og

from .. import _opgrid
from .._opgrid import Tensor, TensorBase
from ..autograd import no_grad
from .hooks import EVERYWHERE, HookHandle, called, hooked
from .loading import LoadedKeys, checks_first, load_own, loaded, save_own, saved
from .moving import Once, move_own, target_of
from .parameter import Buffer, Parameter, mark


def _indented(text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *("  " + line for line in rest)])


def _too_early(module: Module, what: str) -> str:
    name = type(module).__name__
    return f"cannot assign {what} before Module.__init__() call; call super().__init__() first in {name}.__init__"


def _refused(value: object, what: str, name: str, expected: str) -> str:
    return f"cannot assign '{_kind(value)}' object to {what} '{name}' ({expected} or None required)"


def _kind(value: object) -> str:
    return f"opgrid.{type(value).__name__}" if isinstance(value, TensorBase) else type(value).__name__


def _missing_forward(self: Module, *args: Any, **kwargs: Any) -> Any:
    """Computes the result; every module defines its own."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


_HOOKS = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


class Module:
    """The base class of networks and their layers.

    A subclass calls ``super().__init__()``, assigns parameters and other modules to attributes and defines ``forward``.
    """

    training: bool
    _version: int = 1
    """Goes with state dicts, in their ``_metadata``, for modules whose state has changed its form."""
    forward: Callable[..., Any] = _missing_forward

    def __init__(self) -> None:
        places = vars(self)
        places["training"] = True
        for name in ("_parameters", "_buffers", "_modules", *_HOOKS):
            places[name] = {}
        places["_temporary"] = set()

    def __getattr__(self, name: str) -> Any:
        places = vars(self)
        for kind in ("_parameters", "_buffers", "_modules"):
            if kind in places and name in places[kind]:
                return places[kind][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        places = vars(self)
        is_parameter = isinstance(value, Parameter)
        if "_modules" not in places:
            if is_parameter or isinstance(value, Module):
                what = "parameters" if is_parameter else "module"
                raise AttributeError(_too_early(self, what))
            places[name] = value
        elif is_parameter:
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name, "_modules")
            self.register_module(name, value)
        elif isinstance(value, Buffer) and name not in places["_buffers"]:
            self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)
        elif name in places["_parameters"]:
            self._replace("_parameters", name, value, "parameter", "opgrid.nn.Parameter", None)
        elif name in places["_modules"]:
            self._replace("_modules", name, value, "child module", "opgrid.nn.Module", None)
        elif name in places["_buffers"]:
            self._replace("_buffers", name, value, "buffer", "opgrid.Tensor", TensorBase)
        else:
            super().__setattr__(name, value)

    def _replace(self, kind: str, name: str, value: Any, what: str, expected: str, allowed: type | None) -> None:
        if value is not None and not (allowed is not None and isinstance(value, allowed)):
            raise TypeError(_refused(value, what, name, expected))
        vars(self)[kind][name] = value

    def __delattr__(self, name: str) -> None:
        places = vars(self)
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in places.get(kind, ()):
                del places[kind][name]
                places["_temporary"].discard(name)
                return
        super().__delattr__(name)

    def _forget(self, name: str, new: str) -> None:
        """Removes an attribute that becomes one of another kind; one of the same kind keeps its position."""
        places = vars(self)
        places.pop(name, None)
        for kind in {"_parameters", "_buffers", "_modules"} - {new}:
            places[kind].pop(name, None)
        places["_temporary"].discard(name)

    def __dir__(self) -> list[str]:
        own = vars(self)
        names = {name for kind in ("_parameters", "_buffers", "_modules") for name in own.get(kind, ())}
        return sorted({*super().__dir__(), *names})

    def _check_name(self, kind: str, name: Any, what: str) -> None:
        places = vars(self)
        if "_modules" not in places:
            raise AttributeError(_too_early(self, what))
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string, found {type(name).__name__}")
        if name == "" or "." in name:
            raise KeyError(f'{what} name can\'t be empty or contain "."; found "{name}"')
        if hasattr(self, name) and name not in places[kind]:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter; ``None`` reserves its name."""
        self._check_name("_parameters", name, "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(_refused(param, "parameter", name, "opgrid.nn.Parameter"))
        vars(self)["_parameters"][name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that is not a parameter; ``persistent=False`` leaves it out of state dicts."""
        self._check_name("_buffers", name, "buffer")
        if tensor is not None and not isinstance(tensor, TensorBase):
            raise TypeError(_refused(tensor, "buffer", name, "opgrid.Tensor"))
        places = vars(self)
        places["_buffers"][name] = tensor
        places["_temporary"].discard(name)
        if not persistent:
            places["_temporary"].add(name)

    def register_module(self, name: str, module: Module | None) -> None:
        """Adds a module."""
        self._check_name("_modules", name, "module")
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_kind(module)} is not a Module subclass, as module '{name}' has to be")
        vars(self)["_modules"][name] = module

    add_module = register_module

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        places = vars(self)
        # A module that was pickled by an older version has no backward hooks.
        backward = places.get("_backward_hooks") or places.get("_backward_pre_hooks")
        if backward or places["_forward_hooks"] or places["_forward_pre_hooks"] or EVERYWHERE:
            return called(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Calls ``hook(module, args)`` before ``forward``; a result, unless ``None``, replaces ``args``.

        With ``with_kwargs`` it is ``hook(module, args, kwargs)``, which returns both or ``None``.
        """
        return hooked(vars(self)["_forward_pre_hooks"], (hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> HookHandle:
        """Calls ``hook(module, args, result)`` after ``forward``; a result, unless ``None``, replaces ``result``.

        With ``with_kwargs`` it is ``hook(module, args, kwargs, result)``. With ``always_call`` it is also called after an
        error, with ``None`` as the result.
        """
        return hooked(vars(self)["_forward_hooks"], (hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Calls ``hook(module, grad_output)`` before the backward pass of ``forward``; a result replaces ``grad_output``."""
        return self._hooked("_backward_pre_hooks", hook, False, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Calls ``hook(module, grad_input, grad_output)`` after the backward pass of ``forward``; a result replaces ``grad_input``.

        Both are tuples with a place for each positional argument and each result, ``None`` where that is no tensor.
        """
        return self._hooked("_backward_hooks", hook, False, prepend)

    register_backward_hook = register_full_backward_hook

    def _own(self, kind: str) -> dict[str, Any]:
        found: dict[str, Any] = vars(self)[kind]
        return found

    def _hooks(self, kind: str) -> list[Any]:
        # A module that was pickled by an older version has fewer kinds.
        return list(vars(self).get(kind, {}).values())

    def _hooked(self, kind: str, hook: Callable[..., Any], flag: bool, prepend: bool = False) -> HookHandle:
        return hooked(vars(self).setdefault(kind, {}), (hook, flag), prepend)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct submodules with their names, each once."""
        seen: set[int] = set()
        for name, module in self._own("_modules").items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """The direct submodules."""
        return (module for _, module in self.named_children())

    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all submodules, with their dotted names."""
        memo = set() if memo is None else memo
        if remove_duplicate and id(self) in memo:
            return
        memo.add(id(self))
        yield prefix, self
        for name, module in self._own("_modules").items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all submodules."""
        return (module for _, module in self.named_modules())

    def _named(self, kind: str, prefix: str, recurse: bool, once: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=once) if recurse else [(prefix, self)]
        for place, module in modules:
            for name, value in module._own(kind).items():
                if value is None or (once and id(value) in seen):
                    continue
                seen.add(id(value))
                yield f"{place}.{name}" if place else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The submodule with a dotted name, such as ``encoder.0``."""
        module = self
        for name in target.split(".") if target else ():
            found = module._own("_modules").get(name)
            if found is None:
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`, which '{target}' asks for")
            module = found
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts a module at a dotted name, such as ``encoder.0``; with ``strict``, only in place of another one."""
        path, _, name = target.rpartition(".")
        if not target:
            raise ValueError("set_submodule(): target is empty, expected the name of a submodule")
        if not isinstance(module, Module):
            raise ValueError(f"set_submodule(): module is of class {_kind(module)}, expected a module")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`, which '{target}' asks for")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` of {type(parent).__name__} is not a module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with a dotted name, such as ``encoder.0.weight``."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._own("_parameters").get(name)
        if found is None:
            raise AttributeError(f"`{target}` is not a parameter of {type(self).__name__}")
        parameter: Parameter = found
        return parameter

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with a dotted name."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._own("_buffers").get(name)
        if found is None:
            raise AttributeError(f"`{target}` is not a buffer of {type(self).__name__}")
        buffer: Tensor = found
        return buffer

    def train(self, mode: bool = True) -> Self:
        """Sets training mode, in which some modules, such as `Dropout`, compute something else."""
        if not isinstance(mode, bool):
            raise ValueError(f"training mode is expected to be boolean, found {type(mode).__name__}")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """Sets evaluation mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Switches gradients of all parameters on or off."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Removes the gradients of all parameters, or sets them to zero."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                parameter.grad = og.zeros_like(parameter.grad)

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Calls ``fn`` with every submodule, then with this module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Gives all parameters and buffers the results of ``fn``; tied ones stay tied.

        A parameter stays the same object, so that optimizers go on with it, unless its device changes. So does its
        gradient.
        """
        once = fn if isinstance(fn, Once) else Once(fn)
        if recurse:
            for module in self.children():
                module._apply(once)
        move_own(self, once)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Moves parameters and buffers: ``to(device)``, ``to(dtype)``, ``to(device, dtype)``, ``to(tensor)``, ``to(memory_format=…)``.

        Only floating-point tensors change their dtype, and only those of 4 or 5 dimensions their memory format. Parameters stay the same objects, and optimizers go on with them.
        On another device they are new ones: make optimizers after that.
        """
        device, dtype, memory_format = target_of(args, kwargs)

        def move(tensor: Tensor) -> Tensor:
            changes = dtype is not None and tensor.is_floating_point()
            options: dict[str, Any] = {}
            if device is not None and _opgrid.device(device) != tensor.device:
                options["device"] = device
            if changes and dtype != tensor.dtype:
                options["dtype"] = dtype
            if memory_format is not None and tensor.dim() in (4, 5):
                options["memory_format"] = memory_format
            return tensor.to(**options) if options else tensor

        return self._apply(Once(move, makes_copies=True))

    def type(self, dst_type: Any) -> Self:
        """Converts all parameters and buffers to a dtype."""
        return self._apply(Once(lambda tensor: tensor.to(dst_type), makes_copies=True))

    def share_memory(self) -> Self:
        """Moves parameters and buffers to memory that processes share, on devices that have it."""

        def share(tensor: Any) -> Any:
            return tensor.share_memory_()

        return self._apply(share)

    def cuda(self, device: Any = None) -> Self:
        """Moves parameters and buffers to a CUDA device, if there is one: the first, or that of a number."""
        named = f"cuda:{device}" if isinstance(device, int) else device
        return self.to("cuda" if named is None else named)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Takes what ``opgrid.compile`` takes, and runs as it is."""
        from ..compiler import compile

        compile(self, *args, **kwargs)

    def cpu(self) -> Self:
        """Moves parameters and buffers to the CPU."""
        return self.to("cpu")

    def float(self) -> Self:
        """Converts floating-point parameters and buffers to float32."""
        return self.to(og.float32)

    def double(self) -> Self:
        """Converts floating-point parameters and buffers to float64."""
        return self.to(og.float64)

    def half(self) -> Self:
        """Converts floating-point parameters and buffers to float16."""
        return self.to(og.float16)

    def bfloat16(self) -> Self:
        """Converts floating-point parameters and buffers to bfloat16."""
        return self.to(og.bfloat16)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Moves parameters and buffers without their elements, as from ``meta`` to a device that has memory."""
        return self._apply(lambda tensor: og.empty_like(tensor, device=device), recurse)

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Any]:
        """Parameters and persistent buffers by dotted name, sharing memory with the module, and extra state."""
        found: dict[str, Any] = saved(self, destination, prefix, keep_vars)
        return found

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Saves this module's own state, without that of modules below it; may be overridden."""
        save_own(self, destination, prefix, keep_vars)

    def get_extra_state(self) -> Any:
        """State beside parameters and buffers, to go with the state dict; for modules that override it."""
        raise RuntimeError(f"{type(self).__name__} has no extra state; override get_extra_state and set_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Takes back what ``get_extra_state`` gave; for modules that override it."""
        raise RuntimeError(f"{type(self).__name__} has no extra state; override get_extra_state and set_extra_state")

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> LoadedKeys:
        """Copies a state dict into parameters and buffers; with ``assign``, uses its tensors themselves.

        Missing and unexpected names are errors unless ``strict`` is false; shapes that differ always are. One error
        names all of them. Assigned parameters are new objects: make optimizers after that.
        """
        return loaded(self, state_dict, strict, assign)

    @checks_first
    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Loads this module's own state, without that of modules below it; may be overridden."""
        load_own(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Calls ``hook(module, prefix, keep_vars)`` before the module's state is saved."""
        return self._hooked("_state_dict_pre_hooks", hook, False)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Calls ``hook(module, state_dict, prefix, local_metadata)`` after the module's state was saved."""
        return self._hooked("_state_dict_hooks", hook, False)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """As `register_state_dict_post_hook`; what the hook returns, unless ``None``, replaces the state dict."""
        return self._hooked("_state_dict_hooks", hook, True)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Calls the hook with the module and the arguments of ``_load_from_state_dict`` before that loads."""
        return self._hooked("_load_state_dict_pre_hooks", hook, True)

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any], with_module: bool = False) -> HookHandle:
        """As `register_load_state_dict_pre_hook`, without the module unless ``with_module``."""
        return self._hooked("_load_state_dict_pre_hooks", hook, with_module)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Calls ``hook(module, keys)`` after the module has loaded; it may change the lists of keys."""
        return self._hooked("_load_state_dict_post_hooks", hook, False)

    def __getstate__(self) -> dict[str, Any]:
        # Copies of tensors lose the mark of parameters, pickles `requires_grad` as well.
        state = dict(vars(self))
        state["_learned"] = {name: p.requires_grad for name, p in state["_parameters"].items() if p is not None}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        learned = state.pop("_learned", {})
        vars(self).update(state)
        for name, requires_grad in learned.items():
            mark(state["_parameters"][name]).requires_grad_(requires_grad)

    def extra_repr(self) -> str:
        """The settings that ``repr`` shows between parentheses."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indented(repr(module))}" for name, module in self._own("_modules").items()]
        return self._framed(lines, children)

    def _framed(self, lines: list[str], children: list[str]) -> str:
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        every = [*lines, *children]
        inner = "\n  " + "\n  ".join(every) + "\n" if every else ""
        return f"{self._get_name()}({inner})"
