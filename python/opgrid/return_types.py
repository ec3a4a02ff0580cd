"""The results of functions with several results: tuples whose items have the names that the operator's schema says."""

from __future__ import annotations

import operator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Results(tuple["Any", ...]):
    """Several results: a tuple whose items have names."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __repr__(self) -> str:
        items = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"opgrid.return_types.{type(self).__name__}(\n{items})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self).__name__, self._fields, tuple(self))


_known: dict[tuple[str, tuple[str, ...]], type[Results]] = {}


def of(name: str, fields: tuple[str, ...]) -> type[Results]:
    """The class for results of an operator of this name."""
    known = _known.get((name, fields))
    if known is None:
        items = {field: property(operator.itemgetter(place), doc=f"Result {place}.") for place, field in enumerate(fields)}
        made = type(name, (Results,), {"__slots__": (), "__module__": __name__, "_fields": fields, **items})
        # Threads that come first together get one class.
        known = _known.setdefault((name, fields), made)
        globals().setdefault(name, known)
    return known


def _again(name: str, fields: tuple[str, ...], items: tuple[Any, ...]) -> Results:
    return of(name, fields)(items)
