"""Sequences of different lengths."""

from __future__ import annotations

from collections.abc import Iterable

import opgrid as og

from ..._opgrid import Tensor


def pad_sequence(
    sequences: Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences ``(length, …)`` as one tensor ``(longest, N, …)``, or ``(N, longest, …)``, with a number where they have no elements."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence(): sequences is a {type(sequences).__name__}, expected an iterable of tensors")
    return og.pad_sequence(list(sequences), batch_first, padding_value, padding_side)
