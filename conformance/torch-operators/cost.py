"""Compares what a call of our operators costs in torch with the same operators in C++.

`cargo xtask conformance torch-cost` compiles the peer, builds the package as people install it, and runs this. Each figure is the
ratio of the shortest times of many short rounds, which alternate, so that what else the machine does falls out. Exit status 1
where a ratio is above its budget.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import opgrid as og
import torch

BUDGET = 1.2
ROUNDS, CALLS = 200, 200


def shortest(call: Any, args: tuple[Any, ...], others: Any) -> tuple[float, float]:
    """The shortest time of a call of each, in nanoseconds."""
    best = [float("inf"), float("inf")]
    for _ in range(ROUNDS):
        for place, function in enumerate((call, others)):
            start = time.perf_counter_ns()
            for _ in range(CALLS):
                function(*args)
            best[place] = min(best[place], (time.perf_counter_ns() - start) / CALLS)
    return best[0], best[1]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", required=True)
    torch.ops.load_library(parser.parse_args().peer)
    torch.set_num_threads(1)
    for name in ("square", "mul.Tensor"):
        base = name.partition(".")[0]
        og.torch.export(f"aten::{name}", name=f"bare::{base}", differentiable=False)
        og.torch.export(f"aten::{name}", name=f"ours::{base}")
        # Never called here: what costs is that it is there.
        torch.library.register_autograd(f"graded::{base}", lambda ctx, grad: grad)
    failed = False
    for size in (3, 1024):
        x = torch.ones(size)
        cases = (
            ("square", "bare", torch.ops.bare.square.default, torch.ops.peer.square.default, (x,)),
            ("mul", "bare", torch.ops.bare.mul.Tensor, torch.ops.peer.mul.default, (x, x)),
            ("square", "with a derivative", torch.ops.ours.square.default, torch.ops.graded.square.default, (x,)),
            ("mul", "with a derivative", torch.ops.ours.mul.Tensor, torch.ops.graded.mul.default, (x, x)),
        )
        for name, how, ours, theirs, args in cases:
            mine, peer = shortest(ours, args, theirs)
            failed |= mine > BUDGET * peer
            what = f"{name} of {size} elements, {how}"
            print(f"{what:45} {mine:7.0f} ns, in C++ {peer:7.0f} ns, ratio {mine / peer:.2f} (budget {BUDGET})")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
