"""Data sets: examples by index, or one after another."""

from __future__ import annotations

import itertools
import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import opgrid as og

from ..._opgrid import Generator, Tensor

T = TypeVar("T", covariant=True)


class Dataset(Generic[T]):
    """Examples by index. A class of its own defines ``__getitem__``, and ``__len__`` where there is a number of them.

    ``__getitems__(indices)``, if there is one, gives the examples of a batch at once.
    """

    def __getitem__(self, index: Any) -> T:
        raise NotImplementedError(f"{type(self).__name__} has to define __getitem__")

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T], Iterable[T]):
    """Examples one after another. A class of its own defines ``__iter__``.

    Each worker of a loader has a copy; `get_worker_info` says which one it is, so that workers can give different examples.
    """

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Slices of tensors along the first dimension, which is as long in all of them."""

    def __init__(self, *tensors: Tensor) -> None:
        sizes = [tensor.shape[0] for tensor in tensors]
        if len(set(sizes)) > 1:
            raise AssertionError(f"Size mismatch between tensors: found {sizes} in the first dimension, expected one number")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])


class StackDataset(Dataset[Any]):
    """Examples that have one part from each of several data sets: tuples of these, or dicts where they are given by name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("StackDataset: found data sets with and without names, expected one kind")
        if not args and not kwargs:
            raise ValueError("StackDataset: at least one dataset should be passed")
        self.datasets: Any = args or kwargs
        lengths = [len(dataset) for dataset in args or kwargs.values()]
        if len(set(lengths)) > 1:
            raise ValueError(f"Size mismatch between datasets: found lengths {lengths}")
        self._length = lengths[0]

    def _joined(self, parts: Iterable[Any]) -> Any:
        if isinstance(self.datasets, dict):
            return dict(zip(self.datasets, parts, strict=True))
        return tuple(parts)

    def _parts(self) -> list[Any]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def __getitem__(self, index: Any) -> Any:
        return self._joined(dataset[index] for dataset in self._parts())

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        columns = [items(dataset, indices) for dataset in self._parts()]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(
                    f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)} from __getitems__"
                )
        return [self._joined(row) for row in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T]):
    """The examples of several data sets, one set after another."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset; chain them with ChainDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(dataset) for dataset in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T:
        if index < 0:
            if -index > len(self):
                raise ValueError(
                    f"absolute value of index should not exceed dataset length: found {index} for {len(self)} examples"
                )
            index += len(self)
        place = bisect_right(self.cumulative_sizes, index)
        start = self.cumulative_sizes[place - 1] if place else 0
        found: T = self.datasets[place][index - start]
        return found


class ChainDataset(IterableDataset[Any]):
    """The examples of several iterable data sets, one set after another."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _checked(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(f"ChainDataset only supports IterableDataset, found {type(dataset).__name__}")
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._checked():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._checked())


class Subset(Dataset[T]):
    """The examples of a data set at some indices."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        kind = type(self)
        if kind.__getitem__ is not Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{kind.__name__} overrides __getitem__ but not __getitems__, which loaders call; "
                "define __getitems__(self, indices) as well"
            )

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[T]:
        return items(self.dataset, [self.indices[index] for index in indices])

    def __len__(self) -> int:
        return len(self.indices)


def items(dataset: Any, indices: list[Any]) -> list[Any]:
    """The examples at several indices, at once where the data set can."""
    at_once = getattr(dataset, "__getitems__", None)
    return at_once(indices) if callable(at_once) else [dataset[index] for index in indices]


def random_split(dataset: Any, lengths: Sequence[float], generator: Generator | None = None) -> list[Subset[Any]]:
    """Random subsets that do not overlap, of the lengths, or of fractions that add up to one.

    What fractions leave over goes to the first subsets, one example to each in turn.

    >>> import opgrid as og
    >>> [len(part) for part in og.utils.data.random_split(range(10), [0.5, 0.25, 0.25])]
    [6, 2, 2]
    """
    count = len(dataset)
    sizes: list[Any] = list(lengths)
    if math.isclose(sum(sizes), 1) and sum(sizes) <= 1:
        for place, part in enumerate(sizes):
            if not 0 <= part <= 1:
                raise ValueError(f"Fraction at index {place} is not between 0 and 1: {part}")
        sizes = [math.floor(count * part) for part in sizes]
        for place in range(count - sum(sizes)):
            sizes[place % len(sizes)] += 1
        for place, size in enumerate(sizes):
            if size == 0:
                warnings.warn(f"Length of split at index {place} is 0. This might result in an empty dataset.", stacklevel=2)
    if sum(sizes) != count:
        raise ValueError(
            f"Sum of input lengths does not equal the length of the input dataset: found {sum(sizes)}, expected {count}"
        )
    indices = og.randperm(count, generator=generator).tolist()
    ends = itertools.accumulate(sizes)
    return [Subset(dataset, indices[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
