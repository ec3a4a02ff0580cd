"""Providers with conditions, and blocks in which some come first."""

import threading

import opgrid as og
import pytest
from opgrid.library import Library


@pytest.fixture
def asked():
    """An operator with three providers, and which of them ran."""
    ran = []
    with Library("provided", "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.define("f.twice(Tensor x, int by) -> Tensor")
        lib.define("alone(Tensor x) -> Tensor")
        lib.impl("alone", lambda x: x + 0, "CPU")

        def short(x):
            """x has fewer than 3 elements"""
            return x.numel() < 3

        @og.provider("provided::f", "short", "cpu", when=short, lib=lib)
        def first(x):
            ran.append("short")
            return x + 1

        @og.provider(og.ops.provided.f.default, "exact", "cpu", lib=lib)
        def second(x):
            ran.append("exact")
            return x + 2

        @og.provider("provided::f", "rough", ["cpu", "Meta"], lib=lib)
        def third(x):
            ran.append("rough")
            return x + 3

        @og.provider("provided::f.twice", "rough", "cpu", lib=lib)
        def fourth(x, by):
            ran.append("rough twice")
            return x * by

        @og.provider("provided::f.twice", "exact", "cpu", lib=lib)
        def fifth(x, by):
            ran.append("exact twice")
            return x * by

        assert first(og.ones(1)).tolist() == [2.0]
        ran.clear()
        yield ran


def f(*args):
    return og.ops.provided.f(*args)


def test_the_first_whose_condition_holds_runs(asked):
    assert f(og.ones(2)).tolist() == [2.0, 2.0]
    assert f(og.ones(3)).tolist() == [3.0] * 3
    assert asked == ["short", "exact"]
    assert f(og.ones(3, device="meta")).shape == (3,)
    assert asked[2:] == ["rough"]
    assert "x has fewer than 3 elements" in str(og.explain(og.ops.provided.f.default, og.ones(3)))


def test_prefer_puts_providers_first_in_a_block(asked):
    with og.prefer("provided::f", "rough"):
        f(og.ones(2))
        with og.prefer(og.ops.provided.f, "short", "rough"):
            f(og.ones(2)), f(og.ones(3)), f(og.ones(3), 2)
        f(og.ones(2), 2)
    f(og.ones(2)), f(og.ones(2), 2)
    assert asked == ["rough", "short", "rough", "rough twice", "rough twice", "short", "rough twice"]


def test_prefer_may_name_one_overload(asked):
    with og.prefer(og.ops.provided.f.twice, "exact"):
        f(og.ones(2)), f(og.ones(2), 2)
    assert asked == ["short", "exact twice"]


def test_prefer_decorates_functions_and_may_be_entered_again(asked):
    rough = og.prefer("provided::f", "rough")

    @rough
    def call(more):
        f(og.ones(2))
        return call(more - 1) if more else 7

    assert call(2) == 7
    with rough, rough:
        f(og.ones(2))
    f(og.ones(2))
    assert asked == ["rough"] * 4 + ["short"]


def test_blocks_end_when_something_is_raised_and_in_any_order(asked):
    with pytest.raises(KeyError), og.prefer("provided::f", "rough"):
        raise KeyError
    f(og.ones(2))
    rough, exact = og.prefer("provided::f", "rough"), og.prefer("provided::f", "exact")
    rough.__enter__(), exact.__enter__()
    rough.__exit__(None, None, None)
    f(og.ones(2))
    exact.__exit__(None, None, None)
    f(og.ones(2))
    assert asked == ["short", "exact", "short"]


def test_a_block_is_of_its_thread(asked):
    with og.prefer("provided::f", "rough") as block:
        raised = []

        def other():
            f(og.ones(2))
            try:
                block.__exit__()
            except RuntimeError as error:
                raised.append(str(error))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        f(og.ones(2))
    assert asked == ["short", "rough"]
    assert raised == ["the preference was not entered on this thread; use it in a `with` statement"]


def test_a_thread_may_end_inside_of_a_block(asked):
    thread = threading.Thread(target=lambda: og.prefer("provided::f", "rough").__enter__())
    thread.start()
    thread.join()
    f(og.ones(2))
    assert asked == ["short"]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: og.prefer("provided::f", "fast").__enter__(), Exception, "no cell has a provider `fast`; its providers are exact, rough, short"),
        (lambda: og.prefer("provided::alone", "fast").__enter__(), Exception, "its cells have one kernel each"),
        (lambda: og.prefer("provided::g", "fast").__enter__(), Exception, "provided::g"),
        (lambda: og.prefer("provided::f"), TypeError, "one provider or more"),
        (lambda: og.prefer(3, "fast"), ValueError, "expected an operator or its name, found int"),
        (lambda: og.provider("provided::f", ""), ValueError, "a name that is not empty"),
        (lambda: og.provider("f", "fast"), ValueError, "namespace::name"),
        (lambda: og.provider("provided::f", "fast", when=3), TypeError, "a function for `when`, found int"),
        (lambda: og.provider("provided::f", "fast", "cpu")(3), TypeError, "required to be a callable"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_error(asked, call, kind, text):
    with pytest.raises(kind) as raised:
        call()
    assert text in str(raised.value)
    f(og.ones(2))
    assert asked == ["short"]


def test_operators_without_tensors_have_providers_with_conditions():
    with og.library._scoped_library("factories", "DEF") as lib:
        lib.define("make(int n) -> Tensor")
        og.provider("factories::make", "large", when=lambda n: n > 3, lib=lib)(lambda n: og.zeros(n))
        assert og.ops.factories.make(5).tolist() == [0.0] * 5
        with pytest.raises(NotImplementedError, match="no provider accepts these arguments") as refused:
            og.ops.factories.make(1)
        explained = og.explain(og.ops.factories.make, 1)
        assert f"error: {refused.value}" in str(explained)
        assert explained.as_dict()["hops"][-1]["error"] == str(refused.value)
        # A composite takes what all providers refuse.
        lib.impl("make", lambda n: og.ones(n), "CompositeExplicitAutograd")
        assert og.ops.factories.make(1).tolist() == [1.0] and og.ops.factories.make(5).tolist() == [0.0] * 5
        assert "BackendSelect" in [str(key) for key in og.registered_kernels("factories::make")]
