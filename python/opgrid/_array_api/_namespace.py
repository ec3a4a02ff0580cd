"""The namespace of the array API standard, over the operators that are registered.

A name of the standard is there while all operators that it calls are registered, and is looked up each time. Where torch's
semantics differ, those of the standard count: dtypes are promoted without regard to shapes, and ``axis`` may be a tuple.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from .. import _opgrid

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""The versions of the standard; each contains the one before."""

_DTYPES = {
    name: getattr(_opgrid, name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float32", "float64", "complex64", "complex128"),
    )
}
_CONSTANTS = {"e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None, "pi": math.pi}


class Namespace(types.ModuleType):
    """What ``x.__array_namespace__()`` returns, and an extension of it."""

    __array_api_version__ = VERSIONS[-1]

    def __init__(self, name: str, /, **attributes: Any) -> None:
        super().__init__(name, attributes.pop("__doc__", None))
        # Functions by name, with the operators that they call.
        self._table: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {}
        self._values = attributes

    def standard(self, name: str, *operators: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Puts a function into the namespace, which calls these operators of ``aten``."""

        def put(function: Callable[..., Any]) -> Callable[..., Any]:
            function.__name__ = function.__qualname__ = name
            self._table[name] = (function, tuple(f"aten::{operator}" for operator in operators))
            return function

        return put

    def share(self, name: str, other: Namespace) -> None:
        """Puts a function of another namespace into this one, too."""
        self._table[name] = other._table[name]

    def extend(self, name: str, extension: Namespace) -> None:
        """Puts an extension into the namespace."""
        self._values[name] = extension

    def __getattr__(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        if name not in self._table:
            raise AttributeError(f"the array namespace has no `{name}`: the standard does not name it")
        function, operators = self._table[name]
        missing = [operator for operator in operators if not _opgrid.is_defined(operator)]
        if missing:
            raise AttributeError(f"the array namespace has no `{name}`: the registry lacks {', '.join(missing)}")
        return function

    def __dir__(self) -> list[str]:
        there = [name for name, (_, operators) in self._table.items() if all(map(_opgrid.is_defined, operators))]
        return sorted([*there, *self._values])


def _op(name: str) -> Callable[..., Any]:
    return _opgrid.function(name)


def _tensor(x: Any, name: str) -> Any:
    if not isinstance(x, _opgrid.TensorBase):
        raise TypeError(f"{name}(): expected an array, found {type(x).__name__}")
    return x


namespace = Namespace("opgrid.array_api", __doc__=__doc__, **_DTYPES, **_CONSTANTS)
_standard = namespace.standard


def array_namespace(self: _opgrid.Tensor, api_version: str | None = None) -> Namespace:
    """The namespace of the array API standard."""
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(f"unknown version {api_version!r} of the array API standard; known are {', '.join(VERSIONS)}")
    return namespace


def to_device(self: _opgrid.Tensor, device: Any, /, *, stream: Any = None) -> _opgrid.Tensor:
    """The tensor on a device; itself if it is there."""
    if stream is not None:
        raise ValueError(f"to_device(): devices here have no streams; omit `stream`, found {stream!r}")
    return self.to(device)
