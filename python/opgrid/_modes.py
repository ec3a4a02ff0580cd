"""Modes: handlers that see every operator that a thread calls, while they are entered."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from . import _opgrid

_KEY = "Python"
"""Below autograd and above backends: handlers see what is left when composites have taken themselves apart."""


class _Stack(threading.local):
    """The modes that a thread has entered, the innermost last."""

    def __init__(self) -> None:
        self.modes: list[DispatchMode] = []


_stack = _Stack()


class DispatchMode:
    """A handler of every operator, for the length of a ``with`` block.

    A subclass says in ``__opgrid_dispatch__`` (or ``__torch_dispatch__``) what happens instead of a call; it usually calls
    ``func(*args, **kwargs)``. While it runs, the mode is left: what it calls goes to the modes around it. Modes may be
    nested, and entered again inside of themselves.
    """

    _guards: list[_opgrid.Guard]

    def __opgrid_dispatch__(
        self, func: _opgrid.OpOverload, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        handler = getattr(self, "__torch_dispatch__", None)
        if handler is None:
            raise NotImplementedError(f"{type(self).__name__} has no `__opgrid_dispatch__`, which says what a call does")
        return handler(func, types, args, kwargs)

    def __enter__(self) -> DispatchMode:
        _install()
        guard = _opgrid.include(_KEY)
        guard.__enter__()
        self.__dict__.setdefault("_guards", []).append(guard)
        _stack.modes.append(self)
        return self

    def __exit__(self, *_raised: object) -> None:
        guards = self.__dict__.get("_guards")
        if not guards or not _stack.modes or _stack.modes[-1] is not self:
            raise RuntimeError(f"{type(self).__name__} is not the mode that was entered last; use modes in `with` statements")
        _stack.modes.pop()
        guards.pop().__exit__()


def current_mode() -> DispatchMode | None:
    """The innermost mode of this thread."""
    return _stack.modes[-1] if _stack.modes else None


def _see(op: _opgrid.OpOverload, *args: Any, **kwargs: Any) -> Any:
    """The fallback of the key: gives the call to the innermost mode, which is left meanwhile."""
    modes = _stack.modes
    if not modes:
        # Somebody has included the key without a mode.
        with _opgrid.exclude(_KEY):
            return op(*args, **kwargs)
    mode = modes.pop()
    try:
        with contextlib.nullcontext() if modes else _opgrid.exclude(_KEY):
            return mode.__opgrid_dispatch__(op, _classes(args), args, kwargs)
    finally:
        modes.append(mode)


def _classes(args: tuple[Any, ...]) -> tuple[type, ...]:
    """The classes of tensors that are users' own."""
    found = dict.fromkeys(type(value) for value in args if isinstance(value, _opgrid.TensorBase))
    found.pop(_opgrid.Tensor, None)
    return tuple(found)


_installed: _opgrid.Registration | None = None
_installing = threading.Lock()


def _install() -> None:
    """Registers the fallback with the first mode: programs without modes do not have it."""
    global _installed
    with _installing:
        if _installed is None:
            code = _see.__code__
            _installed = _opgrid.fallback(_opgrid.DispatchKey(_KEY), _see, (code.co_filename, code.co_firstlineno))
