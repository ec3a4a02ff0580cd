"""Calls: functions, methods, packets, overloads, and what is wrong with arguments."""

import inspect
import subprocess
import sys

import opgrid as og
import pytest
from opgrid.library import Library

x = og.tensor([1.0, 2.0, 3.0])


def values(tensor):
    return tensor.tolist()


def test_one_operator_is_called_in_four_ways():
    expected = [2.0, 4.0, 6.0]
    for result in (og.add(x, x), x.add(x), x + x, og.ops.aten.add(x, x), og.ops.aten.add.Tensor(x, x)):
        assert values(result) == expected


def test_numbers_beside_tensors_are_numbers():
    assert (og.tensor([1, 2]) + 1).dtype is og.int64
    assert (og.tensor([1, 2]) + 1.5).dtype is og.float32
    assert (og.tensor([1, 2], dtype=og.int8) * 300).dtype is og.int8
    assert values(1 - x) == [0.0, -1.0, -2.0]
    assert values(6 / x) == [6.0, 3.0, 2.0]
    assert values(2**x) == [2.0, 4.0, 8.0]
    assert values(7 // x) == [7.0, 3.0, 2.0]
    with pytest.raises(TypeError):
        og.maximum(x, 1)


def test_results_in_place_are_the_same_object():
    y = x.clone()
    assert y.add_(1) is y
    assert og.ops.aten.mul_.Tensor(y, 2) is y
    before = y
    y += 1
    assert y is before
    out = og.empty(3)
    assert og.add(x, x, out=out) is out


def test_sizes_are_given_one_by_one_or_as_a_list():
    for size in (og.zeros(2, 3), og.zeros((2, 3)), og.zeros([2, 3]), og.zeros(size=(2, 3))):
        assert size.shape == (2, 3)
    assert x.view(3, 1).shape == x.view([3, 1]).shape == (3, 1)
    assert og.zeros(2, 3).permute(1, 0).shape == (3, 2)
    assert og.zeros(()).shape == ()


def test_names_of_numpy_are_known():
    y = og.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert values(og.sum(y, axis=0)) == [4.0, 6.0]
    assert og.sum(y, dim=(0,), keepdims=True).shape == (1, 2)
    assert values(og.add(input=x, other=x)) == values(og.add(x1=x, x2=x))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: og.relu(), 'relu() missing 1 required positional argument: "input"'),
        (lambda: og.isfinite(x, x), "isfinite() takes 1 positional argument but 2 were given"),
        (lambda: og.isfinite("a"), "isfinite(): argument 'input' (position 1) must be Tensor, not str"),
        (lambda: og.isfinite(x, foo=1), "isfinite() got an unexpected keyword argument 'foo'"),
        (lambda: og.isfinite(x, input=x), "isfinite() got multiple values for argument 'input'"),
        (lambda: og.add(x, "a"), "add() received an invalid combination of arguments - got (Tensor, str, )"),
        (lambda: x.permute("a"), "permute(): argument 'dims' (position 1) must be tuple of ints"),
    ],
)
def test_functions_refuse_arguments_as_torch_does(call, text):
    with pytest.raises(TypeError) as raised:
        call()
    assert isinstance(raised.value, og.OpgridError)
    assert text in str(raised.value) or "invalid combination" in str(raised.value)


def test_orders_of_former_times_are_understood_with_a_warning():
    a = og.ones(2, 2)
    with pytest.warns(UserWarning, match=r"This overload of add is deprecated:\n\tadd\(Tensor input, Number alpha, Tensor other\)"):
        assert og.add(a, 2, a).tolist() == [[3.0, 3.0], [3.0, 3.0]]
    with pytest.warns(UserWarning, match=r"addmm\(Number beta, Number alpha, Tensor mat1, Tensor mat2\)"):
        assert a.addmm(2, 3, a, a).tolist() == [[8.0, 8.0], [8.0, 8.0]]
    with pytest.warns(UserWarning):
        out = og.empty(2, 2)
        assert og.sub(a, 2, a, out=out) is out and out.tolist() == [[-1.0, -1.0], [-1.0, -1.0]]
    for wrong in (lambda: og.add(a, 2, a, a), lambda: og.add(a, 2, a, alpha=1), lambda: og.mul(a, 2, a)):
        with pytest.raises(TypeError):
            wrong()
    # Overloads are called by their schemas alone.
    with pytest.raises(RuntimeError):
        og.ops.aten.add(a, 2, a)


