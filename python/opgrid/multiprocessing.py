"""Python's ``multiprocessing`` with what torch adds to it. Tensors that are sent to another process are copied."""

from __future__ import annotations

import multiprocessing as _processes
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from typing import Any

_STRATEGIES = ("file_descriptor", "file_system")
_strategy = "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """The names of ways to share memory, which are accepted."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """The name that was set last."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Keeps the name of a way to share memory; tensors are copied in any case."""
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(f"set_sharing_strategy(): found {new_strategy!r}, expected one of {_STRATEGIES}")
    _strategy = new_strategy


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: list[Any]) -> None:
        self.processes = processes

    def pids(self) -> list[int | None]:
        """The numbers that the system has for the processes."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Waits for the processes; whether all have ended. One that failed is an error, and ends the others."""
        for process in self.processes:
            process.join(timeout)
        failed = next((place for place, process in enumerate(self.processes) if process.exitcode not in (0, None)), None)
        if failed is not None:
            for process in self.processes:
                process.terminate()
            raise RuntimeError(f"process {failed} ended with exit code {self.processes[failed].exitcode}; its error is printed above")
        return all(process.exitcode == 0 for process in self.processes)


def spawn(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"
) -> ProcessContext | None:
    """Calls ``fn(number, *args)`` in each of ``nprocs`` new processes, and waits for them if ``join``."""
    context = _processes.get_context(start_method)
    processes = [context.Process(target=fn, args=(number, *args), daemon=daemon) for number in range(nprocs)]  # type: ignore[attr-defined]
    for process in processes:
        process.start()
    started = ProcessContext(processes)
    if not join:
        return started
    started.join()
    return None
