"""What code that implements ``__torch_function__`` asks of objects and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self

from . import _opgrid

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
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


def _overrides(value: Any) -> bool:
    kind = type(value)
    own = getattr(kind, "__torch_function__", None)
    return kind is not _opgrid.Tensor and own is not None and own is not getattr(_opgrid.Tensor, "__torch_function__", None)


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
        answer = getattr(kind, "__torch_function__")(public_api, tuple(asked), args, kwargs)
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
