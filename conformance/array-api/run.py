"""Runs the test suite of the array API standard on `opgrid.array_api`.

`cargo xtask conformance array-api --suite PATH` makes an environment and runs this. PATH is a checkout of
https://github.com/data-apis/array-api-tests with its submodule. A run fails if a test fails that the page
`docs/reference/array-api.md` does not name; that page gives the reason for each. A test that is named there and passes is reported,
and is no failure: whether it fails depends on the examples.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs/reference/array-api.md"
NAMED = re.compile(r"^\| `(test_[^`]+)` \|", re.MULTILINE)


class Tally:
    """What became of each test."""

    def __init__(self) -> None:
        self.states: dict[str, str] = {}
        self.notes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = report.nodeid.removeprefix("array_api_tests/")
        if report.when == "call" or report.outcome != "passed":
            self.states[name] = report.outcome
        if report.failed:
            self.notes[name] = getattr(report.longrepr, "reprcrash", report.longrepr)
            self.notes[name] = str(getattr(self.notes[name], "message", self.notes[name])).strip().splitlines()[0]
        elif report.skipped:
            self.notes[name] = str(report.longrepr[-1])


def named() -> list[str]:
    """The tests that may fail: all that begin with a name of the page."""
    return NAMED.findall(PAGE.read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the test suite of the array API standard.")
    parser.add_argument("--suite", type=Path, required=True, help="a checkout of data-apis/array-api-tests with its submodule")
    parser.add_argument("--max-examples", type=int, default=200, help="examples for each test")
    parser.add_argument("--only", default="", help="tests whose names match this expression of pytest")
    parser.add_argument("--jobs", default="1", help="processes")
    options = parser.parse_args()
    suite = options.suite.resolve()
    if not (suite / "array-api/spec").is_dir():
        print(f"{suite} is not a checkout with its submodule: there is no array-api/spec", file=sys.stderr)
        return 2
    os.environ["ARRAY_API_TESTS_MODULE"] = "opgrid.array_api"
    # Nothing is written into the checkout.
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(Path(sys.prefix) / "hypothesis")
    os.chdir(suite)
    # The processes of xdist import what this one does.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(suite), os.environ.get("PYTHONPATH", "")])
    sys.path.insert(0, str(suite))

    import pytest

    tally = Tally()
    arguments = ["array_api_tests", "-q", "-p", "no:cacheprovider", "--disable-deadline", f"--max-examples={options.max_examples}"]
    arguments += ["-k", options.only] if options.only else []
    arguments += ["-n", options.jobs] if options.jobs != "1" else []
    status = pytest.main([*arguments, "--no-header", "--tb=short"], plugins=[tally])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return 1
    return summary(tally)


def summary(tally: Tally) -> int:
    """Prints the numbers, and what failed and was skipped."""
    reasons = named()
    failed = [name for name, state in tally.states.items() if state == "failed"]
    other = [name for name in failed if not any(matches(name, one) for one in reasons)]
    for name in failed:
        print(f"{'failed' if name in other else 'failed, as the page says'}: {name}: {tally.notes.get(name, '')}")
    for name, state in tally.states.items():
        if state == "skipped":
            print(f"skipped: {name}: {tally.notes.get(name, '')}")
    for one in reasons:
        ran = [name for name in tally.states if matches(name, one)]
        if ran and not any(name in failed for name in ran):
            print(f"passed, although the page names it: {one}")
    counts = Counter(tally.states.values())
    print(", ".join(f"{counts[state]} {state}" for state in ("passed", "failed", "skipped")) + f"; {len(other)} failures without a reason")
    return 1 if other else 0


def matches(name: str, named: str) -> bool:
    """Whether a test is one that the page names, with or without its file and parameters."""
    return named in (name, name.partition("::")[2], name.partition("::")[2].partition("[")[0])


if __name__ == "__main__":
    sys.exit(main())
