"""Runs the calls of one entry of the database in a process of its own, so that a crash is told of the call that made it."""

from __future__ import annotations

import io
import mmap
import os
import pickle
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import compare
import convert
import deliberate
import record
import samples
import scope
import torch


@dataclass(frozen=True)
class Work:
    """What the options ask of each entry."""

    limits: samples.Limits
    meta: bool
    corruption: str | None
    only: frozenset[str]
    """Overloads, their packets or entries to which the run is limited; all if there are none."""
    show: int | None
    """The number of the one call to make, of which everything is told."""
    seconds: float
    """After which an entry is given up."""


@dataclass(frozen=True)
class Result:
    """What became of a call, in words."""

    entry: str
    number: int
    label: str
    overload: str
    state: str
    kinds: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    note: str = ""
    text: str = ""


CRASHES = 20
"""So many calls of one entry may crash before it is given up."""


def chosen(work: Work, op: Any, call: record.Call) -> bool:
    if not work.only:
        return True
    packet = call.overload.partition(".")[0]
    if not {call.overload, packet, scope.base_of(call.overload)}.isdisjoint(work.only):
        return True
    # The name of a packet asks for its calls, any other name of an entry for all that the entry calls.
    return op.name in work.only and op.name not in scope.bases()


def text_of(case: samples.Case, outcome: compare.Outcome, elements: int) -> str:
    """A call, both answers and the differences, so that it can be repeated."""
    lines = [f"aten::{case.call.overload}({convert.written(case.call.arguments, elements)})"]
    if outcome.theirs is not None:
        lines.append(f"torch:  {outcome.theirs}")
    if outcome.ours is not None:
        lines.append(f"opgrid: {outcome.ours}")
    lines.extend(f"{difference.kind}: {difference.text}" for difference in outcome.differences)
    return "\n".join(lines)


def results(work: Work, op: Any, start: int, progress: mmap.mmap) -> Iterator[Result]:
    """What becomes of the calls of an entry, from one number on."""
    tolerance = samples.tolerance_of(op)
    corruption = compare.corrupted(work.corruption) if work.corruption else None
    for number, case in enumerate(samples.cases(op, work.limits)):
        if number < start or work.show not in (None, number) or (work.show is None and not chosen(work, op, case.call)):
            continue
        about = f"{case.label}\0{case.call.overload}\0{convert.written(case.call.arguments)}".encode()[:4000]
        progress[: 16 + len(about)] = struct.pack("qq", number, len(about)) + about
        outcome = compare.outcome(case.call, tolerance, meta=work.meta, corruption=corruption)
        rules = [deliberate.rule_for(case.call, outcome, difference) for difference in outcome.differences]
        state = "wanted" if rules and None not in rules else outcome.state
        kinds = tuple(dict.fromkeys(found.kind for found, rule in zip(outcome.differences, rules, strict=True) if rule is None))
        text = text_of(case, outcome, 24 if work.show is None else 4096) if kinds or work.show is not None else ""
        known = tuple(rule for rule in rules if rule is not None)
        yield Result(op.name, number, case.label, case.call.overload, state, kinds, known, outcome.note, text)


class Child:
    """A process that runs an entry."""

    def __init__(self, work: Work, op: Any, start: int = 0, crashes: int = 0) -> None:
        self.work, self.op, self.crashes = work, op, crashes
        self.progress = mmap.mmap(-1, 4096)
        self.progress[:16] = struct.pack("qq", -1, 0)
        self.file = tempfile.TemporaryFile()
        self.began = time.monotonic()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                self.run(start)
                code = 0
            except BaseException as error:
                print(f"{op.name}: the comparison itself failed: {type(error).__name__}: {error}", file=sys.stderr)
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(code)

    def run(self, start: int) -> None:
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        for result in results(self.work, self.op, start, self.progress):
            pickle.dump(result, self.file)
            self.file.flush()

    def overdue(self) -> bool:
        return time.monotonic() - self.began > self.work.seconds

    def finished(self, status: int) -> tuple[list[Result], Child | None]:
        """What the process found, and the one that goes on behind a call that ended it."""
        self.file.seek(0)
        found: list[Result] = []
        reader = io.BufferedReader(self.file)
        try:
            while True:
                found.append(pickle.load(reader))
        except (EOFError, pickle.UnpicklingError):
            pass
        code = os.waitstatus_to_exitcode(status)
        if code == 0:
            return found, None
        number, length = struct.unpack("qq", self.progress[:16])
        label, overload, text = (self.progress[16 : 16 + length].decode(errors="replace").split("\0", 2) + ["", "", ""])[:3]
        late = self.overdue()
        how = "takes too long" if late else f"ends the process with signal {-code}" if code < 0 else "fails in the comparison"
        overload = overload or scope.aten_name(self.op) or self.op.name
        found.append(
            Result(self.op.name, number, label, overload, "differs", ("crash",), text=f"aten::{overload}({text})\ncrash: {how}")
        )
        if late or number < 0 or self.crashes >= CRASHES:
            return found, None
        return found, Child(self.work, self.op, number + 1, self.crashes + 1)


def run(work: Work, ops: list[Any], jobs: int) -> Iterator[tuple[str, list[Result]]]:
    """Runs every entry, so many at a time, and gives its name with what was found."""
    waiting = list(reversed(ops))
    running: dict[int, Child] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            child = Child(work, waiting.pop())
            running[child.pid] = child
        for pid, child in list(running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended == 0:
                if child.overdue():
                    os.kill(pid, 9)
                continue
            del running[pid]
            found, next_child = child.finished(status)
            if next_child is not None:
                running[next_child.pid] = next_child
            yield child.op.name, found
        time.sleep(0.01)
