"""Measures training for ``cargo xtask bench train``: ``train.py MODULE measure [BEGINNING]``.

MODULE is ``opgrid`` or ``torch``, which train the same networks on the same numbers, with as many threads as they take. A
line ``NAME VALUE`` for each figure: nanoseconds for an image or a token of training, or megabytes.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memory import growth

STEPS = 4
SECONDS = 3.0
SYMBOLS, LAYERS, CONTEXT, BATCH = 65, 4, 64, 16
IMAGES = 64


def digits(m: Any) -> tuple[Callable[[], Any], int]:
    """A step of training a convolutional network, and how many images it takes."""
    nn = m.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(32 * 4 * 4, 10),
    )
    images, labels = m.rand(IMAGES, 1, 8, 8), m.arange(IMAGES) % 10
    optimizer = m.optim.AdamW(model.parameters(), lr=1e-3)

    def step() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step, IMAGES


def transformer(m: Any, width: int) -> tuple[Callable[[], Any], int]:
    """A step of training a transformer that predicts the next symbol, and how many symbols it takes."""
    nn = m.nn
    layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, LAYERS)
    symbols, places, last = nn.Embedding(SYMBOLS, width), nn.Embedding(CONTEXT, width), nn.Linear(width, SYMBOLS)
    mask = m.full((CONTEXT, CONTEXT), float("-inf")).triu(1)
    text = m.randint(0, SYMBOLS, (BATCH, CONTEXT + 1))
    before, after, order = text[:, :-1].contiguous(), text[:, 1:].reshape(-1), m.arange(CONTEXT)
    modules = (encoder, symbols, places, last)
    parameters = [parameter for module in modules for parameter in module.parameters()]
    optimizer = m.optim.AdamW(parameters, lr=1e-3)

    def step() -> Any:
        optimizer.zero_grad()
        hidden = encoder(symbols(before) + places(order), mask=mask, is_causal=True)
        loss = nn.functional.cross_entropy(last(hidden).reshape(-1, SYMBOLS), after)
        loss.backward()
        optimizer.step()
        return loss

    return step, BATCH * CONTEXT


CASES: dict[str, Callable[[Any], tuple[Callable[[], Any], int]]] = {
    "digits": digits,
    "transformer_128": lambda m: transformer(m, 128),
    "transformer_512": lambda m: transformer(m, 512),
}


def lowest(step: Callable[[], Any]) -> float:
    """Nanoseconds that a step takes at best."""
    for _ in range(STEPS):
        step()
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter_ns()
        step()
        best = min(best, time.perf_counter_ns() - start)
    return best


def main() -> None:
    name, command, *more = sys.argv[1:]
    if command == "case":
        case, _, what = more[0].rpartition("_")
        module = importlib.import_module(name)
        module.manual_seed(0)
        step, count = CASES[case](module)
        print(more[0], lowest(step) / count if what == "throughput" else growth(step, 2 * STEPS) / 2**20)
        return
    if command != "measure":
        sys.exit(f"expected `measure`, found `{command}`")
    suite = json.loads((Path(__file__).parents[1] / "train.json").read_text())
    for figure in suite["figures"]:
        if figure["name"].startswith(more[0] if more else ""):
            # Each in a process of its own, as memory is one process's.
            subprocess.run([sys.executable, __file__, name, "case", figure["name"]], check=True)


if __name__ == "__main__":
    main()
