"""The namespace of the array API standard, over the operators that are registered.

A name of the standard is there while all operators that it calls are registered, and is looked up each time. Where torch's
semantics differ, those of the standard count: dtypes are promoted without regard to shapes, and ``axis`` may be a tuple.
Functions take any tensors and return objects of the class ``Array``, whose infix operators and indices follow the standard, too.
"""

from __future__ import annotations

import functools
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
        """Puts a function into the namespace, which calls these operators of ``aten``. The one that is there returns arrays."""

        def put(function: Callable[..., Any]) -> Callable[..., Any]:
            function.__name__ = function.__qualname__ = name

            @functools.wraps(function)
            def standard(*args: Any, **kwargs: Any) -> Any:
                return arrays(function(*args, **kwargs))

            self._table[name] = (standard, tuple(f"aten::{operator}" for operator in operators))
            return function

        return put

    def function(self, name: str) -> Callable[..., Any]:
        """The function of that name, whether or not its operators are registered."""
        return self._table[name][0]

    def share(self, name: str, other: Namespace) -> None:
        """Puts a function of another namespace into this one, too."""
        self._table[name] = other._table[name]

    def extend(self, name: str, value: Any) -> None:
        """Puts an extension, or the class of arrays, into the namespace."""
        self._values[name] = value

    def __getattr__(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        if name not in self._table:
            raise AttributeError(f"the array namespace has no `{name}`; its names are those of the array API standard {VERSIONS[-1]}")
        function, operators = self._table[name]
        missing = [operator for operator in operators if not _opgrid.is_defined(operator)]
        if missing:
            raise AttributeError(f"the array namespace has no `{name}`: the registry lacks {', '.join(missing)}")
        return function

    def __dir__(self) -> list[str]:
        there = [name for name, (_, operators) in self._table.items() if all(map(_opgrid.is_defined, operators))]
        return sorted([*there, *self._values])


def _op(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = _opgrid.function(name)
    return function


def arrays(result: Any) -> Any:
    """The result with its tensors as objects of the class ``Array``; those of other classes stay as they are."""
    if type(result) is _opgrid.Tensor:
        return result.as_subclass(namespace.Array)
    if isinstance(result, tuple):
        made = [arrays(one) for one in result]
        # Named tuples of Python are made by `_make`; plain ones and those of operators by their class.
        return getattr(type(result), "_make", type(result))(made)
    return result


def _tensor(x: Any, name: str) -> Any:
    if not isinstance(x, _opgrid.TensorBase):
        raise TypeError(f"{name}(): expected an array, found {type(x).__name__}")
    return x


namespace = Namespace("opgrid.array_api", __doc__=__doc__, **_DTYPES, **_CONSTANTS)
_standard = namespace.standard


def array_namespace(self: _opgrid.Tensor, /, *, api_version: str | None = None) -> Namespace:
    """The namespace of the array API standard."""
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(f"unknown version {api_version!r} of the array API standard; known are {', '.join(VERSIONS)}")
    return namespace


def to_device(self: _opgrid.Tensor, device: Any, /, *, stream: Any = None) -> _opgrid.Tensor:
    """The tensor on a device; itself if it is there."""
    if stream is not None:
        raise ValueError(f"to_device(): devices here have no streams; omit `stream`, found {stream!r}")
    return self.to(device)
