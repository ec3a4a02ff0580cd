"""Providers: several named kernels of one operator for one key, and which comes first."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from . import _opgrid, library


def _name_of(op: Any) -> str:
    if isinstance(op, _opgrid.OpOverloadPacket):
        return op._qualified_op_name
    return library.full_name(op)


FOR_CALLS_WITHOUT_TENSORS = "BackendSelect"
"""The key at which every call of an operator without tensors arrives first: such calls know no device."""


def _takes_tensors(full: str) -> bool:
    if not _opgrid.is_defined(full):
        return True
    arguments = _opgrid.overload_named(full)._schema.arguments
    return any("Tensor" in str(argument.type) for argument in arguments)


def provider(
    op: Any,
    name: str,
    device_types: str | Sequence[str] | None = None,
    *,
    when: Callable[..., bool] | None = None,
    lib: library.Library | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that makes a function one of an operator's kernels for device types or keys, under a name.

    An operator without tensor arguments, such as a factory, is called without a device: its providers with conditions stand
    at ``BackendSelect``, which is meant where no device types are given. One without a condition stands for all devices.

    The first provider whose condition ``when`` holds for the arguments runs, in the order of registration or of `prefer`; one
    without a condition always holds. Explanations quote the condition's docstring, or else its name. Without ``lib``, the provider stays
    for good.
    """
    full = library.full_name(op)
    if not isinstance(name, str) or not name:
        raise ValueError(f"provider(): expected a name that is not empty, found {name!r}")
    if when is not None and not callable(when):
        raise TypeError(f"provider(): expected a function for `when`, found {type(when).__name__}")
    namespace, _ = library._split(full)

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        keys = library.keys_of(device_types)
        if when is not None and device_types is None and not _takes_tensors(full):
            keys = [FOR_CALLS_WITHOUT_TENSORS]
        for key in keys:
            library._fragment(namespace, lib).impl(full, func, key, provider=name, when=when)
        return func

    return decorate


class prefer(contextlib.ContextDecorator):
    """Puts providers of an operator first, in this order, for calls of this thread within a ``with`` block or a function.

    A packet or a name without an overload stands for all overloads. A provider whose condition does not hold is passed over as ever.
    Blocks nest; the innermost that names an operator counts.
    """

    def __init__(self, op: Any, *providers: str) -> None:
        if not providers or not all(isinstance(name, str) for name in providers):
            raise TypeError("prefer(): expected the names of one provider or more after the operator")
        self._guard = _opgrid.ProviderGuard(_name_of(op), list(providers))

    def __enter__(self) -> prefer:
        self._guard.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._guard.__exit__(*raised)
