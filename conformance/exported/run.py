"""Exports networks of torchvision, timm and transformers with torch, runs them in opgrid, and compares every output.

`cargo xtask conformance exported` builds the program that runs them and starts this. Networks are small, with seeded weights that are
scaled so that every layer matters. Each is exported with a fixed number of samples and with one that varies, and then run with another
number than it was exported with; small models are exported with their backward pass as well. An output may differ by 1e-5 of the largest
number expected, or be at most twice as far from what torch computes in float64 as torch's own is in float32. Each network has a process of
its own. Those that torch itself does not export are listed and do not count. The exit status is 1 where something differs or does not run.
"""

from __future__ import annotations

import argparse
import os
import pickle
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPGRID_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
# Nothing is downloaded.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from networks import Network, Outcome  # noqa: E402


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True, help="what runs exported programs")
    parser.add_argument("--all", action="store_true", help="all networks instead of the quick ones")
    parser.add_argument("--only", metavar="NAME[,NAME…]", help="networks such as timm.davit_tiny or davit_tiny, or a library")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of weights and inputs (0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes at a time (one for each core)")
    parser.add_argument("--seconds", type=float, default=900, metavar="N", help="after which a network is given up (900)")
    parser.add_argument("--again", action="store_true", help="also write each program and run it in torch, and trace it from its own run")
    parser.add_argument("--break", dest="broken", metavar="weights", choices=["weights"], help="change a weight of what is exported, which has to be noticed")
    return parser.parse_args(arguments)


def chosen(options: argparse.Namespace) -> list[Network]:
    """The networks that were asked for."""
    import timm_networks
    import torchvision_networks
    import training_networks
    import transformers_networks

    libraries = torchvision_networks, timm_networks, transformers_networks, training_networks
    networks = [network for library in libraries for network in library.networks()]
    if not options.only:
        return [network for network in networks if options.all or network.is_quick]
    found = []
    for name in options.only.split(","):
        meant = [network for network in networks if name in (network.name, *network.name.split(".", 1))]
        if not meant:
            print(f"there is no network `{name}`; networks are {', '.join(network.name for network in networks)}")
            sys.exit(2)
        found += meant
    return found


def in_a_process(network: Network, setting: Any) -> int:
    """Starts comparing a network, and gives the number of the process. Outcomes go to a file."""
    pid = os.fork()
    if pid:
        return pid
    try:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        import work

        for way in work.ways(network):
            outcome = work.outcome(network, way, setting)
            with open(setting.folder / f"{network.name}.outcomes", "ab") as file:
                pickle.dump(outcome, file)
        os._exit(0)
    finally:
        os._exit(1)


def outcomes_of(network: Network, status: int, setting: Any) -> list[Outcome]:
    """What a process that ended has found out; what it did not come to has failed."""
    import work

    found = []
    file = setting.folder / f"{network.name}.outcomes"
    if file.exists():
        with file.open("rb") as stream:
            while stream.peek(1):
                found.append(pickle.load(stream))
        file.unlink()
    for left in setting.folder.glob(f"{network.name}.*"):
        left.unlink()
    code = os.waitstatus_to_exitcode(status)
    reason = f"the process was ended by {signal.Signals(-code).name}" if code < 0 else f"the process ended with {code}"
    return found + [Outcome(network.name, way, "failed", reason) for way in work.ways(network)[len(found) :]]


def compared(networks: list[Network], setting: Any, jobs: int) -> list[Outcome]:
    """Compares all, in so many processes at a time."""
    waiting, running, found = list(reversed(networks)), {}, []
    while waiting or running:
        while waiting and len(running) < jobs:
            network = waiting.pop()
            running[in_a_process(network, setting)] = network, time.monotonic()
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid not in running:
            for late, (_, began) in running.items():
                if time.monotonic() - began > setting.seconds:
                    os.kill(late, signal.SIGKILL)
            time.sleep(0.05)
            continue
        for outcome in outcomes_of(running.pop(pid)[0], status, setting):
            found.append(outcome)
            print(row(outcome), *([f"    {outcome.reason}"] if outcome.state == "failed" else []), sep="\n", flush=True)
    return found


WIDTHS = 44, 8, 12, 6, 5, 8, 7, 7, 7, 7
TITLES = "network", "batch", "state", "nodes", "kinds", "largest", "float64", "varies", "export", "run"


def aligned(cells: tuple[str, ...]) -> str:
    return "  ".join(cell.ljust(width) if place < 3 else cell.rjust(width) for place, (cell, width) in enumerate(zip(cells, WIDTHS))).rstrip()


def row(outcome: Outcome) -> str:
    """One line of the table."""
    times = "" if outcome.of_double is None else f"{outcome.of_double:.2f}"
    figures = str(outcome.nodes), str(len(outcome.targets)), f"{outcome.largest:.1e}", times, f"{outcome.varies:.1e}", f"{outcome.export:.1f}", f"{outcome.run:.3f}"
    return aligned((outcome.name, outcome.way, outcome.state, *figures))


def report(outcomes: list[Outcome]) -> None:
    """What failed, what is missing, and how many passed."""
    for state in ("not exported", "failed"):
        for outcome in outcomes:
            if outcome.state == state:
                print(f"{state}: {outcome.name}, {outcome.way}: {outcome.reason}")
    calls, networks = Counter[str](), Counter[str]()
    for outcome in outcomes:
        calls.update(outcome.missing)
        networks.update(outcome.missing.keys())
    for name, count in calls.most_common():
        print(f"missing: {name}, {count} calls in {networks[name]} programs")
    states = Counter(outcome.state for outcome in outcomes)
    passed = [outcome for outcome in outcomes if outcome.state == "passed"]
    architectures = {outcome.name for outcome in passed}
    print(f"{states['passed']} programs of {len(architectures)} networks passed, {states['failed']} failed, {states['not exported']} were not exported by torch")
    kinds = {target for outcome in outcomes for target in outcome.targets}
    print(f"{len(kinds)} operators and functions in {sum(outcome.nodes for outcome in outcomes)} nodes")
    again = [outcome for outcome in passed if outcome.traced is not None]
    if again:
        worst = max(again, key=lambda outcome: outcome.traced or 0.0)
        print(f"{len(again)} programs written here and run by torch gave what the original gives; traced from their own run they differ by at most {worst.traced:.1e}, {worst.name}")
    if passed:
        worst = max(passed, key=lambda outcome: outcome.largest)
        print(f"largest difference of those that passed: {worst.largest:.1e} of the largest number, {worst.name}")


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    warnings.simplefilter("ignore")
    networks = chosen(options)
    began = time.monotonic()
    # Imported before processes are forked, so that each has them at once.
    import timm  # noqa: F401
    import torchvision  # noqa: F401
    import transformers

    import work

    transformers.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as folder:
        setting = work.Setting(options.program, Path(folder), options.seed, options.seconds, options.broken is not None, options.again)
        print(aligned(TITLES))
        outcomes = compared(networks, setting, max(1, options.jobs))
    report(outcomes)
    print(f"{time.monotonic() - began:.0f} s")
    states = Counter(outcome.state for outcome in outcomes)
    if options.broken:
        print(f"--break {options.broken}: {states['failed']} changes noticed, {states['passed']} not")
        return 0 if states["failed"] and not states["passed"] else 1
    return 1 if states["failed"] or not states["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