def test_a_keyword_means_another_operator():
    a = og.tensor([[0, 1], [2, 0]])
    rows, columns = og.nonzero(a, as_tuple=True)
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])
    assert isinstance(a.nonzero(as_tuple=True), tuple)
    assert a.nonzero(as_tuple=False).tolist() == a.nonzero().tolist() == [[0, 1], [1, 0]]
    with pytest.raises(TypeError, match=r"nonzero\(\): argument 'as_tuple' must be bool, not int"):
        og.nonzero(a, as_tuple=1)
    with pytest.raises(TypeError, match="as_tuple"):
        og.neg(a, as_tuple=True)


def test_packets_say_why_no_overload_fits():
    with pytest.raises(RuntimeError, match="failed to match any schema"):
        og.ops.aten.add("a", "b")
    with pytest.raises(RuntimeError, match="expected at most 1 positional arguments"):
        og.ops.aten.isfinite(x, x)
    with pytest.raises(AttributeError, match="'_OpNamespace' 'aten' object has no attribute 'nope'"):
        og.ops.aten.nope
    with pytest.raises(AttributeError, match="has no attribute 'expp'; did you mean 'exp'?"):
        og.ops.aten.expp
    with pytest.raises(AttributeError, match="has no overload name 'Nope'"):
        og.ops.aten.add.Nope
    with pytest.raises(AttributeError, match="module 'opgrid' has no attribute 'nope'"):
        og.nope


def test_errors_know_the_call():
    with pytest.raises(RuntimeError, match="does not broadcast") as raised:
        x + og.zeros(2)
    assert raised.value.op == "aten::add.Tensor"
    assert "CPU" in raised.value.keys
    assert "1  CPU" in raised.value.explain()
    with pytest.raises(IndexError):
        og.sum(x, dim=5)
    with pytest.raises(NotImplementedError):
        og.ops.aten.add.Tensor.redispatch(og.DispatchKeySet("CUDA"), x, x)


def test_overloads_describe_themselves():
    add = og.ops.aten.add
    assert {"Tensor", "Scalar", "out"} <= set(add.overloads())
    assert add.Tensor.name() == "aten::add.Tensor"
    assert add.Tensor.__name__ == "add.Tensor"
    assert str(add.Tensor) == "aten.add.Tensor"
    assert repr(add.Tensor) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert [argument.name for argument in add.Tensor._schema.arguments] == ["self", "other", "alpha"]
    assert og.ops.aten.relu.default._schema.name == "aten::relu"
    assert og.ops.aten.add_.Tensor._schema.is_mutable
    assert og.ops.aten.view.default.is_view
    assert "registered at" in add.Tensor.__doc__
    assert add.Tensor is not add.out
    assert add.Tensor == add.Tensor
    assert "add" in dir(og.ops.aten)
    assert "add" in dir(og)
    assert "add" in dir(x)


def test_tensors_of_one_element_stand_for_numbers_where_schemas_name_their_type():
    x, at = og.ones(2, 3), og.tensor(1)
    assert og.ops.aten.narrow(x, 1, at, 2).shape == (2, 2)
    assert og.ops.aten.select.int(x, 0, og.tensor([[True]])).shape == (3,)
    assert og.ops.aten.normal.Tensor_float(x, og.tensor(2)).shape == (2, 3)
    assert [part.shape for part in og.ops.aten.tensor_split.indices(x, og.tensor([1, 2]), 1)] == [(2, 1)] * 3
    for refused in (
        lambda: og.ops.aten.narrow(x, 1, og.tensor([0, 1]), 1),
        lambda: og.ops.aten.narrow(x, 1, og.tensor(0.5), 1),
        lambda: og.ops.aten.tensor_split.indices(x, og.tensor([0.5]), 1),
        lambda: og.ops.aten.add.Scalar(x, at),
    ):
        with pytest.raises(RuntimeError):
            refused()


