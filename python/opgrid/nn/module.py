"""Modules: what holds parameters, buffers and other modules, and computes with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Self

import opgrid as og

from .. import _opgrid
from .._opgrid import Tensor, TensorBase
from ..autograd import no_grad
from .parameter import Parameter, mark


class LoadedKeys(NamedTuple):
    """What `Module.load_state_dict` did not find, and what it had no place for."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"LoadedKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class HookHandle:
    """A hook that was registered."""

    def __init__(self, hooks: dict[int, Any]) -> None:
        self._hooks = hooks

    def remove(self) -> None:
        """Takes the hook out."""
        self._hooks.pop(id(self), None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.remove()


def _hooked(hooks: dict[int, Any], hook: tuple[Callable[..., Any], bool], first: bool) -> HookHandle:
    handle = HookHandle(hooks)
    others = dict(hooks) if first else {}
    if first:
        hooks.clear()
    # The handle is kept with its hook: its number stays its own as long as that.
    hooks[id(handle)] = (*hook, handle)
    hooks.update(others)
    return handle


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


class Module:
    """What networks are made of.

    A class derived from it calls ``super().__init__()``, sets parameters and other modules as attributes, and defines
    ``forward``.
    """

    training: bool
    forward: Callable[..., Any]

    def __init__(self) -> None:
        places = vars(self)
        places["training"] = True
        for name in ("_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks"):
            places[name] = {}
        places["_temporary"] = set()

    # Attributes

    def __getattr__(self, name: str) -> Any:
        places = vars(self)
        for kind in ("_parameters", "_buffers", "_modules"):
            if kind in places and name in places[kind]:
                return places[kind][name]
        if name == "forward":
            raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')
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
            self._forget(name)
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if name not in places["_modules"]:
                self._forget(name)
            self.register_module(name, value)
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

    def _forget(self, name: str) -> None:
        """Makes place for another attribute of the name."""
        places = vars(self)
        places.pop(name, None)
        for kind in ("_parameters", "_buffers", "_modules"):
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
        """Adds a parameter, or the name of one that is not there."""
        self._check_name("_parameters", name, "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(_refused(param, "parameter", name, "opgrid.nn.Parameter"))
        vars(self)["_parameters"][name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that is no parameter; with ``persistent=False`` one that state dicts do not have."""
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

    # Calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        places = vars(self)
        for hook, with_kwargs, _ in list(places["_forward_pre_hooks"].values()):
            if with_kwargs:
                given = hook(self, args, kwargs)
                if given is not None:
                    args, kwargs = given
                continue
            given = hook(self, args)
            if given is not None:
                args = given if isinstance(given, tuple) else (given,)
        result = self.forward(*args, **kwargs)
        for hook, with_kwargs, _ in list(places["_forward_hooks"].values()):
            given = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
            if given is not None:
                result = given
        return result

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Calls ``hook(module, args)`` before ``forward``; what it returns takes the place of ``args``.

        With ``with_kwargs`` it is ``hook(module, args, kwargs)``, which returns both or ``None``.
        """
        return _hooked(vars(self)["_forward_pre_hooks"], (hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Calls ``hook(module, args, result)`` after ``forward``; what it returns takes the place of ``result``.

        With ``with_kwargs`` it is ``hook(module, args, kwargs, result)``.
        """
        return _hooked(vars(self)["_forward_hooks"], (hook, with_kwargs), prepend)

    # What there is

    def _own(self, kind: str) -> dict[str, Any]:
        found: dict[str, Any] = vars(self)[kind]
        return found

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules right in this one, each once."""
        seen: set[int] = set()
        for name, module in self._own("_modules").items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules right in this one."""
        return (module for _, module in self.named_children())

    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all within, with their names from here."""
        memo = set() if memo is None else memo
        if remove_duplicate and id(self) in memo:
            return
        memo.add(id(self))
        yield prefix, self
        for name, module in self._own("_modules").items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all within."""
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
        """The parameters with their names, as in ``0.weight``."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their names."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The module with that name from here, as in ``encoder.0``."""
        module = self
        for name in target.split(".") if target else ():
            found = module._own("_modules").get(name)
            if found is None:
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`, which '{target}' asks for")
            module = found
        return module

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with that name from here, as in ``encoder.0.weight``."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._own("_parameters").get(name)
        if found is None:
            raise AttributeError(f"`{target}` is not a parameter of {type(self).__name__}")
        parameter: Parameter = found
        return parameter

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with that name from here."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._own("_buffers").get(name)
        if found is None:
            raise AttributeError(f"`{target}` is not a buffer of {type(self).__name__}")
        buffer: Tensor = found
        return buffer

    # What changes all modules within

    def train(self, mode: bool = True) -> Self:
        """Says that the module is being trained, for those that compute something else then, as `Dropout`."""
        if not isinstance(mode, bool):
            raise ValueError(f"training mode is expected to be boolean, found {type(mode).__name__}")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """Says that the module is in use, not being trained."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Asks for gradients by all parameters, or by none."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters, or makes them zero."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                parameter.grad = og.zeros_like(parameter.grad)

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Calls ``fn`` with all modules within, and with this one last."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor]) -> Self:
        """Replaces all parameters and buffers by what ``fn`` makes of them; those in several places stay one."""
        made: dict[int, tuple[Any, Any]] = {}
        for module in self.modules():
            for kind in ("_parameters", "_buffers"):
                own = module._own(kind)
                for name, tensor in own.items():
                    if tensor is None:
                        continue
                    # The old tensor is kept beside the new one: its number stays its own as long as that.
                    if id(tensor) not in made:
                        made[id(tensor)] = tensor, self._converted(tensor, fn, kind == "_parameters")
                    own[name] = made[id(tensor)][1]
        return self

    @staticmethod
    def _converted(tensor: Any, fn: Callable[[Tensor], Tensor], is_parameter: bool) -> Any:
        with no_grad():
            result = fn(tensor)
        if not is_parameter or result is tensor:
            return result
        parameter = Parameter(result, tensor.requires_grad)
        if tensor.grad is not None:
            parameter.grad = fn(tensor.grad)
        return parameter

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Moves parameters and buffers: ``to(device)``, ``to(dtype)``, ``to(device, dtype)``, ``to(tensor)``.

        A dtype is that of floating-point tensors only. Tensors that change are new ones: make optimizers afterwards.
        """
        device, dtype = _wanted(args, kwargs)

        def move(tensor: Tensor) -> Tensor:
            changes = dtype is not None and tensor.is_floating_point()
            options: dict[str, Any] = {}
            if device is not None and _opgrid.device(device) != tensor.device:
                options["device"] = device
            if changes and dtype != tensor.dtype:
                options["dtype"] = dtype
            return tensor.to(**options) if options else tensor

        return self._apply(move)

    def cpu(self) -> Self:
        """Moves parameters and buffers to the CPU."""
        return self.to("cpu")

    def float(self) -> Self:
        """Makes floating-point parameters and buffers float32."""
        return self.to(og.float32)

    def double(self) -> Self:
        """Makes floating-point parameters and buffers float64."""
        return self.to(og.float64)

    def half(self) -> Self:
        """Makes floating-point parameters and buffers float16."""
        return self.to(og.float16)

    def bfloat16(self) -> Self:
        """Makes floating-point parameters and buffers bfloat16."""
        return self.to(og.bfloat16)

    # State

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> dict[str, Tensor]:
        """Parameters and lasting buffers by name, for ``opgrid.save``. They share their elements with the module."""
        found: dict[str, Tensor] = {}
        for place, module in self.named_modules(prefix=prefix.removesuffix("."), remove_duplicate=False):
            for name, tensor in module._state():
                found[f"{place}.{name}" if place else name] = tensor if keep_vars else tensor.detach()
        return found

    def _state(self) -> Iterator[tuple[str, Tensor]]:
        places = vars(self)
        for kind in ("_parameters", "_buffers"):
            for name, tensor in places[kind].items():
                if tensor is not None and name not in places["_temporary"]:
                    yield name, tensor

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> LoadedKeys:
        """Copies what a state dict holds into parameters and buffers; with ``assign``, takes its tensors themselves.

        Names that are missing or too many are errors unless ``strict`` is false; shapes that differ always are.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"expected state_dict to be dict-like, found {type(state_dict).__name__}")
        places = {
            f"{place}.{name}" if place else name: (module, name, tensor)
            for place, module in self.named_modules(remove_duplicate=False)
            for name, tensor in module._state()
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
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:{lines}")
        with no_grad():
            for key, (module, name, tensor) in places.items():
                if key in state_dict:
                    module._take(name, tensor, state_dict[key], assign)
        return LoadedKeys(missing, unexpected)

    def _take(self, name: str, tensor: Tensor, value: Tensor, assign: bool) -> None:
        places = vars(self)
        if not assign:
            tensor.copy_(value)
        elif name in places["_parameters"]:
            places["_parameters"][name] = Parameter(value, tensor.requires_grad)
        else:
            places["_buffers"][name] = value

    def __getstate__(self) -> dict[str, Any]:
        # What pickles and copies of tensors do not keep.
        state = dict(vars(self))
        state["_learned"] = {name: p.requires_grad for name, p in state["_parameters"].items() if p is not None}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        learned = state.pop("_learned", {})
        vars(self).update(state)
        for name, requires_grad in learned.items():
            mark(state["_parameters"][name]).requires_grad_(requires_grad)

    # Text

    def extra_repr(self) -> str:
        """What stands between the parentheses of the module's text."""
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


def _wanted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The device and the dtype that the arguments of ``Module.to`` ask for."""
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    for name in kwargs:
        if name not in ("non_blocking", "copy"):
            raise TypeError(f"to() got an unexpected keyword argument '{name}'")
    for given in args:
        if isinstance(given, TensorBase):
            device, dtype = given.device, given.dtype
        elif isinstance(given, _opgrid.dtype):
            dtype = given
        elif isinstance(given, (str, _opgrid.device)):
            device = given
        elif given is not None and not isinstance(given, bool):
            raise TypeError(f"to(): expected a device, a dtype or a tensor, found {type(given).__name__}")
    if dtype is not None and not dtype.is_floating_point:
        raise TypeError(f"to(): modules take floating-point dtypes only, found {dtype}")
    return device, dtype


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
