"""What code that implements ``__torch_function__`` asks of objects and functions."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable
from typing import Any, Self

from . import _opgrid
from ._tensor_methods import HANDLERS

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
    "get_overridable_functions",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]


class TorchFunctionMode:
    """A handler of functions and methods, for the length of a ``with`` block on this thread.

    A subclass says in ``__torch_function__`` what happens instead of a call; it usually calls ``func(*args, **kwargs)``. While it runs, the
    mode is left: what it calls goes to the modes around it. Functions that are written in Python are seen by the operators that they
    call.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no `__torch_function__`, which handles calls")

    def __enter__(self) -> Self:
        _opgrid._push_function_mode(self)
        return self

    def __exit__(self, *_raised: object) -> None:
        if _opgrid._pop_function_mode() is not self:
            raise RuntimeError(f"{type(self).__name__} is not the mode that was entered last; use modes in `with` statements")


class DisableTorchFunctionSubclass:
    """A ``with`` block in which classes are not asked what functions do with their objects; results are plain tensors."""

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> Self:
        self._before.append(_opgrid._set_classes_asked(False))
        return self

    def __exit__(self, *_raised: object) -> None:
        _opgrid._set_classes_asked(self._before.pop())


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A ``with`` block in which neither classes nor modes are asked what functions do."""

    def __init__(self) -> None:
        super().__init__()
        self._left: list[list[Any]] = []

    def __enter__(self) -> Self:
        self._left.append(list(iter(_opgrid._pop_function_mode, None)))
        return super().__enter__()

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)
        for mode in reversed(self._left.pop()):
            _opgrid._push_function_mode(mode)


def is_tensor_like(inp: Any) -> bool:
    """Whether the object is a tensor, or its class implements ``__torch_function__``."""
    return isinstance(inp, _opgrid.TensorBase) or hasattr(type(inp), "__torch_function__")


def _handler_of(kind: type) -> str | None:
    """The name of the class method by which a class says what functions do; ``None`` where it leaves it to tensors."""
    for name in HANDLERS:
        own = getattr(kind, name, None)
        if own is not None and getattr(own, "__func__", own) is not getattr(_opgrid.TensorBase, name):
            if not isinstance(own, types.BuiltinMethodType):
                return name
    return None


def _overrides(value: Any) -> bool:
    kind = type(value)
    return kind is not _opgrid.Tensor and _handler_of(kind) is not None


def has_torch_function(relevant_args: Iterable[Any], /) -> bool:
    """Whether a class of one of the objects implements ``__torch_function__``."""
    return any(_overrides(value) for value in relevant_args)


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """What the first class that does not answer ``NotImplemented`` gives for a call of the function; derived classes are asked first."""
    asked: list[type] = []
    for value in relevant_args:
        kind = type(value)
        if _overrides(value) and kind not in asked:
            place = next((place for place, known in enumerate(asked) if issubclass(kind, known)), len(asked))
            asked.insert(place, kind)
    for kind in asked:
        answer = getattr(kind, _handler_of(kind) or HANDLERS[-1])(public_api, tuple(asked), args, kwargs)
        if answer is not NotImplemented:
            return answer
    names = ", ".join(kind.__name__ for kind in asked)
    raise TypeError(f"no implementation found for '{getattr(public_api, '__name__', public_api)}' on types that implement __torch_function__: {names}")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether the function is a method of tensors or the getter of a property."""
    name = getattr(func, "__name__", "")
    return func is getattr(_opgrid.TensorBase, name, None) or name == "__get__"


def resolve_name(f: Any) -> str | None:
    """The name under which a function is found, as in ``opgrid.add`` or ``opgrid.Tensor.add``."""
    if isinstance(f, (_opgrid.OpOverload, _opgrid.OpOverloadPacket)):
        return str(f)
    name = getattr(f, "__name__", None)
    if name is None:
        return None
    return f"opgrid.Tensor.{name}" if is_tensor_method_or_property(f) else f"opgrid.{name}"


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Has a function ask the classes of those of its arguments that ``dispatcher``, called with all of them, gives."""

    def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            asks = has_torch_function(relevant) and _opgrid._are_classes_asked()
            return handle_torch_function(call, relevant, *args, **kwargs) if asks else function(*args, **kwargs)

        return call

    return wrapped


_PLAIN = frozenset([_opgrid.Tensor, int, float, bool, str, list, tuple, type(None)])
"""Classes of most arguments."""


def overridable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Has a function ask the classes of its arguments, of which those of users may answer it as they answer operators."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()) if kwargs else args:
            if type(value) not in _PLAIN and _overrides(value) and _opgrid._are_classes_asked():
                return handle_torch_function(call, (*args, *kwargs.values()), *args, **kwargs)
        return function(*args, **kwargs)

    return call


_PROTOCOL = frozenset(
    "__getitem__ __setitem__ __len__ __bool__ __float__ __int__ __complex__ __index__ __contains__ __iter__ __array__ __repr__".split()
)
"""Methods of tensors that statements of Python call, and classes answer."""

_NOT_ASKED = frozenset("as_subclass grad keys to_device".split())


def ask_of_all_methods(kind: type) -> None:
    """Has the methods and properties of a class of tensors that are no operators ask it first, if it says what functions do."""
    if _handler_of(kind) is None:
        return
    for ancestor in reversed(_opgrid.TensorBase.__mro__[:-1]):
        for name, value in vars(ancestor).items():
            is_asked = name in _PROTOCOL if name.startswith("_") else name not in _NOT_ASKED
            is_operator = type(value) is _METHOD_OF_OPERATOR
            if is_asked and not is_operator and getattr(kind, name, None) is getattr(_opgrid.Tensor, name, None):
                asking = _asking(name, value)
                if asking is not None:
                    setattr(kind, name, asking)


_METHOD_OF_OPERATOR = type(vars(_opgrid.TensorBase)["add"])


def _asking(name: str, value: Any) -> Any:
    """A method or a property that asks the class of its object; ``None`` for what is neither."""

    def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if _opgrid._are_classes_asked():
            return handle_torch_function(function, args, *args, **kwargs)
        return function(*args, **kwargs)

    if isinstance(value, (property, types.GetSetDescriptorType)):
        return property(lambda self: call(value.__get__, self), lambda self, new: call(value.__set__, self, new), doc=value.__doc__)
    if not callable(value) or isinstance(value, (staticmethod, classmethod, types.ClassMethodDescriptorType)):
        return None

    @functools.wraps(value)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return call(value, self, *args, **kwargs)

    return method


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that classes and modes answer, by the namespace that has them."""
    from . import nn

    methods = [getattr(_opgrid.Tensor, name) for name in _opgrid.method_names()]
    functional = [getattr(nn.functional, name) for name in nn.functional.__all__]
    return {
        _opgrid.Tensor: methods,
        "opgrid": [_opgrid.function(name) for name in _opgrid.function_names() if not name.startswith("_")],
        nn.functional: functional,
    }
