"""What is registered, which kernel a call runs and why, and what was counted."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any, NamedTuple

from . import _opgrid
from ._opgrid import DispatchKey, DispatchKeySet


class KernelAt(NamedTuple):
    """A kernel and where it stands."""

    title: str
    place: str
    condition: str | None = None
    fallthrough: bool = False


class Slot(NamedTuple):
    """One column of an operator's table."""

    key: DispatchKey
    reason: str
    fallthrough: bool
    kernel: KernelAt | None


def html_table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table for notebooks."""
    from html import escape

    def line(tag: str, cells: Iterable[Any]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}" for cell in cells)

    return f"<table>{line('th', head)}{''.join(line('td', row) for row in rows)}</table>"


class Table(list[Slot]):
    """The columns of an operator's table that have a kernel."""

    def __str__(self) -> str:
        width = max((len(str(slot.key)) for slot in self), default=0)
        lines = []
        for slot in self:
            kernel = f"{slot.kernel.title}  {slot.kernel.place}" if slot.kernel else ""
            lines.append(f"{str(slot.key):{width}}  {slot.reason}  {kernel}".rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        kernels = ((slot.kernel.title, slot.kernel.place) if slot.kernel else ("", "") for slot in self)
        rows = ((slot.key, slot.reason, *kernel) for slot, kernel in zip(self, kernels, strict=True))
        return html_table(("key", "reason", "kernel", "place"), rows)


class _Described:
    """A text, and the same as JSON."""

    def __init__(self, text: str, described: str) -> None:
        self._text = text
        self._described = described

    def as_dict(self) -> dict[str, Any]:
        """Returns the table as dicts and lists."""
        import json

        described: dict[str, Any] = json.loads(self._described)
        return described

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


class Explanation(_Described):
    """Why a call runs the kernels that it runs: a text, ``as_dict()``, and a table in a notebook."""

    def _repr_html_(self) -> str:
        from html import escape

        described = self.as_dict()
        rows = (
            (number, hop["key"], hop["operator"], hop["reason"], (hop["kernel"] or {}).get("place") or "no kernel")
            for number, hop in enumerate(described["hops"], 1)
        )
        table = html_table(("", "key", "operator", "reason", "place"), rows)
        return f"<p><code>{escape(described['operator'])}</code></p>{table}"


class Stats(_Described):
    """What the dispatcher has counted: a text, ``as_dict()``, and a table in a notebook."""

    def _repr_html_(self) -> str:
        described = self.as_dict()
        alive = ((name.replace("_", " "), number) for name, number in described.items() if isinstance(number, int))
        return html_table(("what", "how many"), [*described["totals"].items(), *alive])


class _Function(NamedTuple):
    """A function or method that calls the overloads of an operator, and the tensor of a bound method."""

    name: str
    is_method: bool
    bound: tuple[Any, ...] = ()


def _function(op: Any) -> _Function | None:
    """The function or method that an object is, if operators are called by it."""
    import opgrid

    name = getattr(op, "__name__", None)
    if not isinstance(name, str) or isinstance(op, types.FunctionType):
        return None
    if name in _opgrid.function_names() and getattr(opgrid, name, None) is op:
        return _Function(name, False)
    if name in _opgrid.method_names():
        method = getattr(_opgrid.Tensor, name, None)
        if method is op:
            return _Function(name, True)
        tensor = getattr(op, "__self__", None)
        if isinstance(tensor, _opgrid.TensorBase) and getattr(type(tensor), name, None) is method:
            return _Function(name, True, (tensor,))
    return None


def _meant(op: Any) -> _opgrid.OpOverload | _opgrid.OpOverloadPacket | _Function:
    """What an object or a name means: an overload, or all of an operator's, as functions or packets call them."""
    if isinstance(op, (_opgrid.OpOverload, _opgrid.OpOverloadPacket)):
        return op
    if isinstance(op, str):
        if _opgrid.is_defined(op):
            return _opgrid.overload_named(op)
        name = op if "::" in op else f"aten::{op}"
        try:
            return _opgrid.packet(name)
        except AttributeError:
            return _opgrid.overload_named(op)
    inner = getattr(op, "_opoverload", None)
    if isinstance(inner, _opgrid.OpOverload):
        return inner
    function = _function(op)
    if function is not None:
        return function
    raise TypeError(
        f"expected an operator such as og.ops.aten.add, an overload of it such as og.ops.aten.add.Tensor, a function such as "
        f"og.add, a method such as og.Tensor.add, or a name, found {op!r}"
    )


def overload_of(op: Any) -> _opgrid.OpOverload:
    """The overload that an object or a name means; of several the one that functions try first."""
    meant = _meant(op)
    if isinstance(meant, _opgrid.OpOverload):
        return meant
    if isinstance(meant, _Function):
        return _opgrid.function_overloads(meant.name, meant.is_method)[0]
    namespace, _, name = meant._qualified_op_name.partition("::")
    if namespace == "aten":
        return _opgrid.function_overloads(name, False)[0]
    overload: _opgrid.OpOverload = getattr(meant, meant.overloads()[0])
    return overload


def explain(op: Any, *args: Any, **kwargs: Any) -> Explanation:
    """Why a call with these arguments runs the kernels that it runs. The call is not made.

    ``op`` is what is called: ``og.ops.aten.add``, an overload of it, ``og.add``, ``og.Tensor.add`` or ``x.add``; or a
    name, as in ``"aten::add"``. Of several overloads, the one that the call would choose is explained.
    """
    return _explained(False, op, args, kwargs)[1]


def call_explained(op: Any, *args: Any, **kwargs: Any) -> tuple[Any, Explanation]:
    """Makes a call, and returns its result and which kernels ran, those of calls that kernels made included.

    ``op`` is given as to `explain`. An exception of the call has the explanation as a note.
    """
    return _explained(True, op, args, kwargs)


def _explained(made: bool, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Explanation]:
    meant = _meant(op)
    if isinstance(meant, _Function):
        called = getattr(_opgrid.Tensor, meant.name) if meant.is_method else op
        args = meant.bound + args
        text, described, result = _opgrid._explain_function(
            called if made else None, meant.name, meant.is_method, *args, **kwargs
        )
    else:
        text, described, result = meant._explain(meant if made else None, *args, **kwargs)
    return result, Explanation(text, described)


def schema(op: Any) -> _opgrid.FunctionSchema:
    """The schema of an operator, which is given as to `explain`; of several overloads that which functions try first."""
    return overload_of(op)._schema


def dump(op: Any) -> str:
    """The kernels that are registered for an operator, which is given as to `explain`, as text."""
    return overload_of(op).dump()


def table(op: Any) -> Table:
    """The columns of an operator's table that have a kernel, with the rule that filled each.

    The operator is given as to `explain`; of several overloads, the table is that of the one which functions try first.
    """
    rows = _opgrid.table(overload_of(op).name())
    slots = (Slot(key, reason, skips, KernelAt(*kernel) if kernel else None) for key, reason, skips, kernel in rows)
    return Table(slot for slot in slots if slot.kernel is not None)


def registered_kernels(op: Any) -> dict[DispatchKey, list[KernelAt]]:
    """The kernels that are registered for an operator, key by key, in the order in which they are tried."""
    try:
        name = overload_of(op).name()
    except (RuntimeError, AttributeError):
        # A name may be one that has kernels and no schema.
        if not isinstance(op, str):
            raise
        name = op
    return {key: [KernelAt(*kernel) for kernel in kernels] for key, kernels in _opgrid.registered_kernels(name)}


def registered_fallbacks() -> dict[DispatchKey, list[KernelAt]]:
    """The fallbacks of keys, in the order in which they are tried."""
    return {key: [KernelAt(*kernel) for kernel in kernels] for key, kernels in _opgrid.registered_fallbacks()}


def keys(*tensors: Any) -> DispatchKeySet:
    """The keys that tensors bring into a call."""
    found = DispatchKeySet()
    for tensor in tensors:
        found = found | tensor.keys()
    return found


def stats() -> Stats:
    """What was counted since the last `reset_stats`: slow paths that calls took, and what is alive."""
    return Stats(*_opgrid.stats())
