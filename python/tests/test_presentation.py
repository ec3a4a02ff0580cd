"""What people see: signatures and help, completion, numbers in texts, dtypes, errors, tables in notebooks."""

import inspect
import pickle
import pydoc
import rlcompleter

import opgrid as og
import pytest


def failure(call):
    with pytest.raises(og.OpgridError) as caught:
        call()
    return caught.value


FAILURES = {
    "device": lambda: og.ones(2).to("cuda"),
    "factory": lambda: og.ones(2, device="cuda"),
    "shapes": lambda: og.ones(2) + og.ones(3),
    "class": lambda: og.sqrt("a"),
    "form": lambda: og.add(1, 2, 3, 4),
    "index": lambda: og.ones(2)[5],
}


def test_functions_and_methods_have_signatures_and_the_documentation_of_operators():
    assert str(inspect.signature(og.add)) == "(input, other, *, alpha=1, out=None)"
    assert str(inspect.signature(og.Tensor.add)) == "(other, *, alpha=1, out=None)"
    for function in (og.add, og.Tensor.add, og.linalg.inv, og.fft.fft, og.special.erf):
        text = pydoc.plain(pydoc.render_doc(function))
        assert "aten::" in text and "->" in text, function


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("og.softm", "og.softmax("),
        ("og.nn.Lin", "og.nn.Linear("),
        ("og.linalg.sv", "og.linalg.svd("),
        ("og.inspect.lin", "og.inspect.lint("),
        ("og.ops.aten.relu", "og.ops.aten.relu"),
        ("x.requires_gr", "x.requires_grad"),
    ],
)
def test_names_are_completed(text, expected):
    completer = rlcompleter.Completer({"og": og, "x": og.ones(1)})
    found = [completer.complete(text, number) for number in range(9)]
    assert any(one and one.startswith(expected) for one in found), found


@pytest.mark.parametrize(
    ("value", "spec", "expected"),
    [
        (og.tensor(0.5), "", "0.5"),
        (og.tensor(0.5), ".3f", "0.500"),
        (og.tensor(3), ">5", "    3"),
        (og.tensor(True), "", "True"),
        (og.tensor(1 + 2j), "", "(1+2j)"),
        (og.tensor(0.1), "", "0.10000000149011612"),
        (og.tensor(0.5, requires_grad=True) * 2, ".1f", "1.0"),
        (og.tensor([0.5]), "", "tensor([0.5000])"),
        (og.empty((), device="meta"), "", "tensor(..., device='meta', size=())"),
        (og.nn.Parameter(og.tensor(0.5)), "", "Parameter containing:\ntensor(0.5000, requires_grad=True)"),
    ],
)
def test_tensors_without_dimensions_are_numbers_in_texts(value, spec, expected):
    assert format(value, spec) == expected


def test_fake_tensors_and_those_of_transforms_have_no_number_to_show():
    from opgrid.utils.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        assert format(og.ones(())).startswith("FakeTensor(")
    shown = []
    og.func.vmap(lambda x: (shown.append(f"{x}"), x)[1])(og.ones(3))
    assert "tensor([1., 1., 1.])" in shown[0]


@pytest.mark.parametrize("value", [og.ones(2), og.nn.Parameter(og.tensor(0.5))])
def test_other_tensors_take_no_format(value):
    with pytest.raises(TypeError, match="unsupported format string"):
        format(value, ".2f")


def test_dtypes_have_the_names_of_the_package():
    assert repr(og.float64) == "opgrid.float64"
    assert repr(og.ones(1, dtype=og.float64)) == "tensor([1.], dtype=opgrid.float64)"
    assert repr(og.ones(1, dtype=og.int32, requires_grad=False)) == "tensor([1], dtype=opgrid.int32)"
    assert "dtype=opgrid.float64" in og.ones(1, dtype=og.float64)._repr_html_()


@pytest.mark.parametrize("call", FAILURES.values(), ids=FAILURES)
def test_errors_survive_a_pickle(call):
    raised = failure(call)
    read = pickle.loads(pickle.dumps(raised))
    assert type(read) is type(raised) and str(read) == str(raised)
    assert (read.op, read.keys, read.explain()) == (raised.op, raised.keys, raised.explain())


def test_errors_are_short_and_explain_the_rest():
    for name in ("device", "factory"):
        raised = failure(FAILURES[name])
        assert len(str(raised)) < 200 and "'CUDA' backend" in str(raised), str(raised)
        assert "is only available for these backends" in raised.explain()
    assert all(len(str(failure(call))) < 700 for call in FAILURES.values())


def test_tables_and_programs_are_html_in_notebooks():
    x = og.ones(2, requires_grad=True)
    program = og.export.export(og.nn.Linear(2, 1), (og.ones(1, 2),))
    with og.profiler.profile() as profile:
        og.ones(2).add(1)
    shown = [og.explain(og.add, x, x), og.stats(), og.table(og.add), program, profile.key_averages(), og.inspect.coverage("torch.fft")]
    for value in shown:
        html = value._repr_html_()
        assert html.startswith("<") and ("<table>" in html or "<pre>" in html), value
        assert "<built-in" not in html
    assert "&lt;ExportedProgram" in program._repr_html_()


def test_the_tensor_behind_a_transform():
    seen = []

    def look(x):
        seen.append((og.func.debug_unwrap(x), og.func.debug_unwrap(x, recurse=False)))
        return x.sum()

    og.func.vmap(og.func.vmap(look))(og.ones(2, 3, 4))
    outer, inner = seen[0]
    assert outer.shape == (2, 3, 4) and inner.shape == (3, 4)
    plain = og.ones(2)
    assert og.func.debug_unwrap(plain).data_ptr() == plain.data_ptr()
    with pytest.raises(TypeError, match="debug_unwrap"):
        og.func.debug_unwrap(3)
