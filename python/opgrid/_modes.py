"""Handlers of operators in Python: modes, which see every call of a thread while they are entered, and classes of tensors, which see
those of their objects."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import _opgrid
from .errors import NotSupportedError, RegistrationError

_KEY = "Python"
"""Below autograd and above backends: handlers see what is left when composites have taken themselves apart."""


class DispatchMode:
    """A handler of every operator, for the length of a ``with`` block.

    A subclass says in ``__opgrid_dispatch__`` (or ``__torch_dispatch__``) what happens instead of a call; it usually calls
    ``func(*args, **kwargs)``. While it runs, the mode is left: what it calls goes to the modes around it. Modes may be
    nested, and entered again inside of themselves.
    """

    _entered: list[_opgrid.EnteredMode]

    def __opgrid_dispatch__(
        self, func: _opgrid.OpOverload, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        handler = getattr(self, "__torch_dispatch__", None)
        if handler is None:
            raise NotImplementedError(f"{type(self).__name__} has no `__opgrid_dispatch__`, which handles calls")
        return handler(func, types, args, kwargs)

    def __enter__(self) -> DispatchMode:
        _install()
        self.__dict__.setdefault("_entered", []).append(_opgrid._enter_mode(self, _handle))
        return self

    def __exit__(self, *_raised: object) -> None:
        entered = self.__dict__.get("_entered", [])
        # The same mode may be entered on other threads, too.
        place = next((place for place in reversed(range(len(entered))) if entered[place].leave()), None)
        if place is None:
            raise RuntimeError(f"{type(self).__name__} is not the mode that was entered last; use modes in `with` statements")
        del entered[place]


def current_mode() -> DispatchMode | None:
    """The innermost mode of this thread."""
    mode: DispatchMode | None = _opgrid._current_mode()
    return mode


class Rule:
    """What a mode or a class of tensors does with one operator in place of its handler, until it is dropped."""

    place: tuple[str, int]

    def __init__(self, kind: type, operator: str, function: Callable[..., Any], place: tuple[str, int], may_replace: bool) -> None:
        standing = _rules.get((kind, operator))
        if standing is not None and not may_replace:
            raise RegistrationError(
                f"{operator}: {kind.__name__} has a rule for it at {standing.place[0]}:{standing.place[1]} already; drop that one, or "
                f"replace it with allow_override=True"
            )
        self.key, self.function, self.place = (kind, operator), function, place
        _rules[self.key] = self

    def drop(self) -> None:
        """Takes the rule away."""
        if _rules.get(self.key) is self:
            _rules.pop(self.key, None)


_rules: dict[tuple[type, str], Rule] = {}


def _handle(mode: DispatchMode, op: _opgrid.OpOverload, *args: Any, **kwargs: Any) -> Any:
    """What a mode does with a call, while it is left."""
    classes = _classes(args, kwargs)
    if rule := _rules.get((type(mode), op.name())):
        answer = rule.function(mode, op, classes, args, kwargs)
    else:
        answer = mode.__opgrid_dispatch__(op, classes, args, kwargs)
    return _with_written(op, args, kwargs, answer)


def _see(op: _opgrid.OpOverload, *args: Any, **kwargs: Any) -> Any:
    """What happens to a call at the key where there is no mode: the classes of the tensors are asked."""
    classes = _classes(args, kwargs)
    asked = []
    for kind in classes:
        if rule := _rules.get((kind, op.name())):
            answer = rule.function(op, classes, args, kwargs)
        elif handler := _opgrid._dispatch_handler(kind):
            answer = getattr(kind, handler)(op, classes, args, kwargs)
        else:
            continue
        if answer is not NotImplemented:
            return _with_written(op, args, kwargs, answer)
        asked.append(kind.__name__)
    if asked:
        raise TypeError(
            f"Multiple dispatch failed for '{op.name()}'; all __torch_dispatch__ handlers returned NotImplemented: {', '.join(asked)}"
        )
    # Somebody has included the key without a mode, or the tensor is a view of one that has a class.
    with _opgrid.exclude(_KEY):
        return op(*args, **kwargs)


@functools.lru_cache(maxsize=1024)
def _writes(op: _opgrid.OpOverload) -> tuple[dict[str, int], tuple[str | None, ...]]:
    """The names and places of the arguments that an operator writes, and for each result which of these it is."""
    written, names = {}, {}
    for place, argument in enumerate(op._schema.arguments):
        if argument.is_write:
            written[argument.name] = place
            names[_alias(argument)] = argument.name
    return written, tuple(names.get(_alias(result)) if result.is_write else None for result in op._schema.returns)


def _alias(argument: Any) -> str:
    """The part of a schema's text that says which alias an argument or a result is."""
    text = repr(argument)
    return text[text.find("(") : text.find(")") + 1]


def _with_written(op: _opgrid.OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], answer: Any) -> Any:
    """What a handler answered, with the tensors that the operator writes in place of what the handler gave for them."""
    written, results = _writes(op)
    if not written:
        return answer

    def given(name: str) -> Any:
        place = written[name]
        return args[place] if place < len(args) else kwargs.get(name)

    for name in written:
        value = given(name)
        for x in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(x, _opgrid.TensorBase):
                _opgrid._count_write(x)
    count = len(op._schema.returns)
    if count == 0:
        return answer
    if count == 1:
        return answer if results[0] is None else given(results[0])
    answers = answer if isinstance(answer, (list, tuple)) and len(answer) == count else (None,) * count
    return tuple(a if name is None else given(name) for name, a in zip(results, answers, strict=True))


def _classes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[type, ...]:
    """The classes of tensors that are users' own, derived ones first."""
    found: list[type] = []
    for value in (*args, *kwargs.values()):
        for item in value if isinstance(value, (list, tuple)) else (value,):
            kind = type(item)
            if kind is _opgrid.Tensor or kind in found or not isinstance(item, _opgrid.TensorBase):
                continue
            place = next((place for place, known in enumerate(found) if issubclass(kind, known)), len(found))
            found.insert(place, kind)
    return tuple(found)


def make_wrapper_subclass(
    cls: type[_opgrid.Tensor],
    size: Any,
    *,
    strides: Any = None,
    storage_offset: Any = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> _opgrid.Tensor:
    """An object of the class that looks like a tensor of these sizes, and has no elements.

    What operators do with it, the class says in ``__opgrid_dispatch__`` (or ``__torch_dispatch__``), usually with tensors that it
    keeps as attributes. Attributes stay with the tensor where only other tensors hold it.
    """
    if memory_format not in (None, _opgrid.contiguous_format) or layout not in (None, _opgrid.strided) or pin_memory:
        raise NotSupportedError("_make_wrapper_subclass: strided tensors are wrapped, with strides where they are not contiguous")
    made = _opgrid._wrapper(cls, list(size), None if strides is None else list(strides), storage_offset or 0, dtype, device)
    return made.requires_grad_() if requires_grad else made


def make_subclass(cls: type[_opgrid.Tensor], data: _opgrid.Tensor, require_grad: bool = False) -> _opgrid.Tensor:
    """The tensor as an object of the class, which gradients of the tensor do not lead to."""
    return data.detach().as_subclass(cls).requires_grad_(require_grad)


def _install() -> None:
    """Registers the layer with the first mode or such class: programs without them do not have it."""
    _opgrid._install_modes(_see)
