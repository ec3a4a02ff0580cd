"""What a network of the suite is: how it is made, what it is asked, and how it is exported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Inputs = tuple[tuple[Any, ...], dict[str, Any]]
"""Arguments by position and by name."""


@dataclass(frozen=True)
class Network:
    """One architecture in a small configuration."""

    name: str
    make: Callable[[], Any]
    """Makes the module, with weights of the current seed."""

    inputs: Callable[[int], Inputs]
    """Makes what the module is asked, for that many samples."""

    batch: int = 2
    """The number of samples with which it is exported."""

    dtype: str = "float32"

    is_quick: bool = False
    """Whether it is run without `--all`."""

    dynamic: bool = True
    """Whether the number of samples can vary."""

    trains: bool = False
    """Whether the first result is a loss, whose gradients are exported with it."""


@dataclass
class Outcome:
    """What became of one network in one way of exporting it."""

    name: str
    way: str
    state: str
    """`passed`, `failed`, or `not exported`."""

    reason: str = ""
    nodes: int = 0
    targets: dict[str, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    largest: float = 0.0
    """The largest difference of an output, relative to its largest expected magnitude."""

    of_double: float | None = None
    """How many times as far from float64 as torch an output is that differs by more than the tolerance."""

    traced: float | None = None
    """How far what is traced from the run of the program is from it, where that is asked for."""

    varies: float = 0.0
    """How much outputs differ between inputs, relative to the largest."""

    export: float = 0.0
    run: float = 0.0
    """Seconds."""


def image(size: int, channels: int = 3) -> Callable[[int], Inputs]:
    """Inputs of one batch of square images."""
    return lambda batch: ((patterns(batch, channels, size, size),), {})


def patterns(batch: int, channels: int, *sizes: int) -> Any:
    """Images or clips with shapes in them, each of a brightness of its own.

    Of mere noise, networks see the same in every image: what differs between two is small beside what they share, so that taking
    averages away leaves few digits.
    """
    import torch

    coarse = torch.randn(batch, channels, *(min(4, size) for size in sizes))
    mode = "bilinear" if len(sizes) == 2 else "trilinear"
    shapes = torch.nn.functional.interpolate(coarse, sizes, mode=mode)
    brightness = torch.randn(batch, channels, *(1 for _ in sizes))
    return shapes + 0.5 * brightness + 0.2 * torch.randn(batch, channels, *sizes)


def tokens(length: int, vocabulary: int, **more: Callable[[int], Any]) -> Callable[[int], Inputs]:
    """Inputs of one batch of token numbers, `input_ids`, and others that are made for the batch."""

    def inputs(batch: int) -> Inputs:
        import torch

        ids = torch.randint(3, vocabulary, (batch, length))
        return (), {"input_ids": ids, **{name: make(batch) for name, make in more.items()}}

    return inputs
