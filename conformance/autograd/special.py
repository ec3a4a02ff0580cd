"""The same call at points where derivatives are easily wrong: zeros, equal elements, ties, and no elements.

A sample of torch's database has random elements, which hardly ever meet these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import torch
from convert import Frozen, FrozenTensor, rebuilt

DTYPES = (torch.float64, torch.complex128)


def all_zero(elements: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(elements)


def one_zero(elements: torch.Tensor) -> torch.Tensor:
    changed = elements.clone()
    changed[elements.numel() // 2] = 0
    return changed


def some_zero(elements: torch.Tensor) -> torch.Tensor:
    """Every other one."""
    changed = elements.clone()
    changed[::2] = 0
    return changed


def all_equal(elements: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(elements)


def ties(elements: torch.Tensor) -> torch.Tensor:
    """Two values in turn."""
    return elements[torch.arange(elements.numel()) % 2]


POINTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "zeros": all_zero,
    "a zero": one_zero,
    "some zeros": some_zero,
    "equal": all_equal,
    "ties": ties,
}


CRASHES = frozenset({"_pdist_forward", "pdist"})
"""Overloads of which torch's second gradient ends the process where there are no elements."""


def variants(overload: str, arguments: Frozen) -> Iterator[tuple[str, Frozen]]:
    """The arguments with other elements in all their tensors and, where there are several, in one of them; then without elements."""
    dtypes = {tensor.storage: tensor.dtype for tensor in arguments.tensors() if tensor.dtype in DTYPES}
    filled = [storage for storage, dtype in dtypes.items() if arguments.storages[storage].numel() // dtype.itemsize > 1]
    groups = [filled, *([storage] for storage in filled if len(filled) > 1)]
    for (name, point), group in product(POINTS.items(), groups):
        if group:
            where = "" if group is filled else f" in storage {group[0]}"
            yield f"{name}{where}", changed(arguments, point, {storage: dtypes[storage] for storage in group})
    without = without_elements(arguments)
    if without is not None and overload not in CRASHES:
        yield "empty", without


def changed(arguments: Frozen, point: Callable[[torch.Tensor], torch.Tensor], dtypes: dict[int, torch.dtype]) -> Frozen:
    storages = list(arguments.storages)
    for storage, dtype in dtypes.items():
        bytes_of = storages[storage]
        whole = bytes_of[: bytes_of.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
        storages[storage] = point(whole).view(torch.uint8)
    return Frozen(arguments.args, arguments.kwargs, storages)


def without_elements(arguments: Frozen) -> Frozen | None:
    """The arguments with no elements along the first dimension of the first tensor, and along those of that size of the others."""
    first = next(arguments.tensors(), None)
    if first is None or not first.size or first.size[0] == 0:
        return None
    known: dict[int, FrozenTensor] = {}

    def leaf(value: Any) -> Any:
        if not isinstance(value, FrozenTensor) or not value.size or value.size[0] != first.size[0]:
            return value
        return known.setdefault(id(value), replace(value, size=(0, *value.size[1:])))

    return Frozen(rebuilt(arguments.args, leaf), rebuilt(arguments.kwargs, leaf), arguments.storages)
