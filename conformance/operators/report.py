"""Prints what became of the calls."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import deliberate
import opgrid
import scope
from work import Result


def registered() -> frozenset[str]:
    """The overloads of ``aten`` that opgrid has."""
    names = opgrid._opgrid.operator_names("aten")
    return frozenset(name.removeprefix("aten::") for name in names)


def has(entry: str, names: frozenset[str]) -> bool:
    """Whether opgrid has an entry of the scope: the overload, or any of the packet."""
    return entry in names or ("." not in entry and entry not in scope.core() and any(name.partition(".")[0] == entry for name in names))


@dataclass
class Row:
    """One line of the table."""

    overloads: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    """Overloads that calls need and opgrid has not."""
    states: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)


@dataclass
class Report:
    """The results of a run."""

    details: int
    """So many differing calls of each operator and kind are printed in full; none if 0."""
    rows: dict[str, Row] = field(default_factory=lambda: defaultdict(Row))
    rules: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    printed: Counter[tuple[str, tuple[str, ...]]] = field(default_factory=Counter)

    def add(self, result: Result) -> None:
        row = self.rows[scope.base_of(result.overload)]
        row.overloads.add(result.overload)
        row.states[result.state] += 1
        row.kinds.update(result.kinds)
        if result.state == "missing":
            row.missing.add(result.overload)
        self.rules.update(result.rules)
        if result.note and result.state in ("passed", "skipped"):
            self.notes[result.note] += 1
        key = result.overload, result.kinds
        if result.text and self.printed[key] < self.details:
            self.printed[key] += 1
            inner = result.text.replace("\n", "\n    ")
            print(f"{result.entry} sample {result.number} ({result.label}): {inner}\n")

    def differing(self) -> int:
        return sum(row.states["differs"] for row in self.rows.values())

    def table(self) -> None:
        print(f"{'operator':34} {'overloads':>9} {'samples':>8} {'passed':>8} {'differing':>9} {'missing':>8}")
        for name, row in sorted(self.rows.items()):
            samples = sum(row.states[state] for state in ("passed", "wanted", "differs", "missing"))
            if not samples:
                continue
            passed = row.states["passed"] + row.states["wanted"]
            kinds = ", ".join(f"{kind} {count}" for kind, count in row.kinds.most_common())
            absent = f"lacks {', '.join(sorted(row.missing))}" if row.missing and row.missing != row.overloads else ""
            about = "; ".join(part for part in (kinds, absent) if part)
            print(
                f"{name:34} {len(row.overloads):9} {samples:8} {passed:8} {row.states['differs']:9} {row.states['missing']:8}"
                f"  {about}".rstrip()
            )

    def totals(self, *, whole: bool) -> None:
        names = registered()
        entries = scope.entries()
        here = [entry for entry in entries if has(entry, names)]
        passing = [entry for entry in here if self.passes(entry)]
        states: Counter[str] = Counter()
        for row in self.rows.values():
            states.update(row.states)
        compared = sum(states[state] for state in ("passed", "wanted", "differs", "missing"))
        print()
        print(f"scope: {len(entries)} entries, {len(scope.core())} of them core overloads; registered in opgrid: {len(here)}", end="")
        print(f" ({len(scope.core() & names)} core); fully passing: {len(passing)}" if whole else "")
        unreached = [entry for entry in entries if not self.seen(entry) and entry not in scope.WITHOUT_CALLS]
        if whole and unreached:
            print(f"no call reaches: {', '.join(unreached)}")
        print(f"samples: {compared}; passed {states['passed'] + states['wanted']}, of these by rules {states['wanted']}", end="")
        print(f"; differing {states['differs']}; missing {states['missing']}; skipped {states['skipped']}")
        for note, count in sorted(self.notes.items()):
            print(f"  {note}: {count}")
        for rule in deliberate.RULES:
            print(f"rule {rule.name}: {self.rules[rule.name]} differences; {rule.reason}")

    def row_of(self, entry: str) -> Row | None:
        return self.rows.get(scope.base_of(entry))

    def seen(self, entry: str) -> bool:
        row = self.row_of(entry)
        return row is not None and (entry in row.overloads if "." in entry or entry in scope.core() else bool(row.overloads))

    def passes(self, entry: str) -> bool:
        row = self.row_of(entry)
        return row is not None and self.seen(entry) and not row.states["differs"] and entry not in row.missing


def missing() -> None:
    """Prints what is in scope and not registered."""
    names = registered()
    absent = [entry for entry in scope.entries() if not has(entry, names)]
    core = [entry for entry in absent if entry in scope.core()]
    print(f"{len(core)} core overloads: {' '.join(core)}\n")
    others = [entry for entry in absent if entry not in scope.core()]
    print(f"{len(others)} others: {' '.join(others)}")
