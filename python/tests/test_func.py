"""Transforms of functions: batches and derivatives, nested in any order, against formulas and loops."""

import math

import pytest

import opgrid as og
from opgrid.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)


def close(found, expected):
    assert found.shape == expected.shape and found.dtype == expected.dtype
    assert og.allclose(found, expected, 1e-10, 1e-10), (found, expected)


def numbers(*shape, seed=0):
    og.manual_seed(seed)
    return og.randn(*shape, dtype=og.float64)


def test_derivatives_nest():
    x = numbers(3)
    sine = lambda x: x.sin().sum()
    close(grad(sine)(x), x.cos())
    close(grad(lambda x: grad(sine)(x).sum())(x), -x.sin())
    close(jvp(grad(sine), (x,), (og.ones_like(x),))[1], -x.sin())
    close(grad(lambda x: jvp(sine, (x,), (og.ones_like(x),))[1])(x), -x.sin())
    close(hessian(sine)(x), og.diag(-x.sin()))
    close(jacfwd(jacfwd(og.sin))(x), jacrev(jacrev(og.sin))(x))


def test_gradients_of_each_example():
    weight, batch, labels = numbers(3, 4), numbers(5, 4, seed=1), og.tensor([0, 2, 1, 0, 1])
    model = lambda weight, x, label: og.nn.functional.cross_entropy(og.nn.functional.linear(x, weight).unsqueeze(0), label.unsqueeze(0))
    found = vmap(grad(model), in_dims=(None, 0, 0))(weight, batch, labels)
    close(found, og.stack([grad(model)(weight, x, label) for x, label in zip(batch, labels)]))
    chunked = vmap(grad(model), in_dims=(None, 0, 0), chunk_size=2)(weight, batch, labels)
    close(chunked, found)


def test_values_that_are_nested_in_themselves_are_refused():
    loop = [og.ones(2)]
    loop.append(loop)
    for transform in [vmap, grad]:
        with pytest.raises(RecursionError, match="nested deeper than 1000 times, or in itself"):
            transform(lambda x: x)(loop)


def test_a_dict_that_changes_while_it_is_read_is_read_as_it_was():
    given = {"b": og.ones(2)}

    class Growing(tuple):
        @property
        def _fields(self):
            given[str(len(given))] = 1
            raise AttributeError

    given = {"a": Growing((og.ones(2),)), **given}
    assert vmap(lambda values: values["b"])(given).tolist() == [1.0, 1.0]
    for in_dims in [0.5, "a"]:
        with pytest.raises(ValueError, match="in in_dims, expected a dimension or None"):
            vmap(og.sin, in_dims=in_dims)(og.ones(2))


def test_dimensions_are_nested_as_arguments_are():
    x = {"a": og.ones(2, 3), "b": og.ones(3, 2)}
    total = vmap(lambda x: x["a"].sum() + x["b"].sum(), in_dims=({"b": 1, "a": 0},))(x)
    assert total.tolist() == [6.0, 6.0]
    for in_dims, message in [(({"a": 0},), "found 1 items for a dict of 2"), (((0, 0),), "found a tuple for a dict"), (({"a": 0, "c": 1},), "no item for the key b")]:
        with pytest.raises(ValueError, match=message):
            vmap(lambda x: x["a"], in_dims=in_dims)(x)


def test_arguments_and_results_may_be_nested():
    x = {"a": numbers(2, 3), "b": (numbers(2), [numbers(2, 4)])}
    found = vmap(lambda x: {"sum": x["a"].sum() + x["b"][0], "twice": [2 * x["b"][1][0]]})(x)
    close(found["sum"], x["a"].sum(1) + x["b"][0])
    close(found["twice"][0], 2 * x["b"][1][0])
    gradients = grad(lambda x: (x["a"] ** 2).sum() + x["b"][0].sum())(x)
    close(gradients["a"], 2 * x["a"])
    close(gradients["b"][0], og.ones_like(x["b"][0]))
    close(gradients["b"][1][0], og.zeros_like(x["b"][1][0]))
    close(vmap(lambda x: x["a"], in_dims=({"a": 1, "b": None},))(x), x["a"].t().contiguous())


