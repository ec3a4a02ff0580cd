"""Gradients with checkpoints, whole and in segments, in both forms that torch has, with random numbers; and autocast and scalers.

Run with both packages in one environment: ``python conformance/python/training/recomputation.py``. Exits with 1 on a difference.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import opgrid as og
import opgrid.utils.checkpoint
import torch
import torch.utils.checkpoint


def model(m: Any) -> Any:
    """A network with dropout."""
    m.manual_seed(1)
    return m.nn.Sequential(m.nn.Linear(4, 6), m.nn.Dropout(0.4), m.nn.Tanh(), m.nn.Linear(6, 6), m.nn.ReLU(), m.nn.Linear(6, 2))


def gradients(m: Any, call: Callable[[Any, Any, Any], Any]) -> list[Any]:
    """The loss, all gradients, and the random numbers that come next."""
    network = model(m)
    x = (m.arange(20.0).reshape(5, 4) / 20).requires_grad_()
    loss = call(m, network, x).pow(2).sum()
    loss.backward()
    return [loss.item(), x.grad.tolist(), *(p.grad.tolist() for p in network.parameters()), m.rand(3).tolist()]


def scaled(m: Any, network: Any, x: Any) -> Any:
    """Under autocast, by a scaler."""
    scaler = m.amp.GradScaler("cpu", init_scale=4.0)
    with m.autocast("cpu", dtype=m.bfloat16):
        y = network(x)
    return scaler.scale(y.float().sum()).sqrt().reshape(1)


def forked(m: Any, network: Any, x: Any) -> Any:
    """With random numbers in between that leave the stream as it was."""
    with m.random.fork_rng(devices=[]):
        m.manual_seed(9)
        m.rand(5)
    return network(x)


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "plain": lambda m, network, x: network(x),
    "whole": lambda m, network, x: m.utils.checkpoint.checkpoint(network, x, use_reentrant=False),
    "whole, reentrant": lambda m, network, x: m.utils.checkpoint.checkpoint(network, x, use_reentrant=True),
    "without random numbers": lambda m, network, x: m.utils.checkpoint.checkpoint(
        network[3:], network[:3](x), use_reentrant=True, preserve_rng_state=False
    ),
    "in segments": lambda m, network, x: m.utils.checkpoint.checkpoint_sequential(network, 3, x, use_reentrant=False),
    "in segments, reentrant": lambda m, network, x: m.utils.checkpoint.checkpoint_sequential(network, 2, x, use_reentrant=True),
    "decorated": lambda m, network, x: m.utils.checkpoint.checkpoint(use_reentrant=False)(network)(x),
    "keywords": lambda m, network, x: m.utils.checkpoint.checkpoint(
        lambda a, scale: network(a) * scale, x, use_reentrant=False, scale=2.0
    ),
    "scaled": scaled,
    "forked": forked,
}


def is_near(a: Any, b: Any) -> bool:
    """Whether nested lists of numbers are equal but for rounding."""
    if isinstance(a, list):
        return len(a) == len(b) and all(is_near(x, y) for x, y in zip(a, b))
    return abs(a - b) <= 1e-5 * max(1.0, abs(a))


def main() -> int:
    """All ways to call."""
    warnings.simplefilter("ignore")
    wrong = 0
    for name, call in CALLS.items():
        theirs, ours = gradients(torch, call), gradients(og, call)
        if not is_near(theirs, ours):
            wrong += 1
            print(name, theirs, ours, sep="\n  ")
    print(f"{len(CALLS)} ways, {wrong} differ")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
