"""What workers of a loader do: they fetch examples, make batches of them, and send errors back."""

from __future__ import annotations

import os
import pickle
import queue
import random
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import opgrid as og

from ._transport import packed
from .dataset import IterableDataset, items

CHECK_SECONDS = 5.0
"""How often processes that wait look whether the other one is alive."""

_here = threading.local()


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker this is: ``id`` of ``num_workers``, its ``seed``, and its copy of the ``dataset``."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


def get_worker_info() -> WorkerInfo | None:
    """Which worker of a loader runs this code; ``None`` outside of workers."""
    return getattr(_here, "info", None)


class Fetcher:
    """Gets examples of a data set, and makes a batch of them."""

    def __init__(self, dataset: Any, has_batches: bool, collate: Callable[[Any], Any], drop_last: bool) -> None:
        self.dataset = dataset
        self.has_batches = has_batches
        self.collate = collate
        self.drop_last = drop_last
        self.iterator = iter(dataset) if isinstance(dataset, IterableDataset) else None
        self._is_at_end = False

    def fetch(self, index: Any) -> Any:
        """The batch of these indices, or the example of one; of an iterable data set, the next as many.

        Raises ``StopIteration`` at the end of an iterable data set.
        """
        if self.iterator is None:
            return self.collate(items(self.dataset, index) if self.has_batches else self.dataset[index])
        if not self.has_batches:
            return self.collate(next(self.iterator))
        if self._is_at_end:
            raise StopIteration
        batch = []
        for _ in index:
            try:
                batch.append(next(self.iterator))
            except StopIteration:
                self._is_at_end = True
                break
        if not batch or (self.drop_last and len(batch) < len(index)):
            raise StopIteration
        return self.collate(batch)


class Failure:
    """An error of a worker, with the text of its traceback."""

    def __init__(self, where: str, error: BaseException) -> None:
        self.kind = type(error)
        self.where = where
        self.text = "".join(traceback.format_exception(error))

    def __reduce__(self) -> Any:
        try:
            pickle.dumps(self.kind)
        except Exception:
            self.kind = RuntimeError
        return _failure, (self.kind, self.where, self.text)

    def reraise(self) -> None:
        """Raises an error of the class with the text; a ``RuntimeError`` where the class cannot be made of one."""
        message = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        try:
            error = self.kind(_Lines(message) if issubclass(self.kind, KeyError) else message)
        except Exception:
            error = RuntimeError(message)
        raise error


def _failure(kind: type[BaseException], where: str, text: str) -> Failure:
    made = Failure.__new__(Failure)
    made.kind, made.where, made.text = kind, where, text
    return made


class _Lines(str):
    """A text that a ``KeyError`` shows as it is, instead of its ``repr``."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Ended:
    """Says that an iterable data set of a worker has no more examples."""

    worker: int


@dataclass(frozen=True)
class Restarted:
    """Asks a worker to begin again, and is its answer."""

    worker: int


@dataclass(frozen=True)
class Task:
    """What a worker needs to know."""

    dataset: Any
    has_batches: bool
    collate: Callable[[Any], Any]
    drop_last: bool
    base_seed: int
    init: Callable[[int], Any] | None
    worker: int
    workers: int
    is_thread: bool
    folder: str | None

    @property
    def place(self) -> str:
        """Where the worker runs, for messages."""
        return f"in DataLoader worker {'thread' if self.is_thread else 'process'} {self.worker}"

    def packed(self, value: Any) -> Any:
        """What is sent of a value. It is pickled here, so that an error is that of the worker."""
        return value if self.is_thread else packed(value, self.folder)


def work(task: Task, indices: Any, results: Any, done: Any) -> None:
    """Fetches what is asked for until there is no more. It is what processes and threads of a loader run.

    ``indices`` has pairs of a number and an index, ``Restarted``, or ``None`` at the end; ``results`` gets pairs of the number
    and what was fetched.
    """
    seed = task.base_seed + task.worker
    if not task.is_thread:
        _seed(task, seed)
    _here.info = WorkerInfo(task.worker, task.workers, seed, task.dataset)
    parent = os.getppid()
    fetcher: Fetcher | None = None
    failed: Failure | None = None
    has_ended = False
    try:
        if task.init is not None:
            task.init(task.worker)
        fetcher = Fetcher(task.dataset, task.has_batches, task.collate, task.drop_last)
    except Exception as error:
        failed = Failure(task.place, error)
    while True:
        try:
            asked = indices.get(timeout=CHECK_SECONDS)
        except queue.Empty:
            if not task.is_thread and os.getppid() != parent:
                break
            continue
        except (EOFError, OSError):
            break
        if asked is None:
            break
        if isinstance(asked, Restarted):
            has_ended = False
            try:
                fetcher = Fetcher(task.dataset, task.has_batches, task.collate, task.drop_last)
            except Exception as error:
                failed = Failure(task.place, error)
            results.put((-1, task.packed(asked)))
            continue
        if done.is_set() or has_ended:
            continue
        number, index = asked
        sent, has_ended = _fetched(task, fetcher, failed, index)
        failed = None
        results.put((number, sent))
    _here.info = None
    if not task.is_thread and done.is_set():
        # What nobody waits for is not flushed.
        results.cancel_join_thread()
        results.close()


def _fetched(task: Task, fetcher: Fetcher | None, failed: Failure | None, index: Any) -> tuple[Any, bool]:
    """What is sent for an index, and whether it says that the data set has ended."""
    if fetcher is None or failed is not None:
        return task.packed(failed or Failure(task.place, RuntimeError("the worker could not begin"))), False
    try:
        return task.packed(fetcher.fetch(index)), False
    except StopIteration as error:
        if fetcher.iterator is not None:
            return task.packed(Ended(task.worker)), True
        return task.packed(Failure(task.place, error)), False
    except Exception as error:
        return task.packed(Failure(task.place, error)), False


def _seed(task: Task, seed: int) -> None:
    """Seeds the random numbers of a process: each worker has a stream of its own, and that of torch's."""
    og.set_num_threads(1)
    random.seed(seed)
    og.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        entropy = [task.worker, task.base_seed & 0xFFFFFFFF, task.base_seed >> 32, 0]
        numpy.random.seed(numpy.random.SeedSequence(entropy).generate_state(4))
