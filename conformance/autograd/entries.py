"""What the comparisons of derivatives share: the entries of torch's database in processes of their own, and a table of results."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from departures import DEPARTURES

DTYPES = ("float64", "complex128")


@dataclass(frozen=True)
class Result:
    """What became of a call."""

    overload: str
    state: str
    """passed, checked, differing, refused (by torch too), constant (nothing to differentiate), unfit (for differences: torch's own check fails, too), skipped"""
    text: str = ""


Entry = Callable[[Any, argparse.Namespace], list[Result]]
"""Compares the calls of an entry of the database."""


def main(states: Sequence[str], entry: Entry, options: argparse.Namespace) -> int:
    """Runs `entry` for every entry of the database that has derivatives, and prints a table of states by overload."""
    warnings.simplefilter("ignore")
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    import scope
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_num_threads(1)
    only = {name for name in (options.only or "").split(",") if name}
    ops = [op for op in scope.drivers(op_db) if op.supports_autograd]
    if only:
        ops = [op for op in ops if only & {op.name, scope.aten_name(op) or op.name}]
    began = time.monotonic()
    table: dict[str, Counter[str]] = defaultdict(Counter)
    shown: Counter[str] = Counter()
    for results in run(ops, entry, options):
        for result in results:
            table[result.overload][result.state] += 1
            if result.state == "differing" and shown[result.overload] < options.details:
                shown[result.overload] += 1
                print(result.text)
    return report(table, states, len(ops), time.monotonic() - began, options.broken)


def report(table: dict[str, Counter[str]], states: Sequence[str], entries: int, seconds: float, broken: bool) -> int:
    print(f"{'operator':44}" + "".join(f"{state:>15}" for state in states))
    totals: Counter[str] = Counter()
    for overload, counts in sorted(table.items()):
        totals += counts
        print(f"{overload:44}" + "".join(f"{counts[state] or '':>15}" for state in states))
    print(f"{'total':44}" + "".join(f"{totals[state]:>15}" for state in states))
    whole = sum(1 for counts in table.values() if not counts["differing"])
    print(f"{whole} of {len(table)} overloads whole; {entries} entries of the database in {seconds:.0f} s")
    for departure in DEPARTURES:
        hits = sum(table[overload]["deliberate"] for overload in departure.overloads)
        print(f"departure: {departure.reason} ({hits} calls)")
    if broken:
        print(f"--break: {totals['differing']} noticed, {totals['passed']} not")
        return 0 if totals["differing"] and not totals["passed"] else 1
    return 1 if totals["differing"] else 0


def run(ops: list[Any], entry: Entry, options: argparse.Namespace) -> Iterator[list[Result]]:
    """The results of each entry; one whose process ends with a crash differs.

    A crash ends all processes of a pool, so that what was not done then is done again, each entry in a process of its own.
    """
    # Entries are functions, which forked processes have and cannot be sent.
    ENTRIES[:] = [(entry, op, options) for op in ops]
    failed: list[int] = []
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("fork")) as pool:
        futures = {pool.submit(results_of, index): index for index in range(len(ops))}
        for future, index in futures.items():
            try:
                yield future.result()
            except BrokenProcessPool:
                failed.append(index)
    for index in failed:
        with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
            try:
                yield pool.submit(results_of, index).result()
            except BrokenProcessPool:
                yield [Result(ops[index].name, "differing", f"{ops[index].name}: the process crashed")]


ENTRIES: list[tuple[Entry, Any, argparse.Namespace]] = []


def results_of(index: int) -> list[Result]:
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    entry, op, options = ENTRIES[index]
    return entry(op, options)


def cases(op: Any, count: int | None, dtypes: Collection[str] = DTYPES) -> Iterator[Any]:
    """The calls of an entry in some dtypes, without those that torch refuses."""
    import samples

    every_dtype = samples.dtypes_of
    chosen = [dtype for dtype in every_dtype(op) if str(dtype).rpartition(".")[2] in dtypes]
    samples.dtypes_of = lambda _op: chosen  # type: ignore[assignment]
    try:
        limits = samples.Limits(samples=count, recorded=1000 if count is None else 30, variants=0, reference=False, backward=False)
        yield from (case for case in samples.cases(op, limits) if not case.label.startswith("error"))
    finally:
        # The next entry of this process has dtypes of its own.
        samples.dtypes_of = every_dtype


def told(op: Any, case: Any, state: str, text: str = "") -> Result:
    """What became of a call; a difference that is known is deliberate."""
    import convert

    arguments, overload = case.call.arguments, case.call.overload
    is_known = state == "differing" and any(
        overload in one.overloads and one.holds(arguments, text) and not (one.with_other_results and gives_the_same(case.call))
        for one in DEPARTURES
    )
    state = "deliberate" if is_known else state
    return Result(overload, state, f"{op.name} {case.label}: aten::{overload}({convert.written(arguments, 12)})\n    {text}")


def gives_the_same(call: Any) -> bool:
    """Whether a call gives what it gives in torch."""
    import compare
    import samples

    return not any(found.kind == "value" for found in compare.outcome(call, samples.Tolerance(), meta=False).differences)


def flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in flat(part)]
    return [value]


def difference(found: Any, expected: Any) -> str | None:
    """What differs between gradients; nothing is as good as zeros."""
    import convert
    import torch

    for place, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        if ours is None and theirs is None:
            continue
        if ours is None:
            if theirs.abs().sum() == 0:
                continue
            return f"gradient {place}: found none, expected {theirs.tolist()!s:.300}"
        if theirs is not None and tuple(ours.shape) != tuple(theirs.shape):
            return f"gradient {place}: found sizes {list(ours.shape)}, expected {list(theirs.shape)}"
        ours = convert.as_torch(ours.detach().clone())
        # A gradient of torch's may be zeros without memory.
        theirs = torch.zeros_like(ours) if theirs is None else torch.zeros_like(ours) + theirs.detach().resolve_conj().resolve_neg()
        if ours.dtype != theirs.dtype:
            return f"gradient {place}: found {ours.dtype}, expected {theirs.dtype}"
        if ours.is_complex():
            # At a pole a complex number is infinite or no number, as the formula divides; both say that there is none.
            ours, theirs = (torch.where(number.isfinite(), number, torch.nan) for number in (ours, theirs))
        is_exact = not ours.is_floating_point() and not ours.is_complex()
        if not (torch.equal(ours, theirs) if is_exact else torch.allclose(ours, theirs, rtol=1e-7, atol=1e-7, equal_nan=True)):
            return f"gradient {place}: found {ours.tolist()!s:.300}, expected {theirs.tolist()!s:.300}"
    return None
