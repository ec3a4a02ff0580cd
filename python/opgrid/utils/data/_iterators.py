"""What goes through the batches of a loader once."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import queue
import threading
import time
import warnings
import weakref
from typing import Any

from . import _workers
from ._transport import remove_folder, shared_folder, unpacked
from ._workers import Ended, Failure, Fetcher, Restarted, Task
from .dataset import IterableDataset
from .sampler import random_number


class Threads:
    """Threads in place of processes: what a context of ``multiprocessing`` makes, for workers that share memory."""

    Process = threading.Thread
    Queue = queue.Queue
    Event = threading.Event


class LoaderIterator:
    """The batches of a loader, one after another."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._indices = iter(loader.index_sampler)
        # It is drawn in this place, before samplers draw seeds of their own, so that orders are those of torch.
        self._base_seed = random_number(loader.generator)
        self._given = 0

    def __iter__(self) -> LoaderIterator:
        return self

    def __len__(self) -> int:
        return len(self._loader.index_sampler)

    def __next__(self) -> Any:
        batch = self._next()
        self._given += 1
        expected = self._loader._length_of_iterable
        if isinstance(self._loader.dataset, IterableDataset) and expected is not None and self._given > expected:
            warnings.warn(
                f"DataLoader: the IterableDataset says that its length is {expected}, and has given {self._given} batches; "
                "workers may give the same examples, see get_worker_info",
                stacklevel=2,
            )
        return batch

    def _next(self) -> Any:
        raise NotImplementedError

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled; make one where it is needed, with iter(loader)")


class InProcess(LoaderIterator):
    """Batches that are made when they are asked for."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError("timeout needs num_workers > 0")
        self._fetcher = Fetcher(loader.dataset, loader.has_batches, loader.collate_fn, loader.drop_last)

    def _next(self) -> Any:
        return self._fetcher.fetch(next(self._indices))


class WithWorkers(LoaderIterator):
    """Batches that workers make ahead of time.

    Each batch has a number. Numbers go to the workers in turn, and `_arrived` keeps what came before its turn.
    """

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        if loader.prefetch_factor <= 0:
            raise AssertionError(f"prefetch_factor must be greater than 0, found {loader.prefetch_factor}")
        context = loader.multiprocessing_context or multiprocessing.get_context()
        count = loader.num_workers
        self._results = context.Queue()
        self._done = context.Event()
        self._queues = []
        self._workers = []
        is_thread = isinstance(context, Threads)
        folder = None if is_thread else shared_folder()
        for number in range(count):
            indices = context.Queue()
            if not is_thread:
                indices.cancel_join_thread()
            task = Task(
                loader.dataset,
                loader.has_batches,
                loader.collate_fn,
                loader.drop_last,
                self._base_seed,
                loader.worker_init_fn,
                number,
                count,
                is_thread,
                folder,
            )
            worker = context.Process(target=_workers.work, args=(task, indices, self._results, self._done), daemon=True)
            worker.start()
            self._queues.append(indices)
            self._workers.append(worker)
        ends = (self._workers, self._queues, self._results, self._done, is_thread, folder, os.getpid())
        self._stop = weakref.finalize(self, _stop, *ends)
        self._begin()

    def restart(self, loader: Any) -> None:
        """Begins another epoch with the same workers."""
        self._indices = iter(loader.index_sampler)
        self._given = 0
        for number, indices in enumerate(self._queues):
            indices.put(Restarted(number))
        waiting = len(self._queues)
        while waiting:
            # What is left of the epoch before is thrown away.
            waiting -= isinstance(self._receive()[1], Restarted)
        self._begin()

    def _begin(self) -> None:
        self._sent = self._wanted = 0
        self._owners: dict[int, int] = {}
        self._arrived: dict[int, Any] = {}
        self._is_active = [True] * len(self._queues)
        self._turns = itertools.cycle(range(len(self._queues)))
        for _ in range(self._loader.prefetch_factor * len(self._queues)):
            self._ask()

    def _ask(self) -> None:
        """Sends the next index to the worker whose turn it is."""
        if not any(self._is_active):
            return
        try:
            index = next(self._indices)
        except StopIteration:
            return
        worker = next(worker for worker in self._turns if self._is_active[worker])
        self._queues[worker].put((self._sent, index))
        self._owners[self._sent] = worker
        self._sent += 1

    def _next(self) -> Any:
        while True:
            # Numbers of workers whose data has ended never arrive.
            while self._wanted < self._sent and self._wanted not in self._arrived and not self._is_waited_for(self._wanted):
                self._owners.pop(self._wanted, None)
                self._wanted += 1
            if self._wanted in self._arrived:
                batch = self._arrived.pop(self._wanted)
                self._wanted += 1
                return self._given_out(batch)
            if self._wanted == self._sent:
                if not self._loader.persistent_workers:
                    self._stop()
                raise StopIteration
            number, batch = self._receive()
            worker = self._owners.pop(number, None)
            if isinstance(batch, Ended):
                self._is_active[batch.worker] = False
                self._ask()
            elif worker is not None:
                if not self._loader.in_order:
                    return self._given_out(batch)
                self._arrived[number] = batch

    def _is_waited_for(self, number: int) -> bool:
        worker = self._owners.get(number)
        return worker is not None and self._is_active[worker]

    def _given_out(self, batch: Any) -> Any:
        self._ask()
        if isinstance(batch, Failure):
            batch.reraise()
        return batch

    def _receive(self) -> tuple[int, Any]:
        """The next result of any worker, within the loader's time."""
        limit = self._loader.timeout
        end = time.monotonic() + limit if limit > 0 else None
        while True:
            wait = _workers.CHECK_SECONDS if end is None else min(_workers.CHECK_SECONDS, end - time.monotonic())
            try:
                number, sent = self._results.get(timeout=max(wait, 0))
                return number, unpacked(sent)
            except queue.Empty:
                dead = [worker for place, worker in enumerate(self._workers) if self._is_active[place] and not worker.is_alive()]
                if dead:
                    self._stop()
                    found = ", ".join(str(getattr(worker, "pid", worker.name)) for worker in dead)
                    codes = [getattr(worker, "exitcode", None) for worker in dead]
                    raise RuntimeError(f"DataLoader worker (pid(s) {found}) exited unexpectedly, with exit code {codes}") from None
                if end is not None and time.monotonic() >= end:
                    raise RuntimeError(f"DataLoader timed out after {limit} seconds") from None


def _stop(workers: list[Any], queues: list[Any], results: Any, done: Any, is_thread: bool, folder: str | None, owner: int) -> None:
    """Ends the workers; processes that do not end by themselves are terminated."""
    if os.getpid() != owner:
        # A process that was forked meanwhile has a copy of the iterator, and no part in its workers.
        return
    done.set()
    for indices in queues:
        indices.put(None)
    if is_thread:
        return
    for worker in workers:
        worker.join(timeout=_workers.CHECK_SECONDS)
        if worker.is_alive():
            worker.terminate()
            worker.join(timeout=_workers.CHECK_SECONDS)
    remove_folder(folder)
    for each in (*queues, results):
        each.cancel_join_thread()
        each.close()
