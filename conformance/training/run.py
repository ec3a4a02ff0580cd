"""Trains the same networks in torch and in opgrid, from the same weights on the same numbers, and compares their losses.

`cargo xtask conformance training` builds the package and runs this. The first 20 losses have to agree to 1e-9 in float64 and to
1e-4 in float32. torch draws weights and numbers with a seed; opgrid's own modules load them. With `--break gradients` a thousandth
of each parameter is added to its gradient in opgrid: that has to be noticed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import Any

STEPS = 20
TOLERANCES = {"float64": 1e-9, "float32": 1e-4}
SYMBOLS, LAYERS, WIDTH, HEADS, CONTEXT, BATCH = 65, 4, 128, 4, 64, 16


class Made:
    """A network of one library: its modules by name, and its loss for a batch."""

    def __init__(self, modules: dict[str, Any], loss: Callable[..., Any]) -> None:
        self.modules = modules
        self.loss = loss

    def parameters(self) -> list[Any]:
        return [parameter for module in self.modules.values() for parameter in module.parameters()]


def transformer(m: Any, dtype: str) -> Made:
    """A transformer of 4 layers that predicts the next symbol, without dropout."""
    nn = m.nn
    kind = getattr(m, dtype)
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, 0.0, "gelu", batch_first=True, norm_first=True, dtype=kind)
    # torch has another setting here, of which it warns.
    own = {"enable_nested_tensor": False} if m.__name__ == "torch" else {}
    modules = {
        "encoder": nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(WIDTH, dtype=kind), **own),
        "symbols": nn.Embedding(SYMBOLS, WIDTH, dtype=kind),
        "places": nn.Embedding(CONTEXT, WIDTH, dtype=kind),
        "last": nn.Linear(WIDTH, SYMBOLS, dtype=kind),
    }
    mask = m.full((CONTEXT, CONTEXT), float("-inf"), dtype=kind).triu(1)

    def loss(text: Any) -> Any:
        before, after = text[:, :-1], text[:, 1:].reshape(-1)
        x = modules["symbols"](before) + modules["places"](m.arange(CONTEXT))
        x = modules["encoder"](x, mask=mask, is_causal=True)
        return nn.functional.cross_entropy(modules["last"](x).reshape(-1, SYMBOLS), after)

    return Made(modules, loss)


def convolutional(m: Any, dtype: str) -> Made:
    """Two convolutions with batch normalization, and a linear layer."""
    nn = m.nn
    kind = getattr(m, dtype)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1, dtype=kind),
        nn.BatchNorm2d(16, dtype=kind),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1, dtype=kind),
        nn.BatchNorm2d(32, dtype=kind),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 10, dtype=kind),
    )
    return Made({"model": model}, lambda images, labels: nn.functional.cross_entropy(model(images), labels))


def batches_of_text(torch: Any, _: str) -> list[list[Any]]:
    return [[torch.randint(0, SYMBOLS, (BATCH, CONTEXT + 1))] for _ in range(STEPS)]


def batches_of_images(torch: Any, dtype: str) -> list[list[Any]]:
    kind = getattr(torch, dtype)
    return [[torch.rand(64, 1, 8, 8, dtype=kind), torch.randint(0, 10, (64,))] for _ in range(STEPS)]


NETWORKS = {"transformer": (transformer, batches_of_text), "convolutional": (convolutional, batches_of_images)}


def losses(m: Any, made: Made, batches: list[list[Any]], error: float) -> list[float]:
    """The loss of each step of AdamW."""
    optimizer = m.optim.AdamW(made.parameters(), lr=1e-3)
    found = []
    for batch in batches:
        optimizer.zero_grad()
        loss = made.loss(*batch)
        loss.backward()
        if error:
            for parameter in made.parameters():
                parameter.grad = parameter.grad + error * parameter.detach()
        optimizer.step()
        found.append(loss.item())
    return found


def compared(name: str, dtype: str, seed: int, error: float) -> float:
    """The largest difference of two losses of one step."""
    import opgrid
    import torch

    make, batches_of = NETWORKS[name]
    torch.manual_seed(seed)
    theirs, ours = make(torch, dtype), make(opgrid, dtype)
    batches = batches_of(torch, dtype)
    for part, module in theirs.modules.items():
        # Copies: torch writes its own.
        state = {key: opgrid.from_numpy(value.numpy().copy()) for key, value in module.state_dict().items()}
        ours.modules[part].load_state_dict(state)
    expected = losses(torch, theirs, batches, 0)
    found = losses(opgrid, ours, [[opgrid.from_numpy(part.numpy()) for part in batch] for batch in batches], error)
    if expected[-1] == expected[0]:
        sys.exit(f"{name}: torch's loss does not change, so that nothing is compared")
    return max(abs(one - other) for one, other in zip(found, expected, strict=True))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of weights and numbers (0)")
    parser.add_argument("--only", metavar="NAME", choices=sorted(NETWORKS), help="one network")
    # The other suites take what is broken, too.
    parser.add_argument("--break", dest="broken", metavar="gradients", choices=["gradients"], help="has to be noticed")
    options = parser.parse_args(arguments)
    missed = 0
    print(f"losses of {STEPS} steps; the largest difference from torch's")
    for name in NETWORKS:
        if options.only not in (None, name):
            continue
        for dtype, tolerance in TOLERANCES.items():
            distance = compared(name, dtype, options.seed, 1e-3 if options.broken else 0)
            holds = distance <= tolerance
            missed += not holds
            print(f"{name:14} {dtype}  {distance:.1e}  of {tolerance:.0e}  {'holds' if holds else 'MISSED'}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    sys.exit(main(sys.argv[1:]))
