"""Plain arguments, which are read in one step, mean what others mean that are read for the same parameter."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import opgrid as og


class Whole(int):
    """An integer that is not plain."""


def not_plain(argument: Any) -> Any:
    """The argument with integers of another class."""
    if isinstance(argument, tuple):
        return tuple(not_plain(item) for item in argument)
    return Whole(argument) if type(argument) is int else argument


def outcome(name: str, arguments: tuple[Any, ...], **named: Any) -> Any:
    try:
        result = getattr(og, name)(*arguments, **named)
    except Exception as raised:
        return type(raised)
    if isinstance(result, og.Tensor):
        return result.tolist(), result.shape, result.dtype, result.stride()
    return result


ROWS = og.arange(6.0).reshape(2, 3)
ONE = og.tensor(2)

CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("add", (ROWS, 1)),
    ("add", (1, ROWS)),
    ("add", (ROWS, True)),
    ("add", (ROWS, ROWS)),
    ("add", (ROWS, 2**63)),
    ("add", (ROWS, 2**64)),
    ("add", (ROWS,)),
    ("sub", (ROWS, 2.5)),
    ("pow", (ROWS, 2)),
    ("pow", (2, ROWS)),
    ("pow", (ROWS, ONE)),
    ("lt", (ROWS, 3)),
    ("clamp", (ROWS, 1, 3)),
    ("clamp", (ROWS, ONE)),
    ("sum", (ROWS,)),
    ("sum", (ROWS, 0)),
    ("sum", (ROWS, (0, 1))),
    ("sum", (ROWS, 0, True)),
    ("sum", (ROWS, 0, 1)),
    ("sum", (ROWS, 1.0)),
    ("sum", (ROWS, ROWS)),
    ("transpose", (ROWS, 0, 1)),
    ("transpose", (ROWS, 0, True)),
    ("transpose", (ROWS, ONE, 0)),
    ("reshape", (ROWS, (3, 2))),
    ("reshape", (ROWS, 6)),
    ("reshape", (ROWS, 3, 2)),
    ("select", (ROWS, 0, 1)),
    ("select", (ROWS, 0, 2**70)),
    ("zeros", (2, 3)),
    ("zeros", ((2, 3),)),
    ("zeros", (2,)),
    ("zeros", ()),
    ("zeros", (2, 3.0)),
    ("zeros", (2, True)),
    ("zeros", ((2, 3), 4)),
    ("full", ((2,), 7)),
    ("full", ((2,), True)),
    ("full", (2, 7)),
    ("avg_pool1d", (ROWS, 2)),
    ("avg_pool1d", (ROWS, (2,), 1)),
    ("roll", (ROWS, 1, 0)),
    ("roll", (ROWS, (1, 1), (0, 1))),
    ("stack", ((ROWS, ROWS),)),
    ("eye", (2, 3)),
    ("arange", (1, 7, 2)),
    ("arange", (1.5,)),
    ("linspace", (0, 1, 3)),
]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_integers_of_derived_classes_are_read_alike(name: str, arguments: tuple[Any, ...]) -> None:
    assert outcome(name, arguments) == outcome(name, not_plain(arguments))


@pytest.mark.parametrize(("name", "arguments"), [call for call in CALLS if call[1]])
def test_arguments_beside_a_keyword_are_read_alike(name: str, arguments: tuple[Any, ...]) -> None:
    assert outcome(name, arguments) == outcome(name, arguments, out=None)


def test_the_device_of_new_tensors_is_that_of_the_block() -> None:
    with og.device("meta"):
        assert og.zeros(2, 3).device == og.device("meta")
        assert og.zeros((2, 3)).device == og.device("meta")
    assert og.zeros(2, 3).device == og.device("cpu")


def test_sizes_are_those_of_now() -> None:
    x = og.zeros(2, 3)
    before = x.shape
    x.unsqueeze_(0)
    assert (before, x.shape) == ((2, 3), (1, 2, 3))
    x.resize_(4)
    assert (x.shape, type(x.shape), x.size()) == ((4,), og.Size, (4,))
    assert og.zeros(()).shape == ()
    many = {count: og.zeros(count, count + 1).shape for count in range(500)}
    assert all(size == (count, count + 1) for count, size in many.items())


def test_threads_ask_for_sizes_at_once() -> None:
    wrong: list[Any] = []

    def ask(first: int) -> None:
        tensors = [og.zeros(first, count) for count in range(100)]
        for _ in range(50):
            wrong.extend(x for count, x in enumerate(tensors) if x.shape != (first, count))

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_sizes_whose_class_runs_code_when_they_go(monkeypatch: pytest.MonkeyPatch) -> None:
    gone: list[Any] = []

    def go(size: og.Size) -> None:
        gone.append(og.zeros(3, 1000).shape.numel() + len(size))

    monkeypatch.setattr(og.Size, "__del__", go, raising=False)
    for count in range(300):
        assert og.zeros(count).shape == (count,)
    monkeypatch.undo()
    assert gone
