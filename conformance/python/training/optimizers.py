"""Trains small problems with each optimizer of torch and of opgrid, and compares parameters, state dicts and further steps.

Run with both packages in one environment: ``python conformance/python/training/optimizers.py``. Exits with 1 on a difference.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from typing import Any

import numpy as np
import opgrid as og
import torch

STEPS = 20
TOLERANCE = 1e-12

# Settings of each optimizer beside the defaults; each is tried.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "SGD": [
        {"lr": 0.02},
        {"lr": 0.02, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.01},
        {"lr": 0.01, "momentum": 0.9, "nesterov": True},
    ],
    "Adam": [{"lr": 0.05}, {"lr": 0.05, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.1, "amsgrad": True}],
    "AdamW": [{"lr": 0.05}, {"lr": 0.05, "weight_decay": 0.3, "amsgrad": True}],
    "Adamax": [{"lr": 0.05}, {"lr": 0.05, "betas": (0.8, 0.95), "weight_decay": 0.1}],
    "NAdam": [
        {"lr": 0.05},
        {"lr": 0.05, "weight_decay": 0.1, "momentum_decay": 0.01},
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
    ],
    "RAdam": [{"lr": 0.05}, {"lr": 0.05, "weight_decay": 0.1}, {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}],
    "Adagrad": [{"lr": 0.1}, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5}],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.8, "eps": 1e-4, "weight_decay": 0.1}],
    "RMSprop": [{"lr": 0.01}, {"lr": 0.01, "alpha": 0.9, "momentum": 0.8, "centered": True, "weight_decay": 0.1}],
    "Rprop": [{}, {"lr": 0.05, "etas": (0.3, 1.5), "step_sizes": (1e-3, 0.2)}],
    "ASGD": [{"lr": 0.02}, {"lr": 0.02, "t0": 5, "lambd": 0.01, "weight_decay": 0.1}],
    "Adafactor": [{}, {"lr": 0.1, "d": 2.0, "weight_decay": 0.1, "eps": (1e-8, 1e-2)}],
    "Muon": [
        {},
        {"lr": 0.05, "nesterov": False, "weight_decay": 0.2},
        {"adjust_lr_fn": "match_rms_adamw"},
        {"adjust_lr_fn": "spectral_unclamped"},
    ],
    "LBFGS": [
        {"lr": 0.1},
        {"line_search_fn": "strong_wolfe"},
        {"lr": 0.5, "max_iter": 4, "history_size": 2, "line_search_fn": "strong_wolfe"},
    ],
}
SHAPES: dict[str, list[tuple[int, ...]]] = {"Muon": [(3, 2), (2, 4)]}
NO_MAXIMIZE = {"Muon"}
COMPLEX = set(SETTINGS) - {"Muon", "Adafactor"}


def parameters(m: Any, name: str, is_complex: bool) -> list[Any]:
    """Parameters that are the same numbers in both packages."""
    made = []
    for place, shape in enumerate(SHAPES.get(name, [(3,), (2, 3), ()])):
        values = np.random.default_rng(place).standard_normal(shape)
        if is_complex and place < 2:
            values = values + 1j * np.random.default_rng(place + 9).standard_normal(shape)
        made.append(m.tensor(values.tolist(), dtype=m.complex128 if np.iscomplexobj(values) else m.float64, requires_grad=True))
    return made


def loss(params: list[Any]) -> Any:
    """A bent valley, which bounds the loss from below."""
    total = 0
    for place, p in enumerate(params):
        size = p.abs() if p.is_complex() else p
        total = total + ((size * size - 1 - 0.1 * place) ** 2).sum() + (size * 0.7).sum().sin()
    return total


def train(optimizer: Any, params: list[Any], steps: int) -> None:
    """Steps with a closure, as LBFGS needs one; optimizers that maximize climb to the ridge of the upturned valley."""
    sign = -1 if optimizer.param_groups[0].get("maximize") else 1

    def closure() -> Any:
        optimizer.zero_grad()
        value = sign * loss(params)
        value.backward()
        return value

    for _ in range(steps):
        optimizer.step(closure)


def numbers(value: Any) -> Any:
    """Tensors as arrays, in containers too."""
    if isinstance(value, (torch.Tensor, og.TensorBase)):
        return np.asarray(value.detach().tolist())
    if isinstance(value, dict):
        return {key: numbers(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [numbers(each) for each in value]
    return value


def as_opgrid(value: Any) -> Any:
    """A state dict of torch with tensors of opgrid."""
    if isinstance(value, torch.Tensor):
        return og.tensor(value.tolist(), dtype=getattr(og, str(value.dtype).removeprefix("torch.")))
    if isinstance(value, dict):
        return {key: as_opgrid(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(as_opgrid(each) for each in value)
    return value


def difference(a: Any, b: Any, where: str, found: list[str], tolerance: float) -> None:
    """Appends where two values differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        if set(a) != set(b):
            found.append(f"{where}: keys {sorted(map(str, set(a) ^ set(b)))}")
        for key in set(a) & set(b):
            difference(a[key], b[key], f"{where}.{key}", found, tolerance)
    elif isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            found.append(f"{where}: lengths {len(a)} and {len(b)}")
        for place, (x, y) in enumerate(zip(a, b)):
            difference(x, y, f"{where}[{place}]", found, tolerance)
    elif isinstance(a, (int, float, complex, np.ndarray)) and isinstance(b, (int, float, complex, np.ndarray)):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape:
            found.append(f"{where}: shapes {a.shape} and {b.shape}")
        elif not np.allclose(a, b, rtol=tolerance, atol=tolerance * 1e-3, equal_nan=True):
            found.append(f"{where}: {a} and {b}")
    elif a != b:
        found.append(f"{where}: {a!r} and {b!r}")


