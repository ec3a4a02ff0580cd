"""What a call under autocast costs beyond its casts, here and in torch: minima of runs that take turns.

``python bench/python/autocast.py`` in an interpreter that has both libraries.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

RUNS, CALLS = 40, 2000


def region(module: Any) -> dict[str, Callable[[int], None]]:
    """What is measured, as loops of so many calls. A call outside of a region is what one inside of it costs more than."""
    lower = module.ones(2, 2, dtype=module.bfloat16)
    full = module.ones(2, 2)
    weight = module.ones(2, 2, requires_grad=True)
    mm, add, autocast = module.mm, module.add, module.autocast

    def plain(count: int) -> None:
        for _ in range(count):
            mm(lower, lower)

    def listed(count: int) -> None:
        with autocast("cpu"):
            for _ in range(count):
                mm(lower, lower)

    def plain_unlisted(count: int) -> None:
        for _ in range(count):
            add(full, full)

    def unlisted(count: int) -> None:
        with autocast("cpu"):
            for _ in range(count):
                add(full, full)

    def recorded(count: int) -> None:
        cast = weight.to(module.bfloat16)
        for _ in range(count):
            mm(lower, cast)

    def cached(count: int) -> None:
        with autocast("cpu"):
            for _ in range(count):
                mm(lower, weight)

    def cast(count: int) -> None:
        for _ in range(count):
            full.to(module.bfloat16)

    def casting(count: int) -> None:
        with autocast("cpu"):
            for _ in range(count):
                mm(lower, full)

    def entered(count: int) -> None:
        for _ in range(count):
            with autocast("cpu"):
                pass

    return {f.__name__: f for f in (plain, listed, plain_unlisted, unlisted, recorded, cached, cast, casting, entered)}


FIGURES = {
    "mm, nothing to cast": ("listed", ["plain"]),
    "add, in no list": ("unlisted", ["plain_unlisted"]),
    "mm, a weight cast before": ("cached", ["recorded"]),
    "mm, one cast": ("casting", ["plain", "cast"]),
    "a region": ("entered", []),
}
"""What costs are: a loop, less others."""


def main() -> int:
    import opgrid
    import torch

    torch.set_num_threads(1)
    opgrid.set_num_threads(1)
    loops = {"opgrid": region(opgrid), "torch": region(torch)}
    best: dict[tuple[str, str], float] = {}
    for _ in range(RUNS):
        for name in loops["torch"]:
            for library, its in loops.items():
                start = time.perf_counter()
                its[name](CALLS)
                seconds = (time.perf_counter() - start) / CALLS
                best[library, name] = min(seconds, best.get((library, name), seconds))
    print(f"{'beyond the call and its casts, in ns':36} {'opgrid':>8} {'torch':>8} {'ratio':>6}")
    for title, (whole, parts) in FIGURES.items():
        ours, theirs = (1e9 * (best[library, whole] - sum(best[library, part] for part in parts)) for library in ("opgrid", "torch"))
        print(f"{title:36} {ours:8.0f} {theirs:8.0f} {ours / theirs:6.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
