"""The loader of batches."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from ..._opgrid import Generator
from ._iterators import InProcess, LoaderIterator, Threads, WithWorkers
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

T = TypeVar("T", covariant=True)


class _Endless(Sampler[None]):
    """As many indices as are asked for, of data sets that have none."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader(Generic[T]):
    """The batches of a data set, in its order, shuffled, or in that of a sampler.

    ``batch_size=None`` gives single examples; ``batch_sampler`` gives lists of indices instead of sampler and size.
    ``collate_fn`` makes a batch of examples, by default `default_collate`. With ``num_workers``, other processes fetch
    ``prefetch_factor`` batches each ahead of time; ``multiprocessing_context`` says how they start (``"fork"``, ``"spawn"``,
    ``"forkserver"``), and ``"thread"`` that they are threads of this process, which share its memory, its random numbers and its
    interpreter lock. ``worker_init_fn`` runs in each with its number. ``persistent_workers`` keeps them for the next epoch.
    With ``timeout``, waiting for a batch longer than that many seconds is an error. ``in_order=False`` gives batches as they come.
    ``pin_memory`` has no effect on a CPU.

    >>> import opgrid as og
    >>> from opgrid.utils.data import DataLoader, TensorDataset
    >>> loader = DataLoader(TensorDataset(og.arange(5), og.arange(5) * 2), batch_size=2)
    >>> [batch[1].tolist() for batch in loader]
    [[0, 2], [4, 6], [8]]
    """

    _is_ready = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError(f"num_workers option should be non-negative, found {num_workers}; use 0 to load in this process")
        if timeout < 0:
            raise ValueError(f"timeout option should be non-negative, found {timeout}")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("prefetch_factor option could only be specified with workers; set num_workers, or leave it None")
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError(f"prefetch_factor option should be non-negative, found {prefetch_factor}")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = _context(multiprocessing_context, num_workers)
        self.in_order = in_order
        self.generator = generator
        self._is_iterable = isinstance(dataset, IterableDataset)
        if self._is_iterable:
            for name, value in (("shuffle", shuffle), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value is not None and not (name == "shuffle" and value is False):
                    raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if self._is_iterable:
                sampler = _Endless()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.persistent_workers = persistent_workers
        self._iterator: WithWorkers | None = None
        self._length_of_iterable: int | None = None
        self._is_ready = True
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if num_workers > cores:
            warnings.warn(
                f"DataLoader: found num_workers={num_workers}, expected at most {cores}, the number of cores that this process may use",
                stacklevel=2,
            )

    def __setattr__(self, name: str, value: Any) -> None:
        fixed = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
        if self._is_ready and name in fixed:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized; make another loader")
        super().__setattr__(name, value)

    @property
    def has_batches(self) -> bool:
        """Whether indices are lists, and examples are made into batches."""
        return self.batch_sampler is not None

    @property
    def index_sampler(self) -> Any:
        """What gives indices: lists of them, or single ones."""
        return self.batch_sampler if self.has_batches else self.sampler

    def __iter__(self) -> LoaderIterator:
        if self.num_workers == 0:
            return InProcess(self)
        if not self.persistent_workers:
            return WithWorkers(self)
        if self._iterator is None:
            self._iterator = WithWorkers(self)
        else:
            self._iterator.restart(self)
        return self._iterator

    def __len__(self) -> int:
        if not self._is_iterable:
            return len(self.index_sampler)
        length = self._length_of_iterable = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)


def _context(context: Any, num_workers: int) -> Any:
    """How workers start, as an object that makes processes and queues."""
    if context is None:
        return None
    if num_workers == 0:
        raise ValueError(f"multiprocessing_context can only be used with num_workers > 0, but got num_workers={num_workers}")
    if context == "thread" or isinstance(context, Threads):
        return Threads()
    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(
                f"multiprocessing_context option should specify a valid start method in {[*methods, 'thread']}, but got {context!r}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(f"multiprocessing_context should be a context object or the name of a start method, but got {context!r}")
    return context
