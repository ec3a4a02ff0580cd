"""Tensors of modules that are computed from others, by modules that are registered for them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from ..._opgrid import TensorBase
from ...autograd import no_grad
from ..containers import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache: dict[tuple[int, str], Any] = {}
_cache_depth = 0


@contextmanager
def cached() -> Iterator[None]:
    """Computes each parametrized tensor once inside of the block."""
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if _cache_depth == 0:
            _cache.clear()


def _register(module: Module, name: str, tensor: Any) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _set(tensor: Any, value: Any) -> None:
    """Gives a tensor the elements of another one, also of another shape."""
    tensor.data = value.detach()


class ParametrizationList(ModuleList):
    """The parametrizations of a tensor, and the tensors that it is computed from.

    It has one, ``original``, or as many as the first ``right_inverse`` gives: ``original0``, ``original1`` and so on.
    """

    def __init__(self, modules: Sequence[Module], original: Any, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            found: Any = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        found = module.right_inverse(found)
                    except NotImplementedError:
                        pass
        if not isinstance(found, (TensorBase, Sequence)):
            raise ValueError(
                f"right_inverse of a parametrization returned {type(found).__name__}, expected a tensor or a sequence of tensors"
            )
        self.is_tensor = isinstance(found, TensorBase)
        self.ntensors = 1 if isinstance(found, TensorBase) else len(found)
        if isinstance(found, TensorBase):
            _expect_like("right_inverse of a parametrization", found, None, dtype)
            if found.device != original.device:
                raise ValueError(f"right_inverse of a parametrization is on {found.device}, expected {original.device}")
            if found is not original:
                _set(original, found)
            _register(self, "original", original)
        else:
            for place, part in enumerate(found):
                _expect_tensor(f"element {place} of right_inverse of a parametrization", part)
                made = Parameter(part) if isinstance(original, Parameter) else part
                _register(self, f"original{place}", made.requires_grad_(original.requires_grad))
        if not unsafe:
            _expect_like("a parametrization", self(), shape, dtype)

    def _originals(self) -> list[Any]:
        names = ["original"] if self.is_tensor else [f"original{place}" for place in range(self.ntensors)]
        return [getattr(self, name) for name in names]

    def right_inverse(self, value: Any) -> None:
        """Sets the originals, so that the tensor becomes a value."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            values = [value] if self.is_tensor else value
            if not isinstance(values, Sequence) or len(values) != self.ntensors:
                raise ValueError(f"right_inverse of a parametrization: expected {self.ntensors} tensors, found {type(value).__name__}")
            for original, found in zip(self._originals(), values, strict=True):
                _expect_like("right_inverse of a parametrization", found, None, original.dtype)
                _set(original, found)

    def forward(self) -> Any:
        first, *others = self
        x = first(*self._originals())
        for module in others:
            x = module(x)
        return x


def _expect_tensor(what: str, found: Any) -> None:
    if not isinstance(found, TensorBase):
        raise ValueError(f"{what} is of class {type(found).__name__}, expected a tensor")


def _expect_like(what: str, found: Any, shape: Any, dtype: Any) -> None:
    """Raises unless a result is a tensor of a dtype, and unless it is ``None``, of a shape."""
    _expect_tensor(what, found)
    if found.dtype != dtype:
        raise ValueError(f"{what} is of {found.dtype}, expected {dtype}; unsafe=True lets parametrizations change it")
    if shape is not None and found.shape != shape:
        raise ValueError(
            f"{what} has shape {list(found.shape)}, expected {list(shape)}; unsafe=True lets parametrizations change it"
        )


def _getstate(self: Any) -> NoReturn:
    raise RuntimeError("a parametrized module cannot be pickled; save and load its state_dict() instead")


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    kind = type(self)
    # A class of its own, since removing a parametrization takes the property off the class.
    own = {name: value for name, value in vars(kind).items() if name not in ("__dict__", "__weakref__")}
    made = memo[id(self)] = self.__new__(type(kind.__name__, kind.__bases__, own))
    vars(made).update(copy.deepcopy(vars(self), memo))
    return made


def _give_own_class(module: Module) -> None:
    """A class for this module alone, which can have properties."""
    kind = type(module)
    extra: dict[str, Any] = {"__getstate__": _getstate, "__module__": kind.__module__}
    if not hasattr(kind, "__deepcopy__"):
        extra["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), extra)


def _give_property(module: Module, name: str) -> None:
    """A property of the module's class that computes the tensor, and sets the originals."""

    def compute(self: Any) -> Any:
        parametrization = self.parametrizations[name]
        if not _cache_depth:
            return parametrization()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def assign(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(compute, assign))


def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Module:
    """Computes a parameter or buffer of a module by ``parametrization(original)``, after those that are registered already.

    ``parametrization.right_inverse(value)``, if it has one, says what originals give a value; assignments use it. Shapes
    and dtypes have to stay the same unless ``unsafe`` is true.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            before = getattr(module, tensor_name)
            after = parametrization(before)
            _expect_like("a parametrization", after, before.shape, before.dtype)
            if hasattr(parametrization, "right_inverse"):
                try:
                    back = parametrization.right_inverse(after)
                except NotImplementedError:
                    pass
                else:
                    _expect_like("right_inverse of a parametrization", back, before.shape, before.dtype)
        registered = module.parametrizations[tensor_name]
        registered.append(parametrization)
        registered.unsafe = registered.unsafe or unsafe
        return module
    if tensor_name not in module._own("_parameters") and tensor_name not in module._own("_buffers"):
        raise ValueError(f"{type(module).__name__} has no parameter, buffer or parametrized tensor with name '{tensor_name}'")
    made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _give_own_class(module)
        module.parametrizations = ModuleDict()
    _give_property(module, tensor_name)
    module.parametrizations[tensor_name] = made
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a tensor of a module is parametrized, or any of its tensors."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Makes a tensor a usual one again: with its value of now, or with ``leave_parametrized=False`` the original one."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"{type(module).__name__} has no parametrization of {tensor_name}")
    registered = module.parametrizations[tensor_name]
    if not registered.is_tensor and not leave_parametrized:
        raise ValueError(
            f"leave_parametrized=False: {tensor_name} is computed from {registered.ntensors} tensors, expected one original"
        )
    original = registered._originals()[0]
    if leave_parametrized:
        requires_grad = original.requires_grad
        with no_grad():
            value = getattr(module, tensor_name)
        if registered.is_tensor:
            _set(original, value)
        else:
            original = Parameter(value) if requires_grad else value
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of a module without its parametrizations."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Registers the parametrizations of a module, or of one of its tensors, with another one, which shares the originals."""
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        registered = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in registered:
            register_parametrization(to_module, name, parametrization)
        for kind in ("_parameters", "_buffers"):
            to_module.parametrizations[name]._own(kind).update(registered._own(kind))
    return to_module
