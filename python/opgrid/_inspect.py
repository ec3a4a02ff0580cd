"""What is registered, which kernel a call runs and why, and what was counted."""

from __future__ import annotations

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
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(str(slot.key))}<td>{escape(slot.reason)}"
            f"<td>{escape(slot.kernel.title) if slot.kernel else ''}"
            f"<td>{escape(slot.kernel.place) if slot.kernel else ''}"
            for slot in self
        )
        return f"<table><tr><th>key<th>reason<th>kernel<th>place{rows}</table>"


class _Described:
    """A text, and the same as JSON."""

    def __init__(self, text: str, described: str) -> None:
        self._text = text
        self._described = described

    def as_dict(self) -> dict[str, Any]:
        """The same as dicts and lists."""
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
        rows = "".join(
            f"<tr><td>{place}<td>{escape(hop['key'])}<td>{escape(hop['operator'])}"
            f"<td>{escape(hop['reason'])}<td>{escape((hop['kernel'] or {}).get('place') or 'no kernel')}"
            for place, hop in enumerate(described["hops"], 1)
        )
        head = "<tr><th><th>key<th>operator<th>reason<th>place"
        return f"<p><code>{escape(described['operator'])}</code></p><table>{head}{rows}</table>"


class Stats(_Described):
    """What the dispatcher has counted: a text, and ``as_dict()``."""


def overload_of(op: Any) -> _opgrid.OpOverload:
    """The overload that an object or a name means."""
    if isinstance(op, _opgrid.OpOverload):
        return op
    if isinstance(op, str):
        return _opgrid.overload_named(op)
    inner = getattr(op, "_opoverload", None)
    if isinstance(inner, _opgrid.OpOverload):
        return inner
    raise TypeError(f"expected an overload such as og.ops.aten.add.Tensor, or its name, found {op!r}")


def explain(op: Any, *args: Any, **kwargs: Any) -> Explanation:
    """Why a call with these arguments runs the kernels that it runs. The call is not made."""
    return Explanation(*overload_of(op)._explain(*args, **kwargs))


def dump(op: Any) -> str:
    """The kernels that are registered for an operator, as text."""
    return overload_of(op).dump()


def table(op: Any) -> Table:
    """The columns of an operator's table that have a kernel, with the rule that filled each."""
    rows = _opgrid.table(overload_of(op).name())
    slots = (Slot(key, reason, skips, KernelAt(*kernel) if kernel else None) for key, reason, skips, kernel in rows)
    return Table(slot for slot in slots if slot.kernel is not None)


def registered_kernels(op: Any) -> dict[DispatchKey, list[KernelAt]]:
    """The kernels that are registered for an operator, key by key, in the order in which they are tried."""
    name = op if isinstance(op, str) else overload_of(op).name()
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
