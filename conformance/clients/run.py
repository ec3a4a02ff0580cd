"""Puts libraries that are written for any array through their steps with opgrid's arrays, and compares the results with numpy's.

`cargo xtask conformance clients` makes an environment with these libraries and runs this. It prints a table of the steps, and fails if
one differs, or if one works that is said not to.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import os
import sys
from collections import Counter
from pathlib import Path

# Both have to be told before they are imported.
os.environ["SCIPY_ARRAY_API"] = "1"

import steps

PACKAGES = {
    "sklearn": "scikit-learn", "scipy": "scipy", "einops": "einops", "opt_einsum": "opt_einsum", "xarray": "xarray",
    "array_api_extra": "array-api-extra", "array_api_compat": "array-api-compat",
}  # fmt: skip
"""The clients, and what their packages are called."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs clients of the array API with opgrid's arrays.")
    parser.add_argument("--only", default="", help="words in the names of clients or steps, separated by commas")
    parser.add_argument("--details", action="store_true", help="print the whole exceptions")
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    for client in PACKAGES:
        importlib.import_module(f"with_{client}")
    words = [word for word in options.only.split(",") if word]
    wanted = [one for one in steps.STEPS if not words or any(word in f"{one.client} {one.name}" for word in words)]
    if not wanted:
        print(f"no step has `{options.only}` in its name or its client's", file=sys.stderr)
        return 2
    outcomes = []
    client = ""
    for one in wanted:
        if one.client != client:
            client = one.client
            print(f"{PACKAGES[client]} {importlib.metadata.version(PACKAGES[client])}")
        found = steps.outcome(one)
        outcomes.append(found)
        print(f"  {one.name:<40}{found.state:<11}{found.note}".rstrip())
        if options.details and found.details:
            print(found.details)
    counts = Counter(found.state for found in outcomes)
    print(", ".join(f"{count} {state}" for state, count in sorted(counts.items())))
    return 1 if any(found.is_wrong for found in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
