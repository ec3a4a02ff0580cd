"""Explanations, tables and schemas take whatever is called: overloads, packets, functions, methods and names."""

import opgrid as og
import pytest

X = og.ones(2)

# What is called, and the arguments with which it is the same call of `aten::add.Tensor`.
MEANT = {
    "overload": (og.ops.aten.add.Tensor, (X, X)),
    "packet": (og.ops.aten.add, (X, X)),
    "function": (og.add, (X, X)),
    "method": (og.Tensor.add, (X, X)),
    "bound method": (X.add, (X,)),
    "name": ("aten::add.Tensor", (X, X)),
    "name of several": ("aten::add", (X, X)),
    "name without a namespace": ("add", (X, X)),
}


@pytest.mark.parametrize("form", MEANT)
def test_every_form_means_the_operator(form):
    op, arguments = MEANT[form]
    explained = og.explain(op, *arguments)
    assert explained.as_dict()["operator"].startswith("aten::add.Tensor(")
    assert explained.as_dict()["hops"][-1]["key"] == "CPU"
    assert str(og.schema(op)).startswith("aten::add.Tensor(")
    assert str(og.dump(op)).startswith("name: aten::add.Tensor")
    assert [str(slot.key) for slot in og.table(op)] == [str(slot.key) for slot in og.table("aten::add.Tensor")]
    assert og.registered_kernels(op) == og.registered_kernels("aten::add.Tensor")


@pytest.mark.parametrize(
    ("op", "arguments", "chosen"),
    [
        (og.ops.aten.sum, (X, [0]), "aten::sum.dim_IntList"),
        (og.ops.aten.sum, (X,), "aten::sum"),
        (og.sum, (X,), "aten::sum"),
        (og.sum, (X, 0), "aten::sum.dim_IntList"),
        ("aten::sum", (X,), "aten::sum"),
        ("sum", (X, [0]), "aten::sum.dim_IntList"),
        (og.zeros, (2,), "aten::zeros"),
        (X.sum, (), "aten::sum"),
        (og.Tensor.max, (X, 0), "aten::max.dim"),
    ],
)
def test_the_overload_is_the_one_that_the_call_chooses(op, arguments, chosen):
    explained = og.explain(op, *arguments).as_dict()
    assert explained["operator"].partition("(")[0] == chosen


def test_keywords_and_outputs():
    explained = og.explain(og.add, X, other=X, alpha=2, out=og.empty(2)).as_dict()
    assert explained["operator"].startswith("aten::add.out(")
    explained = og.explain(og.zeros, 2, 3, dtype=og.int64, device="meta").as_dict()
    assert explained["operator"].startswith("aten::zeros")


@pytest.mark.parametrize("form", MEANT)
def test_explained_calls_are_made(form):
    op, arguments = MEANT[form]
    result, explained = og.call_explained(op, *arguments, alpha=3)
    assert result.tolist() == [4.0, 4.0]
    hops = [(hop["operator"], hop["key"]) for hop in explained.as_dict()["hops"]]
    assert ("aten::add.Tensor", "CPU") in hops and "add.rs" in str(explained)


def test_calls_within_kernels_are_explained_too():
    with og.library.Library("pytest_explained", "DEF") as lib:
        lib.define("thrice(Tensor x, bool fail=False) -> Tensor")

        def thrice(x, fail=False):
            if fail:
                raise ValueError("no")
            return x * 3

        lib.impl("thrice", thrice, "CPU")
        result, explained = og.call_explained(og.ops.pytest_explained.thrice, X)
        assert result.tolist() == [3.0, 3.0]
        hops = [(hop["operator"], hop["depth"]) for hop in explained.as_dict()["hops"]]
        assert hops[0] == ("pytest_explained::thrice", 0)
        assert any(name.startswith("aten::mul") and depth > 0 for name, depth in hops)
        with pytest.raises(ValueError, match="no") as raised:
            og.call_explained("pytest_explained::thrice", X, fail=True)
        assert raised.value.__notes__[0].startswith("pytest_explained::thrice(")


def test_calls_that_do_not_fit_are_refused_as_calls_are():
    for op in [og.add, og.ops.aten.add, og.ops.aten.add.Tensor, og.Tensor.add]:
        with pytest.raises((TypeError, RuntimeError)) as explained:
            og.explain(op, X, object())
        with pytest.raises((TypeError, RuntimeError)) as called:
            op(X, object())
        assert str(explained.value) == str(called.value)


@pytest.mark.parametrize("what", [len, 3, None, og.nn.Linear, og.tensor])
@pytest.mark.parametrize("ask", [og.explain, og.call_explained, og.table, og.schema, og.dump, og.registered_kernels])
def test_what_is_no_operator_is_refused(ask, what):
    with pytest.raises(TypeError, match=r"expected an operator such as og\.ops\.aten\.add"):
        ask(what)
