"""Runs torch's own database of operators with torch and with opgrid, and compares.

`cargo xtask conformance operators` builds the package and runs this; without cargo, where the package is built:
`PYTHONPATH=FOLDER python conformance/operators/run.py --only add`. The exit status is 1 where something differs that no rule
of `deliberate.py` explains; what opgrid does not have counts separately.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
import warnings
from typing import Any

sys.dont_write_bytecode = True
os.environ.setdefault("OMP_NUM_THREADS", "1")


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME[,NAME…]", help="entries of the database, packets or overloads; differences in full")
    parser.add_argument("--show", metavar="NAME", help="an entry of the database, of which one call is made and shown")
    parser.add_argument("--sample", type=int, metavar="K", help="the number of that call, as differences print it")
    parser.add_argument("--missing", action="store_true", help="list what is in scope and not registered in opgrid")
    parser.add_argument("--scope", action="store_true", help="list what is in scope")
    parser.add_argument("--max-samples", type=int, default=5, metavar="N", help="samples for each dtype (5; four times as many for the main one)")
    parser.add_argument("--all", action="store_true", help="every sample of every dtype, and all forms of each")
    parser.add_argument("--reference", action="store_true", help="torch's reference inputs instead of its samples")
    parser.add_argument("--backward", action="store_true", help="also the calls that derivatives make")
    parser.add_argument("--no-meta", action="store_true", help="leave out meta tensors")
    parser.add_argument("--details", type=int, metavar="N", help="print so many differing calls of each overload and kind in full")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes at a time (one for each core)")
    parser.add_argument("--seconds", type=float, metavar="N", help="after which an entry is given up (240; 1800 with --all)")
    parser.add_argument("--break", dest="broken", metavar="KIND", help="corrupt opgrid's answers, which has to be noticed: value, dtype, stride, alias, error")
    options = parser.parse_args(arguments)
    if options.sample is not None and options.show is None:
        parser.error("--sample needs --show")
    return options


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    warnings.simplefilter("ignore")
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    try:
        import expecttest  # noqa: F401
        import scipy  # noqa: F401
    except ImportError as error:
        print(f"torch's database of operators needs {error.name}: install it with `{sys.executable} -m pip install expecttest scipy`")
        return 2
    import compare
    import programs
    import report
    import samples
    import scope
    import torch
    import work

    torch.set_num_threads(1)
    if options.broken is not None and options.broken not in compare.BREAKS:
        print(f"--break takes one of {', '.join(compare.BREAKS)}")
        return 2
    if options.missing:
        report.missing()
        return 0
    if options.scope:
        print("\n".join(scope.entries()))
        return 0
    only = frozenset(name for name in (options.only or options.show or "").split(",") if name)
    limits = samples.Limits(
        samples=None if options.all else options.max_samples,
        recorded=1000 if options.all else 30,
        variants=1000 if options.all else 3,
        reference=options.reference,
        backward=options.backward,
    )
    ops = [*scope.drivers(scope.database()), *programs.PROGRAMS]
    asked_for = only | {name.partition(".")[0] for name in only if name not in {op.name for op in ops}}
    direct = [op for op in ops if not only or not asked_for.isdisjoint(names_of(op))]
    if options.show is not None:
        ops = [op for op in scope.database() if op.name == options.show] or direct
    elif only and direct:
        ops = direct
    asked = work.Work(
        limits=limits,
        meta=not options.no_meta,
        corruption=options.broken,
        only=only,
        show=options.sample,
        seconds=options.seconds or (1800 if options.all else 240),
    )
    details = options.details if options.details is not None else 3 if only else 1
    result = report.Report(details=1_000_000 if options.show is not None else 0 if options.broken else details)
    if not only and not self_check():
        return 1
    began = time.monotonic()
    done: set[str] = set()
    for entry, found in work.run(asked, ops, options.jobs):
        for one in found:
            result.add(one)
        if entry not in done and len(done) % 50 == 49:
            print(f"{len(done) + 1} of {len(ops)} entries, {time.monotonic() - began:.0f} s", file=sys.stderr)
        done.add(entry)
    if options.show is not None:
        return 1 if result.differing() else 0
    result.table()
    result.totals(whole=not only)
    print(f"{len(ops)} entries of the database in {time.monotonic() - began:.0f} s")
    if options.broken is not None:
        return judged(result, options.broken)
    return 1 if result.differing() else 0


def self_check() -> bool:
    """Whether the comparison notices what it has to; in a process of its own, because forked ones must not inherit threads."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            import test_comparison

            checks = [check for name, check in vars(test_comparison).items() if name.startswith("test_")]
            for check in checks:
                check()
            print(f"the comparison itself: {len(checks)} checks passed", flush=True)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def names_of(op: Any) -> set[str]:
    """The names by which an entry of the database is asked for."""
    import scope

    name = scope.aten_name(op) or op.name
    reached = {base for base, entries in scope.REACHED_BY.items() if op.name in entries.split()}
    return {op.name, op.name.rpartition(".")[2], name, *reached}


def judged(result: "report.Report", kind: str) -> int:  # type: ignore[name-defined]  # noqa: F821
    """Whether every corrupted answer was noticed."""
    noticed = result.differing()
    unnoticed = sum(row.states["passed"] + row.states["wanted"] for row in result.rows.values())
    print(f"--break {kind}: {noticed} corrupted answers noticed, {unnoticed} not")
    return 0 if noticed and not unnoticed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
