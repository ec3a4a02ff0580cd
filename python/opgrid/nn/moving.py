"""Moving modules to other dtypes and devices: what ``Module.to`` is asked for, and how parameters take over results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _opgrid
from .._opgrid import Tensor, TensorBase
from ..autograd import no_grad
from .parameter import Parameter, is_lazy

if TYPE_CHECKING:
    from .module import Module


class Once:
    """A function of tensors that is called once for each tensor, so that tied tensors stay tied.

    With ``makes_copies``, nobody else has its results.
    """

    def __init__(self, fn: Callable[[Tensor], Tensor], makes_copies: bool = False) -> None:
        self.fn = fn
        self.makes_copies = makes_copies
        self.results: dict[int, tuple[Tensor, Tensor]] = {}

    def __call__(self, tensor: Tensor) -> Tensor:
        # The tensor is kept alive, so that no other one gets its id meanwhile.
        if id(tensor) not in self.results:
            self.results[id(tensor)] = tensor, self.fn(tensor)
        return self.results[id(tensor)][1]


def move_own(module: Module, fn: Once) -> None:
    """Gives the parameters and buffers of a module itself the results of a function."""
    parameters, buffers = module._own("_parameters"), module._own("_buffers")
    for name, parameter in parameters.items():
        if is_lazy(parameter):
            _move_lazy(parameter, fn)
        elif parameter is not None:
            parameters[name] = _moved(parameter, fn)
    for name, buffer in buffers.items():
        if is_lazy(buffer):
            _move_lazy(buffer, fn)
        elif buffer is not None:
            with no_grad():
                buffers[name] = fn(buffer)


def _move_lazy(tensor: Any, fn: Once) -> None:
    """Moves a tensor that has no elements yet, and stays the object that waits for them."""
    with no_grad():
        tensor.data = fn.fn(tensor.detach())


def _moved(parameter: Any, fn: Once) -> Any:
    """The parameter with the result as its elements, or a new one of the result."""
    known = fn.results.get(id(parameter))
    if known is not None and (known[1] is parameter or isinstance(known[1], Parameter)):
        return known[1]
    with no_grad():
        result = fn.fn(parameter)
        grad = None if parameter.grad is None else fn.fn(parameter.grad)
    moved = parameter
    if result is not parameter and can_replace(parameter, result):
        _opgrid._replace_elements(parameter, result, fn.makes_copies)
        if grad is not None and grad is not parameter.grad:
            _opgrid._replace_elements(parameter.grad, grad, fn.makes_copies)
    elif result is not parameter:
        moved = Parameter(result, parameter.requires_grad)
        moved.grad = grad
    fn.results[id(parameter)] = parameter, moved
    return moved


def can_replace(tensor: Tensor, other: Tensor) -> bool:
    """Whether a tensor can take over the elements of another one: only where that is of the same kind and device."""
    is_alike = type(tensor) is type(other) and tensor.device == other.device and tensor.layout == other.layout
    return is_alike and not other.requires_grad


def target_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The device, the dtype and the memory format that the arguments of ``Module.to`` ask for."""
    device, dtype, memory_format = (kwargs.pop(name, None) for name in ("device", "dtype", "memory_format"))
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
    return device, dtype, memory_format