def check(name: str, settings: dict[str, Any], is_complex: bool) -> list[str]:
    """What differs after some steps, in the state dicts, and after further steps of a state dict of torch that was loaded."""
    # The iterations of Muon are in bfloat16, whose products round differently.
    tolerance = 1e-1 if name == "Muon" else TOLERANCE
    made: list[tuple[Any, list[Any]]] = []
    for m in (torch, og):
        params = parameters(m, name, is_complex)
        groups: list[Any] = [{"params": params[:1], "lr": settings.get("lr", 0.01) * 2}, {"params": params[1:]}]
        made.append((getattr(m.optim, name)(params if name == "LBFGS" else groups, **settings), params))
    found: list[str] = []
    steps = 4 if name == "LBFGS" else STEPS
    for optimizer, params in made:
        train(optimizer, params, steps)
    (theirs, their_params), (ours, our_params) = made
    difference(numbers(their_params), numbers(our_params), "parameters", found, tolerance)
    # The state of LBFGS has differences of gradients that are nearly equal.
    noise = 1e6 if name == "LBFGS" else 10
    difference(numbers(theirs.state_dict()), numbers(ours.state_dict()), "state", found, tolerance * noise)
    if repr(theirs) != repr(ours):
        found.append(f"repr: {theirs!r} and {ours!r}")
    continued = parameters(og, name, is_complex)
    with og.no_grad():
        for p, value in zip(continued, their_params):
            p.copy_(og.tensor(value.detach().tolist(), dtype=p.dtype))
    other = getattr(og.optim, name)(
        [{"params": continued}] if name == "LBFGS" else [{"params": continued[:1]}, {"params": continued[1:]}]
    )
    other.load_state_dict(as_opgrid(theirs.state_dict()))
    theirs.load_state_dict(theirs.state_dict())
    train(theirs, their_params, 3)
    train(other, continued, 3)
    difference(numbers(their_params), numbers(continued), "continued", found, tolerance * 10)
    return found


def main() -> int:
    """All optimizers, real and complex, downwards and upwards."""
    warnings.simplefilter("ignore")
    count = wrong = 0
    for name, several in SETTINGS.items():
        for settings, is_complex, up in itertools.product(several, (False, True), (False, True)):
            if (is_complex and name not in COMPLEX) or (up and name in NO_MAXIMIZE):
                continue
            if up:
                settings = {**settings, "maximize": True}
            count += 1
            found = check(name, settings, is_complex)
            if found:
                wrong += 1
                print(f"{name} {settings} complex={is_complex}", *found[:4], sep="\n  ")
    print(f"{count} runs, {wrong} differ")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
