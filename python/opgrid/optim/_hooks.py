"""Functions that run around the steps and state dicts of optimizers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..nn.hooks import HookHandle, hooked

Hook = Callable[..., Any]
Function = TypeVar("Function", bound=Callable[..., Any])

_before_every_step: dict[int, Any] = {}
_after_every_step: dict[int, Any] = {}


def add(hooks: dict[int, Any], hook: Hook, first: bool = False) -> HookHandle:
    """Registers a function as the last of these, or as the first."""
    if not callable(hook):
        raise TypeError(f"a hook should be a function, found {type(hook).__name__}")
    return hooked(hooks, (hook,), first)


def of(*registered: dict[int, Any]) -> list[Hook]:
    """The functions that are registered now, in the order in which they run."""
    return [hook for hooks in registered for hook, _ in list(hooks.values())]


def register_optimizer_step_pre_hook(hook: Hook) -> HookHandle:
    """Has ``hook(optimizer, args, kwargs)`` run before each step of any optimizer.

    It returns ``None``, or the arguments to use instead as ``(args, kwargs)``.
    """
    return add(_before_every_step, hook)


def register_optimizer_step_post_hook(hook: Hook) -> HookHandle:
    """Has ``hook(optimizer, args, kwargs)`` run after each step of any optimizer."""
    return add(_after_every_step, hook)


class Hooked:
    """The functions that one optimizer has registered."""

    _opt_called = False
    """Whether a step was taken since a scheduler was made."""

    def _reset_hooks(self) -> None:
        self._step_pre: dict[int, Any] = {}
        self._step_post: dict[int, Any] = {}
        self._state_dict_pre: dict[int, Any] = {}
        self._state_dict_post: dict[int, Any] = {}
        self._load_pre: dict[int, Any] = {}
        self._load_post: dict[int, Any] = {}

    def register_step_pre_hook(self, hook: Hook) -> HookHandle:
        """Has ``hook(optimizer, args, kwargs)`` run before each step; it may return ``(args, kwargs)`` to use instead."""
        return add(self._step_pre, hook)

    def register_step_post_hook(self, hook: Hook) -> HookHandle:
        """Has ``hook(optimizer, args, kwargs)`` run after each step."""
        return add(self._step_post, hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> HookHandle:
        """Has ``hook(optimizer)`` run before ``state_dict()``."""
        return add(self._state_dict_pre, hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> HookHandle:
        """Has ``hook(optimizer, state_dict)`` run on the result of ``state_dict()``; it may return another one."""
        return add(self._state_dict_post, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> HookHandle:
        """Has ``hook(optimizer, state_dict)`` run before a state is loaded; it may return another one to load."""
        return add(self._load_pre, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> HookHandle:
        """Has ``hook(optimizer)`` run after a state was loaded."""
        return add(self._load_post, hook, prepend)


def runs_step_hooks(step: Function) -> Function:
    """The method ``step`` of a class of optimizers, which runs the registered functions before and after it.

    A step that another class's step calls with ``super()`` runs none of them.
    """

    @functools.wraps(step)
    def stepped(self: Any, *args: Any, **kwargs: Any) -> Any:
        if type(self).step is not stepped:
            return step(self, *args, **kwargs)
        # Optimizers around others may have none, as they do without the constructor.
        own = vars(self)
        for hook in of(_before_every_step, own.get("_step_pre", {})):
            changed = hook(self, args, kwargs)
            if changed is None:
                continue
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError(
                    f"a hook before step() of {type(self).__name__} must return None or a tuple (args, kwargs), found {changed!r}"
                )
            args, kwargs = changed
        result = step(self, *args, **kwargs)
        self._opt_called = True
        for hook in of(own.get("_step_post", {}), _after_every_step):
            hook(self, args, kwargs)
        return result

    return stepped  # type: ignore[return-value]
