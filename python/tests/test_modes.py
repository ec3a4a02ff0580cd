"""Modes see every operator of their thread, nested and left inside of themselves."""

import threading

import opgrid as og
import pytest

x = og.tensor([1.0, 2.0])


class Log(og.DispatchMode):
    def __init__(self, name, log):
        self.name, self.log = name, log

    def __opgrid_dispatch__(self, func, types, args=(), kwargs=None):
        self.log.append((self.name, func.name()))
        return func(*args, **(kwargs or {}))


def test_a_mode_sees_every_operator():
    log = []
    with Log("a", log) as mode:
        y = og.zeros(2) + x
        y.add_(1)
    assert y.tolist() == [2.0, 3.0]
    assert [name for _, name in log][-2:] == ["aten::add.Tensor", "aten::add_.Tensor"]
    assert any("zeros" in name or "empty" in name for _, name in log)
    count = len(log)
    og.add(x, x)
    assert len(log) == count
    assert og.current_mode() is None and mode is not None


def test_composites_take_themselves_apart_first():
    log = []
    with Log("a", log):
        assert (x == 1).tolist() == [True, False]
    assert ("a", "aten::eq.Tensor") in log


def test_modes_nest():
    log = []
    with Log("outer", log), Log("inner", log):
        og.neg(x)
    assert log == [("inner", "aten::neg"), ("outer", "aten::neg")]
    again = Log("again", log)
    with again, again:
        og.neg(x)
    assert log[2:] == [("again", "aten::neg")] * 2


def test_a_mode_is_left_inside_of_its_handler():
    class Doubles(og.DispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            assert og.current_mode() is None
            return func(*args, **(kwargs or {})) * 2

    with Doubles():
        assert og.neg(x).tolist() == [-2.0, -4.0]


def test_handlers_may_raise_and_answer_themselves():
    class Refuses(og.DispatchMode):
        def __opgrid_dispatch__(self, func, types, args=(), kwargs=None):
            raise KeyError(func.name())

    class Answers(og.DispatchMode):
        def __opgrid_dispatch__(self, func, types, args=(), kwargs=None):
            return x

    with Refuses(), pytest.raises(KeyError, match="aten::neg"):
        og.neg(x)
    with Answers():
        assert og.neg(og.zeros(2)) is x
    with og.DispatchMode(), pytest.raises(NotImplementedError, match="__opgrid_dispatch__"):
        og.neg(x)
    assert og.current_mode() is None
    assert og.neg(x).tolist() == [-1.0, -2.0]


def test_modes_belong_to_their_thread():
    log = []

    def other():
        og.neg(x)

    with Log("a", log):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert log == []


def test_leaving_out_of_order_is_an_error():
    outer, inner = Log("a", []), Log("b", [])
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError, match="entered last"):
        outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    outer.__exit__(None, None, None)
    with pytest.raises(RuntimeError):
        outer.__exit__(None, None, None)
