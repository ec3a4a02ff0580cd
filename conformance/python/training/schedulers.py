"""Learning rates and momenta of each scheduler of torch and of opgrid over 100 epochs, whole and continued from state dicts.

Run with both packages in one environment: ``python conformance/python/training/schedulers.py``. Exits with 1 on a difference.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from typing import Any

import opgrid as og
import torch

EPOCHS = 100


class Decay:
    """A function with attributes, which a state dict keeps."""

    def __init__(self, base: float) -> None:
        self.base = base

    def __call__(self, epoch: int) -> float:
        return float(self.base**epoch)


SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, [lambda e: 0.95**e, Decay(0.9)]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.97),
    "StepLR": lambda s, o: s.StepLR(o, 7, 0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [60, 3, 3, 20], 0.5),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.25, 9),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.25, 0.9, 30),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 80, 1.7),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 13, 0.01),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5, 2, 0.01),
    "CosineAnnealingWarmRestarts, equal": lambda s, o: s.CosineAnnealingWarmRestarts(o, 7),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, [0.1, 0.2], 8, 5),
    "CyclicLR, triangular2": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 8, mode="triangular2"),
    "CyclicLR, exp_range": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 8, mode="exp_range", gamma=0.98),
    "CyclicLR, function": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 8, scale_fn=Decay(0.9), scale_mode="iterations"),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, [0.3, 0.5], 110),
    "OneCycleLR, three phases": lambda s, o: s.OneCycleLR(
        o, 0.3, epochs=11, steps_per_epoch=10, three_phase=True, anneal_strategy="linear"
    ),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 5), s.ExponentialLR(o, 0.95), s.CosineAnnealingLR(o, 20)], [10, 50]
    ),
    "SequentialLR, warm up": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1, 10), s.CosineAnnealingWarmRestarts(o, 20)], [10]
    ),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 20), s.ExponentialLR(o, 0.95), s.StepLR(o, 10)]),
    "ChainedScheduler of SequentialLR": lambda s, o: s.ChainedScheduler(
        [s.SequentialLR(o, [s.LinearLR(o), s.PolynomialLR(o, 50)], [6]), s.ExponentialLR(o, 0.99)]
    ),
    "ReduceLROnPlateau": lambda s, o: s.ReduceLROnPlateau(o, factor=0.5, patience=3, cooldown=2, min_lr=[1e-3, 1e-2]),
    "ReduceLROnPlateau, max abs": lambda s, o: s.ReduceLROnPlateau(o, "max", patience=2, threshold=0.1, threshold_mode="abs"),
}
OPTIMIZERS: dict[str, Callable[[Any, list[Any]], Any]] = {
    "SGD": lambda m, groups: m.optim.SGD(groups, lr=0.1, momentum=0.9),
    "AdamW": lambda m, groups: m.optim.AdamW(groups, lr=0.1),
}


def swa(m: Any, optimizer: Any, strategy: str) -> Any:
    """A scheduler of averages."""
    return m.optim.swa_utils.SWALR(optimizer, [0.05, 0.01], anneal_epochs=20, anneal_strategy=strategy)


def run(
    m: Any, optimizer_name: str, make: Callable[[Any, Any], Any], epochs: int, kept: Any = None
) -> tuple[list[list[float]], Any]:
    """Rates and momenta of each epoch, and the state dicts afterwards."""
    params = [m.zeros(1, requires_grad=True), m.zeros(1, requires_grad=True)]
    optimizer = OPTIMIZERS[optimizer_name](m, [{"params": params[0]}, {"params": params[1], "lr": 0.02}])
    scheduler = make(m, optimizer)
    if kept is not None:
        optimizer.load_state_dict(kept[0])
        scheduler.load_state_dict(kept[1])
    start = 0 if kept is None else kept[2]
    figures = []
    for epoch in range(start, start + epochs):
        groups = optimizer.param_groups
        figures.append(
            [
                *(float(g["lr"]) for g in groups),
                *(g.get("momentum", g.get("betas", (0,))[0] if "betas" in g else 0) for g in groups),
            ]
        )
        optimizer.step()
        if isinstance(scheduler, m.optim.lr_scheduler.ReduceLROnPlateau):
            scheduler.step(math.cos(epoch / 7) + 1.5 / (1 + epoch))
        else:
            scheduler.step()
        figures[-1] += scheduler.get_last_lr()
    return figures, (optimizer.state_dict(), scheduler.state_dict(), start + epochs)


def plain(value: Any) -> Any:
    """A state without what cannot be compared: bound methods and functions."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if not callable(each)}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def main() -> int:
    """All schedules with optimizers that have a momentum and that have betas."""
    warnings.simplefilter("ignore")
    cases = {name: (lambda make: lambda m, o: make(m.optim.lr_scheduler, o))(make) for name, make in SCHEDULES.items()}
    cases |= {f"SWALR, {strategy}": (lambda strategy: lambda m, o: swa(m, o, strategy))(strategy) for strategy in ("cos", "linear")}
    wrong = 0
    for optimizer_name in OPTIMIZERS:
        for name, make in cases.items():
            theirs, their_state = run(torch, optimizer_name, make, EPOCHS)
            ours, our_state = run(og, optimizer_name, make, EPOCHS)
            _, half = run(torch, optimizer_name, make, EPOCHS // 2)
            continued = theirs[: EPOCHS // 2] + run(og, optimizer_name, make, EPOCHS // 2, half)[0]
            found = [epoch for epoch in range(EPOCHS) if theirs[epoch] != ours[epoch]]
            later = [epoch for epoch in range(EPOCHS) if theirs[epoch] != continued[epoch]]
            states = plain(their_state[1]) == plain(our_state[1])
            if found or later or not states:
                wrong += 1
                print(f"{name} with {optimizer_name}: epochs {found[:3]}, continued {later[:3]}, state dicts equal: {states}")
                if found:
                    print("   ", theirs[found[0]], ours[found[0]])
                if not states:
                    print("   ", plain(their_state[1]), "\n   ", plain(our_state[1]))
    print(f"{len(cases) * len(OPTIMIZERS)} runs of {EPOCHS} epochs, {wrong} differ")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
