"""Measures operators for ``cargo xtask bench operators``: ``operators.py MODULE measure [BEGINNING]``, and transforms of functions.

MODULE is ``opgrid`` or ``torch``. Both evaluate the same texts of ``bench/SUITE.json``: ``given`` makes the arguments,
``call`` is measured. In them ``m`` is the module and ``aten`` its operators. A line ``NAME NANOSECONDS`` for each figure.

Both run on one thread: how many there are, and what else the machine does, is another question.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROUNDS = 5
SECONDS = 0.03
# What the pools of threads of both libraries ask when they start.
POOLS = ("OPGRID_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def lowest(call: Callable[[], Any]) -> float:
    """Nanoseconds that a call takes at best."""
    timer = timeit.Timer(call)
    count = 1
    while (taken := timer.timeit(count)) < SECONDS / 10:
        count *= 4
    count = max(1, int(count * SECONDS / taken))
    return min(timer.repeat(ROUNDS, count)) / count * 1e9


def prepared(module: Any, figure: dict[str, Any]) -> Callable[[], Any]:
    """The call of a figure, as a function without arguments."""
    names: dict[str, Any] = {"m": module, "aten": module.ops.aten}
    module.manual_seed(0)
    exec(figure["given"], names)  # noqa: S102: the texts are those of the repository
    return eval(f"lambda: {figure['call']}", names)  # noqa: S307


def main(suite_name: str = "operators") -> None:
    name, command, *beginning = sys.argv[1:]
    if command != "measure":
        sys.exit(f"expected `measure`, found `{command}`")
    os.environ.update(dict.fromkeys(POOLS, "1"))
    module = importlib.import_module(name)
    if name == "torch":
        module.set_grad_enabled(False)
    suite = json.loads((Path(__file__).parents[1] / f"{suite_name}.json").read_text())
    for figure in suite["figures"]:
        if figure["name"].startswith(beginning[0] if beginning else ""):
            print(figure["name"], lowest(prepared(module, figure)))


if __name__ == "__main__":
    main()
