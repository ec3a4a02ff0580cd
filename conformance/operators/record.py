"""Records every ATen call that a function of torch's makes.

In inference mode the keys of autograd are excluded, so that composite operators reach the mode as such; the mode then takes
them apart itself and sees what they are made of, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import convert
import torch
from torch.utils._python_dispatch import TorchDispatchMode


@dataclass(frozen=True)
class Call:
    """One call of an overload of ``aten``."""

    overload: str
    """As in ``add.Tensor`` and ``abs``."""
    arguments: convert.Frozen
    unresolved: bool = False
    """Whether no overload of torch's packet takes the arguments: then `overload` is the packet, and opgrid's has to refuse them."""
    precision: str | None = None
    """The dtype in which the result is computed, where it is then written to a wider output."""


def name_of(overload: Any) -> str:
    """The name without its namespace and without ``.default``."""
    return str(overload.name()).removeprefix("aten::").removesuffix(".default")


@dataclass
class Recorder(TorchDispatchMode):
    """Keeps the calls of overloads in scope; those that differ in elements alone are kept once."""

    wanted: Callable[[str], bool]
    limit: int
    """How many calls of one overload are kept in all."""
    calls: list[Call] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = name_of(func)
        if func.namespace == "aten" and self.wanted(name) and self.counts.get(name, 0) < self.limit:
            self.keep(name, args, kwargs)
        with self:
            apart = func.decompose(*args, **kwargs) if func._can_decompose() else NotImplemented
        return func(*args, **kwargs) if apart is NotImplemented else apart

    def keep(self, name: str, args: Any, kwargs: dict[str, Any]) -> None:
        try:
            call = Call(name, convert.freeze(args, kwargs))
        except convert.Unsupported:
            return
        key = name + call.arguments.key()
        if key not in self.seen:
            self.seen.add(key)
            self.counts[name] = self.counts.get(name, 0) + 1
            self.calls.append(call)


def record(recorder: Recorder, function: Callable[[], Any]) -> None:
    """Runs a function and keeps the calls up to where it may fail."""
    try:
        with torch.inference_mode(), recorder:
            function()
    except Exception:
        pass


def record_backward(recorder: Recorder, function: Callable[[], Any]) -> None:
    """As `record`, with the calls that the derivatives make."""
    try:
        with torch.enable_grad(), recorder:
            results = [leaf for leaf in convert.leaves(function()) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
            sum((result.abs().sum() for result in results), torch.zeros(())).backward()
    except Exception:
        pass
