"""Runs modules, functions and programs of neural networks with torch and with opgrid, from one seed, and compares them.

Of modules: parameters, state dicts, ``repr``, results, gradients of inputs and parameters, and buffers, in training and in
evaluation, in float64 and float32. Of functions: results and gradients. Of mistakes: the builtin class of the exception. Exit
status 1 where anything differs that is not listed in `module_programs.DIFFERENCES`.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import module_cases
import module_programs
import numpy as np
import opgrid
import torch
from compare import end_of, same_end

TOLERANCES = {"float64": 1e-9, "float32": 3e-5}


class Inputs:
    """Makes the same inputs for both libraries, and keeps those that have gradients."""

    def __init__(self, m: Any, dtype: str) -> None:
        self.m, self.dtype = m, getattr(m, dtype)
        self.random = np.random.default_rng(7)
        self.leaves: list[Any] = []

    def names(self) -> dict[str, Any]:
        kinds = (self.x, self.u, self.i, self.s, self.b, self.packed, self.causal, self.tail)
        return {"m": self.m, **{kind.__name__: kind for kind in kinds}}

    def _leaf(self, values: Any) -> Any:
        leaf = self.m.tensor(values.tolist(), dtype=self.dtype).reshape(values.shape).requires_grad_()
        self.leaves.append(leaf)
        return leaf

    def x(self, *shape: int) -> Any:
        return self._leaf(self.random.normal(size=shape))

    def u(self, *shape: int) -> Any:
        leaf = self._leaf(self.random.uniform(0.1, 0.9, size=shape))
        self.leaves.pop()
        return leaf.detach()

    def i(self, below: int, *shape: int) -> Any:
        return self.m.tensor(self.random.integers(0, below, size=shape).tolist())

    def s(self, *shape: int) -> Any:
        return self.m.tensor((2.0 * self.random.integers(0, 2, size=shape) - 1).tolist(), dtype=self.dtype)

    def b(self, *shape: int) -> Any:
        return self.m.tensor((self.random.integers(0, 2, size=shape) > 0).tolist())

    def packed(self, lengths: tuple[int, ...], width: int) -> Any:
        return self.m.nn.utils.rnn.pack_sequence([self.x(length, width) for length in lengths], enforce_sorted=False)

    def causal(self, size: int) -> Any:
        return self.m.ones(size, size, dtype=self.m.bool).triu(1)

    def tail(self, count: int, length: int) -> Any:
        mask = self.m.zeros(count, length, dtype=self.m.bool)
        mask[0, -1] = True
        return mask


def tensors(m: Any, found: Any) -> Iterator[Any]:
    """All tensors in nested results."""
    if isinstance(found, m.Tensor):
        yield found
    elif isinstance(found, (list, tuple)):
        for part in found:
            yield from tensors(m, part)


def plain(found: Any) -> tuple[str, tuple[int, ...], Any]:
    """A tensor as dtype, shape and numbers."""
    found = found.detach()
    numbers = np.array(found.tolist(), dtype=np.float64) if found.numel() else np.zeros(0)
    return str(found.dtype).rpartition(".")[2], tuple(found.shape), numbers


def weights(m: Any, result: Any) -> Any:
    """Another weight for each element of a result."""
    return m.tensor(np.sin(np.arange(1.0, result.numel() + 1)).tolist(), dtype=result.dtype).reshape(result.shape)


def differentiated(m: Any, results: Any, leaves: list[Any]) -> list[Any]:
    """The gradients of a weighted sum of all results."""
    differentiable = [result for result in tensors(m, results) if result.requires_grad]
    if not differentiable:
        return []
    total = sum((result * weights(m, result)).sum() for result in differentiable)
    total.backward()
    return [leaf.grad for leaf in leaves if leaf.grad is not None]


def with_default(m: Any, dtype: str, run: Callable[[], Any]) -> Any:
    """What a function gives with a default dtype."""
    previous = m.get_default_dtype()
    m.set_default_dtype(getattr(m, dtype))
    try:
        return run()
    finally:
        m.set_default_dtype(previous)


def module_run(m: Any, line: str, dtype: str) -> dict[str, Any]:
    """What is seen of a module."""
    made, _, args = line.partition(" <- ")
    inputs = Inputs(m, dtype)
    names = {**vars(m.nn), **inputs.names(), "call": lambda *args, **kwargs: (args, kwargs)}
    m.manual_seed(3)
    module = with_default(m, dtype, lambda: eval(made, names))
    seen: dict[str, Any] = {"repr": repr(module).replace("opgrid.", "torch.")}
    if not made.startswith("Lazy"):
        seen["state"] = {name: plain(value) for name, value in module.state_dict().items()}
    for mode in ("train", "eval"):
        getattr(module, mode)()
        module.zero_grad()
        inputs.leaves.clear()
        inputs.random = np.random.default_rng(7)
        args_now, kwargs = eval(f"call({args})", names)
        m.manual_seed(5)
        results = module(*args_now, **kwargs)
        seen[f"{mode} results"] = [plain(result) for result in tensors(m, results)]
        leaves = [*inputs.leaves, *module.parameters()]
        seen[f"{mode} gradients"] = [plain(grad) for grad in differentiated(m, results, leaves)]
    seen["state after"] = {name: plain(value) for name, value in module.state_dict().items()}
    seen["repr after"] = repr(module).replace("opgrid.", "torch.")
    return seen


def call_run(place: str) -> Callable[[Any, str, str], dict[str, Any]]:
    """What is seen of calls of functions of a namespace."""

    def run(m: Any, line: str, dtype: str) -> dict[str, Any]:
        inputs = Inputs(m, dtype)
        m.manual_seed(3)
        if place == "init":
            with m.no_grad():
                results = eval(line, {**vars(m.nn.init), **inputs.names()})
            return {"results": [plain(result) for result in tensors(m, results)]}
        results = eval(line, {**vars(m.nn.functional), **inputs.names()})
        found = [plain(result) for result in tensors(m, results)]
        return {"results": found, "gradients": [plain(grad) for grad in differentiated(m, results, inputs.leaves)]}

    return run


def program_run(m: Any, text: str, dtype: str) -> dict[str, Any]:
    """What a program puts into ``seen``: tensors, and what has the same ``repr``."""
    inputs = Inputs(m, dtype)
    m.manual_seed(3)
    seen: list[Any] = []
    names = {**inputs.names(), "nn": m.nn, "F": m.nn.functional, "seen": seen}
    with_default(m, dtype, lambda: exec(text, names))
    return {str(place): plain(x) if isinstance(x, m.Tensor) else repr(x).replace("opgrid.", "torch.") for place, x in enumerate(seen)}


def difference(theirs: Any, ours: Any, tolerance: float) -> str | None:
    """Where two runs differ, if they do."""
    if isinstance(theirs, dict):
        if list(theirs) != list(ours):
            return f"keys {list(theirs)} and {list(ours)}"
        pairs = [(key, theirs[key], ours[key]) for key in theirs]
    elif isinstance(theirs, list):
        if len(theirs) != len(ours):
            return f"{len(theirs)} and {len(ours)} tensors"
        pairs = [(str(place), a, b) for place, (a, b) in enumerate(zip(theirs, ours, strict=True))]
    elif isinstance(theirs, tuple):
        if theirs[:2] != ours[:2]:
            return f"{theirs[:2]} and {ours[:2]}"
        is_close = np.allclose(ours[2], theirs[2], rtol=tolerance, atol=tolerance, equal_nan=True)
        return None if is_close else f"{theirs[2].ravel()[:6]} and {ours[2].ravel()[:6]}"
    else:
        return None if theirs == ours else f"{theirs} and {ours}"
    for key, a, b in pairs:
        found = difference(a, b, tolerance)
        if found is not None:
            return f"{key}: {found}"
    return None


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="run only cases that contain this text")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chapters: list[tuple[str, list[str], Callable[[Any, str, str], dict[str, Any]]]] = [
        ("modules", lines(module_cases.MODULES), module_run),
        ("functions", lines(module_cases.FUNCTIONS), call_run("functional")),
        ("initializers", lines(module_cases.INITIALIZERS), call_run("init")),
        ("programs", module_programs.PROGRAMS, program_run),
    ]
    met: set[str] = set()
    unwanted = 0

    def judged(chapter: str, case: str, found: str | None) -> bool:
        nonlocal unwanted
        if found is None:
            return True
        if case in module_programs.DIFFERENCES:
            met.add(case)
        else:
            unwanted += 1
            print(f"{chapter}: {case}\n    {found}")
        return False

    for chapter, cases, run in chapters:
        equal = count = 0
        for case in (case for case in cases if options.only in case):
            for dtype, tolerance in TOLERANCES.items():
                count += 1
                try:
                    found = difference(run(torch, case, dtype), run(opgrid, case, dtype), tolerance)
                except Exception as error:
                    found = f"{type(error).__name__}: {error}"
                equal += judged(chapter, case, found if found is None else f"{dtype}: {found}")
        print(f"{chapter}: {equal} of {count} alike")
    mistakes = [case for case in lines(module_programs.MISTAKES) if options.only in case]
    equal = 0
    for case in mistakes:
        theirs, ours = (end_of(m, case.replace("nn.", "m.nn.").replace("; ", "\n")) for m in (torch, opgrid))
        equal += judged("mistakes", case, None if same_end(theirs, ours) else f"{theirs[2]}\n    {ours[2]}")
    print(f"mistakes: {equal} of {len(mistakes)} alike")
    stale = [] if options.only else sorted(set(module_programs.DIFFERENCES) - met)
    for case in stale:
        print(f"listed as a difference, but alike: {case}")
    return 1 if unwanted or stale else 0


if __name__ == "__main__":
    sys.exit(main())
