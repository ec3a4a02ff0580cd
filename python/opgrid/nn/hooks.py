"""Functions that run before and after a module's ``forward``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self


class HookHandle:
    """A registered hook."""

    def __init__(self, hooks: dict[int, Any]) -> None:
        self._hooks = hooks

    def remove(self) -> None:
        """Removes the hook."""
        self._hooks.pop(id(self), None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.remove()


def hooked(hooks: dict[int, Any], hook: tuple[Callable[..., Any], bool], first: bool) -> HookHandle:
    handle = HookHandle(hooks)
    others = dict(hooks) if first else {}
    if first:
        hooks.clear()
    # The handle is stored with its hook, so that no other handle gets its id meanwhile.
    hooks[id(handle)] = (*hook, handle)
    hooks.update(others)
    return handle
