"""Sequences of different lengths: padded to the longest, or packed step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import opgrid as og

from ..._opgrid import Tensor, TensorBase

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Packed(NamedTuple):
    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(_Packed):
    """Sequences of different lengths without padding: the first steps of all, then the second steps, and so on.

    ``data`` has the steps ``(total, …)`` and ``batch_sizes`` how many sequences have each step. Sequences are sorted by
    decreasing length; ``sorted_indices`` says where they were before, ``unsorted_indices`` where they are now, or ``None`` is
    there for both. `pack_padded_sequence` and `pack_sequence` make them.
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if batch_sizes is None:
            # `PackedSequence((data, batch_sizes))` is an older form.
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("PackedSequence(): batch_sizes is not given, expected data to be a pair with it")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(f"PackedSequence(): batch_sizes is on {batch_sizes.device}, expected cpu")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The sequences with ``data.to(…)``; its device is that of the indices, too."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [None if x is None else x.to(data.device) for x in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self) -> Self:
        """The sequences on the CPU."""
        return self.to("cpu")

    def double(self) -> Self:
        """The sequences in float64."""
        return self.to(og.float64)

    def float(self) -> Self:
        """The sequences in float32."""
        return self.to(og.float32)

    def half(self) -> Self:
        """The sequences in float16."""
        return self.to(og.float16)

    def long(self) -> Self:
        """The sequences in int64."""
        return self.to(og.int64)

    def int(self) -> Self:
        """The sequences in int32."""
        return self.to(og.int32)

    def short(self) -> Self:
        """The sequences in int16."""
        return self.to(og.int16)

    def char(self) -> Self:
        """The sequences in int8."""
        return self.to(og.int8)

    def byte(self) -> Self:
        """The sequences in uint8."""
        return self.to(og.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the sequences are on a CUDA device."""
        return bool(self.data.device.type == "cuda")

    def is_pinned(self) -> bool:
        """Whether the sequences lie in pinned memory, which there is none of."""
        return False

    def pin_memory(self) -> Self:
        """The sequences themselves: no memory is pinned."""
        return self


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another one."""
    if permutation is None:
        return None
    places = og.arange(permutation.numel(), device=permutation.device)
    return og.empty_like(permutation).scatter_(0, permutation, places)


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs padded sequences ``(T, N, …)``, or ``(N, T, …)`` with ``batch_first``.

    Sequences have to be sorted by decreasing length, unless ``enforce_sorted`` is false.
    """
    counts = [int(length) for length in (lengths.tolist() if isinstance(lengths, TensorBase) else lengths)]
    steps = input if not batch_first else input.transpose(0, 1)
    if input.numel() == 0:
        raise RuntimeError("pack_padded_sequence(): input has no elements, expected sequences of at least one step")
    if len(counts) != steps.shape[1]:
        raise RuntimeError(f"pack_padded_sequence(): found {len(counts)} lengths for {steps.shape[1]} sequences")
    order = None
    if not enforce_sorted:
        places = og.tensor(counts).argsort(descending=True)
        counts = [counts[place] for place in places.tolist()]
        order = places.to(input.device)
        steps = steps.index_select(1, order)
    elif any(later > earlier for earlier, later in zip(counts, counts[1:], strict=False)):
        raise RuntimeError(
            f"pack_padded_sequence(): lengths are {counts}, expected them in decreasing order; pass enforce_sorted=False "
            "to have sequences sorted"
        )
    if counts[-1] <= 0:
        raise RuntimeError(f"pack_padded_sequence(): lengths are {counts}, expected numbers above zero")
    if counts[0] > steps.shape[0]:
        raise RuntimeError(f"pack_padded_sequence(): lengths are {counts}, expected at most {steps.shape[0]}, as input has")
    sizes = [sum(count > step for count in counts) for step in range(counts[0])]
    data = og.cat([steps[start:end, :size].flatten(0, 1) for start, end, size in _runs(sizes)])
    return PackedSequence(data, og.tensor(sizes), order)


def _runs(sizes: Sequence[int]) -> list[tuple[int, int, int]]:
    """Consecutive steps of as many sequences: where they start and end, and how many sequences they have."""
    runs: list[tuple[int, int, int]] = []
    for step, size in enumerate(sizes):
        if runs and runs[-1][2] == size:
            runs[-1] = (runs[-1][0], step + 1, size)
        else:
            runs.append((step, step + 1, size))
    return runs


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The sequences of a packed one ``(T, N, …)``, or ``(N, T, …)`` with ``batch_first``, and their lengths ``(N,)``.

    ``T`` is the longest length, or ``total_length``. The order is that from before they were packed.
    """
    sizes: list[int] = sequence.batch_sizes.tolist()
    count = len(sizes) if total_length is None else total_length
    if count < len(sizes):
        raise ValueError(f"pad_packed_sequence(): total_length is {count}, expected at least {len(sizes)}, the longest length")
    lengths = og.tensor([sum(size > place for size in sizes) for place in range(sizes[0])])
    rest = sequence.data.shape[1:]
    parts, offset = [], 0
    for start, end, size in _runs(sizes):
        total = (end - start) * size
        steps = sequence.data[offset : offset + total].reshape(end - start, size, *rest)
        missing = steps.new_full((end - start, sizes[0] - size, *rest), padding_value)
        parts.append(og.cat([steps, missing], 1))
        offset += total
    parts.append(sequence.data.new_full((count - len(sizes), sizes[0], *rest), padding_value))
    padded = og.cat(parts)
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices.cpu()]
    return (padded.transpose(0, 1) if batch_first else padded), lengths


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


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences ``(length, …)`` that `pad_sequence` padded."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(rows, lengths.tolist(), strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences ``(length, …)``; they have to be sorted by decreasing length, unless ``enforce_sorted`` is false."""
    lengths = [sequence.shape[0] for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences ``(length, …)`` that were packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
