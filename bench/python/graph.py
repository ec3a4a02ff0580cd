"""Exports networks and measures them in torch for ``cargo xtask bench graph``.

- ``graph.py export FOLDER [BEGINNING]`` writes ``NAME.pt2`` and ``NAME.npz``, with an input and what torch computes of it.
- ``graph.py MODULE measure FOLDER [BEGINNING]`` prints a line ``NAME VALUE`` for each figure, in nanoseconds or bytes. MODULE is
  ``torch`` for what ``torch.export.load`` gives, or ``torchscript`` for what ``torch.jit.trace`` gives.

Weights are those of a seed. Everything runs on one thread.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
for pool in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[pool] = "1"
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np  # noqa: E402
import torch  # noqa: E402
from memory import growth  # noqa: E402

warnings.filterwarnings("ignore")

SECONDS = 1.0
"""How long a network is measured."""

CHAIN = 200
"""How many operators the chain calls."""

TOKENS, WORDS = 64, 8192
"""The length of a text, and how many words there are."""

RUNS = 3
"""How often a network runs while its memory is measured."""

MEMORY = "_memory"
"""What the names of figures end in that are about memory."""


class First(torch.nn.Module):
    """A network that returns one tensor instead of a record."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.module(input_ids=x, use_cache=False)[0]


class Chain(torch.nn.Module):
    """Operators on one element, one after another."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(CHAIN):
            x = x * x
        return x


def text(kind: str, width: int) -> torch.nn.Module:
    """A transformer of four layers."""
    import transformers

    config: dict[str, Any]
    if kind == "Bert":
        config = {"hidden_size": width, "num_hidden_layers": 4, "num_attention_heads": width // 64, "intermediate_size": 4 * width}
        return First(transformers.BertModel(transformers.BertConfig(vocab_size=WORDS, **config)))
    if kind == "GPT2":
        config = {"n_embd": width, "n_layer": 4, "n_head": width // 64}
        return First(transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=WORDS, **config)))
    config = {"hidden_size": width, "num_hidden_layers": 4, "num_attention_heads": width // 64, "intermediate_size": 3 * width}
    return First(transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=WORDS, **config)))


def image(name: str) -> torch.nn.Module:
    import torchvision

    return getattr(torchvision.models, name)(weights=None)


def mlp() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))


def words(batch: int) -> torch.Tensor:
    return torch.randint(WORDS, (batch, TOKENS))


def pixels(batch: int) -> torch.Tensor:
    return torch.randn(batch, 3, 224, 224)


NETWORKS: dict[str, tuple[Callable[[], torch.nn.Module], Callable[[int], torch.Tensor]]] = {
    "chain": (Chain, lambda batch: torch.ones(batch)),
    "mlp": (mlp, lambda batch: torch.randn(batch, 64)),
    "bert": (lambda: text("Bert", 256), words),
    "gpt2": (lambda: text("GPT2", 512), words),
    "llama": (lambda: text("Llama", 256), words),
    "resnet18": (lambda: image("resnet18"), pixels),
    "mobilenet_v3": (lambda: image("mobilenet_v3_large"), pixels),
    "convnext_tiny": (lambda: image("convnext_tiny"), pixels),
    "map": (lambda: torch.nn.Linear(5120, 5120), lambda batch: torch.randn(batch, 5120)),
}


def split(name: str) -> tuple[str, int]:
    """The network of a name, and its batch: `bert_8` are eight texts."""
    network, _, batch = name.rpartition("_")
    return (network, int(batch)) if batch.isdigit() else (name, 1)


def made(name: str) -> tuple[torch.nn.Module, torch.Tensor]:
    network, batch = split(name)
    make, inputs = NETWORKS[network]
    torch.manual_seed(0)
    return make().eval().requires_grad_(False), inputs(batch)


def figures(beginning: str) -> list[str]:
    """The names of the figures that are measured here."""
    suite = json.loads((Path(__file__).parents[1] / "graph.json").read_text())
    names = [figure["name"] for figure in suite["figures"] if figure.get("peers", True)]
    return [name for name in names if name.startswith(beginning)]


def export(folder: Path, beginning: str) -> None:
    """Writes the programs that are not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in {name.removesuffix(MEMORY) for name in figures(beginning)} | {"mlp_1", "map_1"}:
        path = folder / f"{name}.pt2"
        if path.exists():
            continue
        module, x = made(name)
        program = torch.export.export(module, (x,), strict=False)
        with torch.no_grad():
            np.savez(path.with_suffix(".npz"), input=x.numpy(), expected=module(x).numpy())
        # Last, so that a program that is there is whole.
        unfinished = path.with_suffix(".unfinished.pt2")
        torch.export.save(program, unfinished)
        unfinished.rename(path)


def prepared(kind: str, name: str, folder: Path) -> Callable[[], Any]:
    """The call that is measured."""
    if kind == "torch":
        module = torch.export.load(folder / f"{name}.pt2").module()
        x = torch.from_numpy(np.load(folder / f"{name}.npz")["input"])
    else:
        network, x = made(name)
        module = torch.jit.trace(network, (x,), check_trace=False)
    return lambda: module(x)


def lowest(call: Callable[[], Any]) -> float:
    """Nanoseconds that a call takes at best."""
    for _ in range(3):
        call()
    start = time.perf_counter_ns()
    call()
    # A clock is asked for many short calls at once.
    count = max(1, int(100_000 / (time.perf_counter_ns() - start + 1)))
    best, end, rounds = float("inf"), time.perf_counter() + SECONDS, 0
    while time.perf_counter() < end or rounds < 5:
        start = time.perf_counter_ns()
        for _ in range(count):
            call()
        best, rounds = min(best, (time.perf_counter_ns() - start) / count), rounds + 1
    return best


def main() -> None:
    first, *more = sys.argv[1:]
    torch.set_grad_enabled(False)
    if first == "export":
        export(Path(more[0]), more[1] if len(more) > 1 else "")
        return
    command, folder, *names = more
    if command == "case":
        [name] = names
        call = prepared(first, name.removesuffix(MEMORY), Path(folder))
        value = growth(call, RUNS) if name.endswith(MEMORY) else lowest(call)
        print(name, value / CHAIN if name == "chain" else value)
    elif command == "measure":
        for name in figures(names[0] if names else ""):
            # Each in a process of its own, as memory is one process's.
            subprocess.run([sys.executable, __file__, first, "case", folder, name], check=True)
    else:
        sys.exit(f"expected `measure`, found `{command}`")


if __name__ == "__main__":
    main()