def test_dimensions_of_batches():
    a, b = numbers(2, 3, 5), numbers(3, 4)
    found = vmap(og.mm, in_dims=(-1, None), out_dims=1)(a, b)
    close(found, og.stack([a[:, :, at] @ b for at in range(5)], 1))
    assert vmap(lambda x: og.zeros(3), out_dims=None)(b).shape == (3,)
    close(vmap(vmap(og.dot), in_dims=(0, None))(og.ones(2, 3, 4, dtype=og.float64), b), b.sum(1).expand(2, 3).contiguous())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: vmap(og.sin, in_dims=None)(x), "no argument with a dimension of examples"),
        (lambda x: vmap(og.add)(x, og.ones(7)), "batches of 2 and 7 examples"),
        (lambda x: vmap(og.sin, in_dims=5)(x), "the dimension 5 in in_dims for a tensor of shape (2, 3)"),
        (lambda x: vmap(og.sin, in_dims=(0, 0))(x), "2 in_dims for 1 arguments"),
        (lambda x: vmap(lambda x: x.sum().item())(x), "aten::"),
        (lambda x: vmap(lambda x: 3)(x), "returned int, expected tensors"),
        (lambda x: vmap(lambda x: x, out_dims=None)(x), "found None in out_dims"),
        (lambda x: vmap(og.sin, randomness="some")(x), "'error', 'different' or 'same'"),
        (lambda x: grad(og.sin)(x), "expected a tensor with one element"),
        (lambda x: grad(lambda x: x.sum())(3), "found int, expected tensors"),
        (lambda x: grad(lambda x: x.sum(), argnums=2)(x), "argnums 2 for 1 arguments"),
        (lambda x: grad(lambda x: x.sum())(x.long()), "only tensors of floating-point and complex dtypes"),
        (lambda x: jvp(og.sin, (x,), (x, x)), "2 tangents for 1 primals"),
        (lambda x: jvp(og.sin, (x,), (x[0],)), "a tangent of sizes [3]"),
        (lambda x: jvp(og.sin, x, x), "expected tuples"),
        (lambda x: vjp(og.sin, x)[1](x, x), "2 cotangents for 1 results"),
    ],
)
def test_mistakes_are_told(call, message):
    with pytest.raises((ValueError, RuntimeError, TypeError)) as error:
        call(og.ones(2, 3))
    assert message in str(error.value)
    # The thread is outside of all levels again.
    close(grad(lambda x: x.sum())(og.ones(2, 3)), og.ones(2, 3))


def test_tensors_that_escape_are_refused():
    kept = []
    grad(lambda x: (kept.append(x), x.sum())[1])(og.ones(3))
    with pytest.raises(RuntimeError, match="`grad` that was entered"):
        kept[0] + 1


def test_auxiliary_values_and_several_arguments():
    x, y = numbers(3), numbers(3, seed=1)
    (dx, dy), (value, extra) = grad_and_value(lambda x, y: ((x * y).sum(), {"x": x}), argnums=(0, 1), has_aux=True)(x, y)
    close(dx, y), close(dy, x), close(value, (x * y).sum()), close(extra["x"], x)
    result, product, extra = vjp(lambda x: (x.sin(), x), x, has_aux=True)
    close(product(og.ones_like(x))[0], x.cos()), close(extra, x), close(result, x.sin())
    jacobian, extra = jacrev(lambda x: (x**2, x), has_aux=True)(x)
    close(jacobian, og.diag(2 * x)), close(extra, x)
    rows = jacrev(lambda x, y: (x * y).sum(), argnums=(0, 1))(x, y)
    close(rows[0], y), close(rows[1], x)
    value, multiply = linearize(og.sin, x)
    close(multiply(og.ones_like(x)), x.cos()), close(value, x.sin())
    assert jvp(lambda x: y, (x,), (x,))[1].abs().sum() == 0
    with pytest.raises(RuntimeError, match="does not depend"):
        jvp(lambda x: y, (x,), (x,), strict=True)


def test_modules_with_other_parameters():
    og.manual_seed(0)
    models = [og.nn.Sequential(og.nn.Linear(3, 4), og.nn.Tanh(), og.nn.Linear(4, 2)) for _ in range(5)]
    x = og.randn(7, 3)
    parameters, buffers = stack_module_state(models)
    run = lambda parameters, buffers, x: functional_call(models[0], (parameters, buffers), x)
    found = vmap(run, in_dims=(0, 0, None))(parameters, buffers, x)
    expected = og.stack([model(x) for model in models])
    assert og.allclose(found, expected, 1e-5, 1e-6)
    before = {name: value.clone() for name, value in models[0].named_parameters()}
    loss = lambda parameters, x: functional_call(models[0], parameters, x).square().mean()
    gradients = grad(loss)(dict(models[0].named_parameters()), x)
    loss(dict(models[0].named_parameters()), x).backward()
    for name, parameter in models[0].named_parameters():
        assert og.allclose(gradients[name], parameter.grad, 1e-5, 1e-6) and og.equal(parameter, before[name])
    with pytest.raises(ValueError, match="which the module does not have"):
        functional_call(models[0], {"7.weight": x}, x)
    with pytest.raises(RuntimeError, match="missing"):
        functional_call(models[0], {}, x, strict=True)


