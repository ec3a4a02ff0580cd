"""Classes derived from tensors: results are theirs, and they say what functions do."""

import opgrid as og
import pytest


class Plain(og.Tensor):
    pass


def test_results_keep_the_class():
    x = Plain([1.0, 2.0])
    for result in (x + 1, 1 + x, og.add(x, x), og.add(og.zeros(2), x), x.neg(), x.view(2, 1), -x):
        assert type(result) is Plain
    assert type(og.zeros(2) + og.zeros(2)) is og.Tensor
    assert x.add_(1) is x
    assert type(og.ops.aten.add.Tensor(x, x)) is og.Tensor
    assert (x + 1).tolist() == [3.0, 4.0]
    assert isinstance(x.sum().item(), float)


def test_derived_classes_come_first():
    class Derived(Plain):
        pass

    assert type(Plain([1.0]) + Derived([1.0])) is Derived
    assert type(Derived([1.0]) + Plain([1.0])) is Derived


@pytest.mark.parametrize("name", ["__opgrid_function__", "__torch_function__"])
def test_classes_say_what_functions_do(name):
    seen = []

    def handler(cls, func, types, args=(), kwargs=None):
        seen.append((func.__name__, types, sorted(kwargs or {})))
        return "answer"

    Logged = type("Logged", (og.Tensor,), {name: classmethod(handler)})
    x = Logged([1.0, 2.0])
    assert og.add(x, 1, alpha=2) == "answer"
    assert og.zeros(2).add(x) == "answer"
    assert seen == [("add", (Logged,), ["alpha"]), ("add", (Logged,), [])]


def test_the_default_may_be_asked_for():
    class Counted(og.Tensor):
        calls = 0

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls += 1
            return super().__torch_function__(func, types, args, kwargs)

    x = Counted([1.0])
    y = x + x
    assert type(y) is Counted and y.tolist() == [2.0] and Counted.calls == 1


def test_no_answer_is_an_error():
    class Refuses(og.Tensor):
        @classmethod
        def __opgrid_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="Multiple dispatch failed for 'add'"):
        og.add(Refuses([1.0]), 1)


def test_as_subclass():
    x = og.zeros(2)
    y = x.as_subclass(Plain)
    y.add_(1)
    assert type(y) is Plain and x.tolist() == [1.0, 1.0]
    with pytest.raises(TypeError):
        x.as_subclass(int)
