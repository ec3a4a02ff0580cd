"""What is registered, as data: faults, records and their differences, the grid of operators and keys, coverage; why calls run what they run.

>>> import opgrid as og
>>> og.inspect.lint(namespace="aten")
0 rows
>>> before = og.inspect.record(namespace="aten")
>>> og.inspect.diff(before)
0 rows

The functions ask the commands of the same names of the command line, which ``python -m opgrid`` runs. Tables print as text, and as tables in
notebooks. Everything is that of this process: operators from Python and plugins count.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from . import _opgrid
from ._inspect import (
    Explanation,
    Stats,
    Table,
    call_explained,
    dump,
    explain,
    html_table,
    keys,
    registered_fallbacks,
    registered_kernels,
    schema,
    stats,
    table,
)

__all__ = [
    "BackendCoverage",
    "Change",
    "Explanation",
    "Finding",
    "NameCoverage",
    "Rows",
    "Stats",
    "Table",
    "backend_coverage",
    "call_explained",
    "coverage",
    "diff",
    "dump",
    "explain",
    "grid",
    "keys",
    "lint",
    "record",
    "registered_fallbacks",
    "registered_kernels",
    "schema",
    "stats",
    "table",
]

_Path = str | os.PathLike[str]
_Row = TypeVar("_Row", bound="tuple[Any, ...]")


class Finding(NamedTuple):
    """Something that is probably wrong in what is registered."""

    fault: str
    operator: str
    message: str
    place: str | None


class Change(NamedTuple):
    """A difference between two records, and whether it breaks callers."""

    kind: str
    breaks: bool
    operator: str
    message: str


class NameCoverage(NamedTuple):
    """The public names of a namespace of torch that are here and missing."""

    namespace: str
    here: list[str]
    missing: list[str]


class BackendCoverage(NamedTuple):
    """The operators that a backend has: by its own kernels, as composites of others, through its fallback, or not at all."""

    backend: str
    native: list[str]
    composite: list[str]
    fallback: list[str]
    missing: list[str]


class Rows(list[_Row], Generic[_Row]):
    """Named tuples of one kind, shown as a table in which lists are counted."""

    def _cells(self) -> list[list[str]]:
        return [[str(len(cell) if isinstance(cell, list) else "" if cell is None else cell) for cell in row] for row in self]

    def _head(self) -> tuple[str, ...]:
        fields: tuple[str, ...] = getattr(self[0], "_fields", ()) if self else ()
        return fields

    def __str__(self) -> str:
        if not self:
            return "0 rows"
        lines = [list(self._head()), *self._cells()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self._head(), self._cells())


def lint(*, namespace: str | Iterable[str] = (), allow: Iterable[str] = ()) -> Rows[Finding]:
    """What is probably wrong in what is registered, in all namespaces or in these.

    ``allow`` leaves faults out, everywhere or at one operator, as in ``"missing-meta"`` and ``"missing-meta=my::op"``.

    Raises ``RuntimeError`` if nothing is registered in the namespaces, or a fault is unknown.
    """
    answer = _json("lint", *_each("--namespace", namespace), *_each("--allow", allow))
    return Rows(Finding(**finding) for finding in answer["findings"])


def record(out: _Path | None = None, *, namespace: str | Iterable[str] = ()) -> dict[str, Any]:
    """What is registered: schemas, kernels, what fills each key, and fallbacks, in all namespaces or in these; also written to a file."""
    text = _opgrid._command_answer(["record", *_each("--namespace", namespace)])
    if out is not None:
        with open(out, "w") as file:
            file.write(text)
    recorded: dict[str, Any] = json.loads(text)
    return recorded


def diff(old: _Path | Mapping[str, Any], new: _Path | Mapping[str, Any] | None = None) -> Rows[Change]:
    """What changed from one record to another, or to what is registered now. Records are those of `record` or files of them.

    A record of some namespaces is compared with what is registered now in these.
    """
    with tempfile.TemporaryDirectory() as folder:
        if new is None and not isinstance(old, (str, os.PathLike)):
            new = record(namespace={name.partition("::")[0] for name in old["operators"]})
        files = [_file(one, os.path.join(folder, name)) for one, name in ((old, "old"), (new, "new")) if one is not None]
        answer = _json("diff", *files)
    return Rows(Change(**change) for change in answer["changes"])


def grid(out: _Path, pattern: str | None = None, *, namespace: str | Iterable[str] = ()) -> None:
    """Writes a page, for a browser, that shows operators and dispatch keys as a grid. The page is one file and loads nothing.

    ``pattern`` is a part of the names of operators, in which ``*`` stands for any letters.
    """
    chosen = [] if pattern is None else [pattern]
    _opgrid._command_answer(["grid", *chosen, "--out", os.fspath(out), *_each("--namespace", namespace)])


def coverage(namespace: str | None = None) -> Rows[NameCoverage]:
    """Which public names of torch are here, by namespaces such as ``"torch.linalg"``, or those of one."""
    answer = _json("coverage", *([] if namespace is None else ["--namespace", namespace]))
    return Rows(NameCoverage(**names) for names in (answer["namespaces"] if namespace is None else [answer]))


def backend_coverage(backend: str | None = None) -> Rows[BackendCoverage]:
    """Which operators the backends have, or one of them, such as ``"CPU"``."""
    answer = _json("coverage", *([] if backend is None else ["--backend", backend]))
    backends = answer["backends"] if backend is None else answer
    return Rows(BackendCoverage(each["backend"], **each["operators"]) for each in backends)


def _json(*arguments: str) -> Any:
    """The answer of a command."""
    return json.loads(_opgrid._command_answer([*arguments, "--json"]))


def _each(option: str, values: str | Iterable[str]) -> list[str]:
    """An option once for each value."""
    values = [values] if isinstance(values, str) else values
    return [word for value in values for word in (option, value)]


def _file(recorded: _Path | Mapping[str, Any], place: str) -> str:
    """The file of a record, which is written if there is none."""
    if isinstance(recorded, (str, os.PathLike)):
        return os.fspath(recorded)
    with open(place, "w") as file:
        json.dump(recorded, file)
    return place