def test_functions_without_writes():
    from opgrid._modes import DispatchMode

    class NoWrites(DispatchMode):
        def __opgrid_dispatch__(self, func, types, args=(), kwargs=None):
            assert not any(argument.is_write for argument in func._schema.arguments), func.name()
            seen.append(func.name())
            return func(*args, **(kwargs or {}))

    def program(x, weights):
        y = x.transpose(0, 1)
        y[0].add_(weights["bias"])
        z = og.zeros(3)
        z[1:].copy_(x[1, 1:])
        x.diagonal().mul_(2)
        return {"y": y, "z": z, "x": x}

    seen = []
    x, weights = og.arange(9.0).reshape(3, 3), {"bias": og.ones(3)}
    expected_x = x.clone()
    expected = program(expected_x, weights)
    with NoWrites():
        inner = og.vmap(og.func.functionalize(lambda x: program(x * 1, weights)["z"]))(og.stack([x, x]))
    assert inner[1].tolist() == expected["z"].tolist() and "aten::slice_scatter" in seen
    for remove in ("mutations", "mutations_and_views"):
        given = x.clone()
        found = og.func.functionalize(program, remove=remove)(given, weights)
        assert found["x"] is given and given.tolist() == expected_x.tolist()
        for name in ("y", "z"):
            assert found[name].tolist() == expected[name].tolist()
    with pytest.raises(ValueError, match="mutations_and_views"):
        og.func.functionalize(program, remove="views")
    with pytest.raises(RuntimeError, match="other sizes or strides"):
        og.func.functionalize(lambda x: x.t_())(x)


def test_derivatives_of_functions_without_writes():
    def cube(x):
        y = x.clone()
        y.mul_(x)
        y[0].mul_(x[0])
        return y.sum()

    x = og.tensor([2.0, 3.0])
    assert og.func.grad(og.func.functionalize(cube))(x).tolist() == [12.0, 6.0]
    assert og.func.functionalize(og.func.grad(cube))(x).tolist() == [12.0, 6.0]
    assert og.func.jacfwd(og.func.functionalize(cube))(x).tolist() == [12.0, 6.0]
    captured = og.ones(2)
    assert og.func.functionalize(lambda x: x + captured.clone() + captured.flip(0))(x).tolist() == [4.0, 5.0]


def test_tangents_of_logcumsumexp_keep_their_precision():
    for length in (1, 5, 32, 33, 100):
        x, t, c = (og.randn(3, length, dtype=og.float64) for _ in range(3))
        x[:, 0] -= 700

        def f(x):
            return og.logcumsumexp(x, 1)

        _, tangent = og.func.jvp(f, (x,), (t,))
        out = f(x)
        expected = og.stack([((x[:, : k + 1] - out[:, k : k + 1]).exp() * t[:, : k + 1]).sum(1) for k in range(length)], 1)
        assert og.allclose(tangent, expected, rtol=1e-12, atol=1e-300)
        # The gradient takes logarithms of positive and of negative numbers apart, where there may be none.
        gradient = lambda x: og.func.vjp(f, x)[1](c)[0]  # noqa: E731
        _, second = og.func.jvp(gradient, (x,), (t,))
        assert og.allclose(second, og.func.grad(lambda x: (gradient(x) * t).sum())(x), rtol=1e-9, atol=1e-9)
    nothing = og.tensor([-math.inf, -math.inf, 1.0])
    assert og.func.jvp(lambda x: og.logcumsumexp(x, 0), (nothing,), (og.ones(3),))[1].tolist() == [0, 0, 1]


def test_batch_norm_with_statistics_along_the_last_dimension():
    statistics = og.stack([og.tensor([2.0]), og.tensor([3.0])], -1)
    x = og.randn(3, 1, 2)
    norm = lambda x, mean, var: og.native_batch_norm(x, None, None, mean, var, True, 0.5, 1e-5)[0]  # noqa: E731
    mean, var = statistics.clone(), statistics.clone()
    y = og.vmap(norm, in_dims=-1)(x, mean, var)
    for k in range(2):
        own_mean, own_var = og.tensor([2.0 + k]), og.tensor([2.0 + k])
        assert og.allclose(y[k], norm(x[..., k], own_mean, own_var))
        assert og.allclose(mean[:, k], own_mean) and og.allclose(var[:, k], own_var)


def test_second_derivatives_of_cumprod_without_elements():
    empty = og.ones(2, 0)
    twice = lambda x, t: og.func.jvp(lambda x: og.func.vjp(lambda x: og.cumprod(x, 0), x)[1](t)[0], (x,), (t,))[1]  # noqa: E731
    assert og.vmap(twice)(empty, empty).shape == (2, 0)


def test_scaled_embeddings_in_batches():
    tables, indices = og.randn(3, 4, 2), og.tensor([1, 1, 0])
    look_up = lambda table: og.ops.aten.embedding(table, indices, -1, True)  # noqa: E731
    assert og.allclose(og.vmap(look_up)(tables), og.stack([look_up(table) for table in tables]))
    twice = og.stack([tables, tables * 2])
    assert og.allclose(og.vmap(og.vmap(look_up))(twice), og.stack([og.vmap(look_up)(each) for each in twice]))
    each = og.vmap(og.func.grad(lambda table: (look_up(table) ** 2).sum()))(tables)
    for table, gradient in zip(tables, each):
        assert og.allclose(gradient, og.func.grad(lambda table: (look_up(table) ** 2).sum())(table))
    with pytest.raises(RuntimeError, match="counts the indices of all examples together"):
        og.func.grad(lambda tables: og.vmap(look_up)(tables).sum())(tables)
