"""Linear algebra: the operators whose names begin with ``linalg_``, without that."""

from __future__ import annotations

from . import _namespaces
from .errors import LinAlgError as LinAlgError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PREFIX = "linalg_"


def __getattr__(name: str) -> Any:
    return _namespaces.function(__name__, _PREFIX, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_namespaces.names(_PREFIX)})