def test_functions_have_signatures_and_help():
    assert str(inspect.signature(og.isfinite)) == "(input)"
    assert "aten::add.Tensor(Tensor self" in og.add.__doc__
    for documented in (og.add, og.ops.aten.add, og.ops.aten.add.Tensor, og.ops.aten.add_.Tensor):
        assert "`self + alpha * other`" in documented.__doc__ and "add.rs:" in documented.__doc__

    @og.library.custom_op("pytest_docs::half", mutates_args=())
    def half(x: og.Tensor) -> og.Tensor:
        """Half of a tensor.

        Rounded by nobody.
        """
        return x / 2

    assert og.ops.pytest_docs.half.default.__doc__.splitlines()[1:4] == ["    Half of a tensor.", "    ", "    Rounded by nobody."]
    assert og.Tensor.add(x, x).tolist() == [2.0, 4.0, 6.0]


def test_the_class_has_methods_before_a_tensor_was_asked_for_them():
    program = "import opgrid as og; print(og.Tensor.mul(og.tensor([2.0]), 3), hasattr(og.Tensor, 'zeros'), 'sub' in dir(og.Tensor))"
    out = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert out == "tensor([6.]) False True\n"


def test_random_numbers_follow_the_seed():
    og.manual_seed(0)
    first = og.rand(3)
    og.manual_seed(0)
    assert values(og.rand(3)) == values(first)
    one, two = (og.rand(3, generator=og.Generator().manual_seed(7)) for _ in range(2))
    assert values(one) == values(two)
    assert og.randn(2, 2).shape == (2, 2)


def test_factories_let_know_of_gradients():
    assert not og.zeros(2, requires_grad=False).requires_grad
    assert og.zeros(2, requires_grad=True).requires_grad
    with pytest.raises(TypeError):
        og.ones(2).add(1, requires_grad=True)


def test_redispatch_goes_by_the_keys_alone():
    add = og.ops.aten.add.Tensor
    assert values(add.redispatch(og.DispatchKeySet("CPU"), x, x)) == [2.0, 4.0, 6.0]
    assert values(add.call_for_key("CPU", x, x)) == [2.0, 4.0, 6.0]
    assert add.has_kernel_for_dispatch_key("CPU")
    assert not add.has_kernel_for_dispatch_key("CUDA")


def test_signatures_are_those_of_schemas():
    signature = inspect.signature(og.ops.aten.add.Tensor)
    assert str(signature) == "(self: 'Tensor', other: 'Tensor', *, alpha: 'Scalar' = 1) -> 'Tensor'"
    assert list(inspect.signature(og.ops.aten.exp.default).parameters) == ["self"]
    assert inspect.signature(og.ops.aten.cat.default).parameters["dim"].default == 0
    with pytest.raises(ValueError):
        inspect.signature(og.ops.aten.add)
    for name in dir(og.ops.aten):
        packet = getattr(og.ops.aten, name)
        for overload in packet.overloads():
            expected = getattr(packet, overload)._schema.arguments
            assert len(inspect.signature(getattr(packet, overload)).parameters) == len(expected)


def test_own_operators_are_looked_up_once_and_others_each_time():
    x = og.ones(2)
    assert og.add(x, x).tolist() == [2.0, 2.0]
    packet = og.ops.aten.add
    assert vars(og)["add"] is og.add
    assert vars(og.ops.aten)["add"] is packet
    with Library("aten", "FRAGMENT") as library:
        library.define("comes_and_goes(Tensor x) -> Tensor")
        library.impl("comes_and_goes", lambda x: x + 1, "CPU")
        assert og.comes_and_goes(x).tolist() == og.ops.aten.comes_and_goes(x).tolist() == [2.0, 2.0]
    for place in (og, og.ops.aten):
        assert "comes_and_goes" not in vars(place)
        with pytest.raises(AttributeError, match="comes_and_goes"):
            place.comes_and_goes


def test_importing_the_package_imports_little_else():
    program = "import sys; before = set(sys.modules); import opgrid; print(sorted(set(sys.modules) - before))"
    out = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    for heavy in ("typing", "numpy", "inspect", "opgrid.library", "opgrid.nn"):
        assert repr(heavy) not in out, out
