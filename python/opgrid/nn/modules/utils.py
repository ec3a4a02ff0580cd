"""Sizes for each dimension, and names of state dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any


def _ntuple(count: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that repeats a number, and takes several as they are."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, count))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Takes a prefix off the names of a state dict and of its metadata, in place, as ``"module."`` of `DataParallel`."""
    metadata = getattr(state_dict, "_metadata", None)
    for names in (state_dict, metadata if metadata is not None else {}):
        for name in list(names):
            if name == prefix.rstrip("."):
                names[""] = names.pop(name)
            elif name.startswith(prefix):
                names[name.removeprefix(prefix)] = names.pop(name)
