"""Runs programs that are written for torch, with torch and with opgrid in its place, and compares the figures of every step.

`cargo xtask conformance programs` builds the package and runs this. A program is a file in a folder beside this one: its function
`main` is given `record`, which it calls with the number of a step and the step's figures. Seeds are the program's. Figures may differ
by 1e-6 in float64 and 1e-3 in float32, relative to the largest number of the figure, or by `TOLERANCE` of the program. The first
difference of a program is printed. Each run has a process of its own. The exit status is 1 where a program differs or does not run.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import compare

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Outcome:
    """What became of a program: `same`, `differs`, `fails`, or `torch fails`, which is a fault of the program."""

    program: str
    state: str
    note: str
    details: str = ""


def programs() -> list[str]:
    """All programs, as `folder/name`."""
    return sorted(f"{file.parent.name}/{file.stem}" for file in HERE.glob("[!_]*/[!_]*.py"))


def tolerance_of(program: str) -> float | None:
    """What the program assigns to `TOLERANCE`, if anything."""
    for node in ast.parse((HERE / f"{program}.py").read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "TOLERANCE":
            return float(ast.literal_eval(node.value))
    return None


def raised(program: str, trace: str) -> str:
    """The exception of a traceback, and the last line of the program that it went through."""
    lines = trace.strip().splitlines() or ["nothing was printed"]
    places = [line for line in lines if f"{program}.py" in line and ", line " in line]
    place = places[-1].partition(", line ")[2].partition(",")[0] if places else ""
    message = next((line for line in reversed(lines) if line[:1].isalpha()), lines[-1])
    return f"line {place}: {message}" if place else message


def ran(side: str, program: str, file: Path, seconds: float) -> str:
    """Runs a program on one side; gives what it printed if it failed."""
    command = [sys.executable, str(HERE / "work.py"), side, program, str(file)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPGRID_NUM_THREADS": "1"}
    try:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"it did not end within {seconds:.0f} seconds"
    return "" if done.returncode == 0 else done.stderr or f"it ended with status {done.returncode}"


def outcome(program: str, folder: Path, seconds: float) -> Outcome:
    name = program.replace("/", "-")
    files = {side: folder / f"{name}.{side}" for side in ("torch", "opgrid")}
    if trace := ran("torch", program, files["torch"], seconds):
        return Outcome(program, "torch fails", raised(program, trace), trace)
    trace = ran("opgrid", program, files["opgrid"], seconds)
    found, expected = (compare.figures_of(files[side]) for side in ("opgrid", "torch"))
    if trace:
        # What it gave before it failed may differ already.
        found_so_far = compare.compared(found, expected[: len(found)], tolerance_of(program))
        before = f"; before, {found_so_far.difference}" if found_so_far.difference else ""
        return Outcome(program, "fails", f"after {len(found)} of {len(expected)} figures, {raised(program, trace)}{before}", trace)
    result = compare.compared(found, expected, tolerance_of(program))
    if result.difference:
        return Outcome(program, "differs", result.difference)
    return Outcome(program, "same", f"{result.count} figures, at most {result.largest:.0e} apart")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME[,NAME…]", help="programs such as vision/resnet or resnet, or a folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="programs at a time (one for each core)")
    parser.add_argument("--seconds", type=float, default=300, metavar="N", help="after which a run is given up (300)")
    parser.add_argument("--tracebacks", action="store_true", help="print the whole tracebacks")
    options = parser.parse_args(arguments)
    chosen = programs()
    if options.only:
        words = options.only.split(",")
        chosen = [program for program in chosen if {program, *program.split("/")} & set(words)]
        if not chosen:
            print(f"there is no program `{options.only}`; programs are {', '.join(programs())}", file=sys.stderr)
            return 2
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        outcomes = []
        for found in pool.map(lambda program: outcome(program, Path(folder), options.seconds), chosen):
            outcomes.append(found)
            print(f"{found.program:38}{found.state:12}{found.note}", flush=True)
            if options.tracebacks and found.details:
                print(found.details)
    same = sum(found.state == "same" for found in outcomes)
    print(f"{same} of {len(outcomes)} programs have torch's figures")
    return int(same < len(outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
