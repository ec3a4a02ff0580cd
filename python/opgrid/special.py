"""Special functions: the operators whose names begin with ``special_``, without that."""

from __future__ import annotations

from . import _namespaces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PREFIX = "special_"


def __getattr__(name: str) -> Any:
    return _namespaces.function(__name__, _PREFIX, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_namespaces.names(_PREFIX)})
