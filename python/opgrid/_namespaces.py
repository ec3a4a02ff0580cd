"""Functions of the registry under shorter names: ``opgrid.linalg.svd`` is ``opgrid.linalg_svd``."""

from __future__ import annotations

from . import _opgrid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def function(module: str, prefix: str, name: str) -> Any:
    """The function of that module: the operator whose name begins with the prefix."""
    try:
        return _opgrid.function(prefix + name)
    except AttributeError:
        raise AttributeError(
            f"module {module!r} has no attribute {name!r}: there is no operator {prefix + name!r}"
        ) from None


def names(prefix: str) -> list[str]:
    """The names of all functions of a module."""
    return sorted(name.removeprefix(prefix) for name in _opgrid.function_names() if name.startswith(prefix))
