"""Results that come later, of other threads."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

_T = TypeVar("_T")


class Future(Generic[_T]):
    """A result that some thread sets and others wait for.

    >>> import opgrid as og
    >>> future = og.futures.Future()
    >>> doubled = future.then(lambda done: 2 * done.value())
    >>> future.set_result(3)
    >>> doubled.wait()
    6
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._future: concurrent.futures.Future[_T] = concurrent.futures.Future()

    def done(self) -> bool:
        """Whether the result, or an exception, is there."""
        return self._future.done()

    def wait(self) -> _T:
        """The result, once it is there; an exception that was set is raised."""
        return self._future.result()

    def value(self) -> _T:
        """The result, which has to be there."""
        if not self.done():
            raise RuntimeError("Future.value(): the future is not completed; wait for it with `wait`")
        return self._future.result()

    def set_result(self, result: _T) -> None:
        """Sets the result, once."""
        self._once(lambda: self._future.set_result(result))

    def set_exception(self, result: BaseException) -> None:
        """Sets an exception in place of a result."""
        if not isinstance(result, Exception):
            raise AssertionError(f"set_exception(): expected an exception, found {type(result).__name__}")
        self._once(lambda: self._future.set_exception(result))

    def _once(self, set_it: Callable[[], None]) -> None:
        try:
            set_it()
        except concurrent.futures.InvalidStateError:
            raise RuntimeError("the future was completed before; a result is set once") from None

    def then(self, callback: Callable[[Future[_T]], Any]) -> Future[Any]:
        """The future of what the callback gives for this one, which runs when this is completed."""
        following: Future[Any] = Future()

        def run(_done: Any) -> None:
            try:
                following.set_result(callback(self))
            except Exception as raised:
                following.set_exception(raised)

        self._future.add_done_callback(run)
        return following

    def add_done_callback(self, callback: Callable[[Future[_T]], None]) -> None:
        """Calls the callback when the future is completed."""
        self._future.add_done_callback(lambda _done: callback(self))


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """The future of a list of futures, all of them completed."""
    all_of_them: Future[list[Future[Any]]] = Future()
    missing = len(futures)

    def count(_future: Future[Any]) -> None:
        nonlocal missing
        missing -= 1
        if missing == 0:
            all_of_them.set_result(futures)

    if not futures:
        all_of_them.set_result(futures)
    for future in futures:
        future.add_done_callback(count)
    return all_of_them


def wait_all(futures: list[Future[_T]]) -> list[_T]:
    """The results of all, once they are there."""
    return [future.wait() for future in collect_all(futures).wait()]
