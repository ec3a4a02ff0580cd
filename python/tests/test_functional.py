"""Derivatives of functions with the names of ``torch.autograd``."""

import opgrid as og
import pytest
from opgrid.autograd import forward_ad
from opgrid.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp


def test_jacobians_by_rows_in_a_batch_and_by_columns():
    x, w = og.tensor([1.0, 2.0, 3.0]), og.tensor([[1.0, 0.0, 2.0], [0.5, 1.0, 0.0]])

    def both(x, w):
        return w @ x, (x * x).sum()

    rows = jacobian(both, (x, w))
    assert rows[0][0].tolist() == w.tolist() and rows[1][0].tolist() == [2.0, 4.0, 6.0]
    for options in ({"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}):
        found = jacobian(both, (x, w), **options)
        for ours, expected in zip((part for row in found for part in row), (part for row in rows for part in row), strict=True):
            assert ours.shape == expected.shape and og.allclose(ours, expected)
    single = jacobian(lambda x: x.exp(), x, vectorize=True, strategy="forward-mode")
    assert og.allclose(single, x.exp().diag())
    with pytest.raises(ValueError, match="strategy"):
        jacobian(both, (x, w), strategy="both")
    with pytest.raises(NotImplementedError, match="vectorize=True"):
        jacobian(both, (x, w), strategy="forward-mode")


def test_constants_are_zeros_or_errors():
    x = og.ones(2)
    assert jacobian(lambda x: og.ones(3), x).tolist() == [[0.0, 0.0]] * 3
    assert vjp(lambda x: og.ones(()), x)[1].tolist() == [0.0, 0.0]
    assert jvp(lambda x: og.ones(()), x, x)[1].item() == 0.0
    for function, more in ((jacobian, ()), (jvp, (x,)), (vjp, ())):
        with pytest.raises(RuntimeError, match="does not depend on the inputs"):
            function(lambda x: og.ones(()), x, *more, strict=True)
    with pytest.raises(RuntimeError, match="no result depends on input 1"):
        jacobian(lambda x, y: x.sum(), (x, x), strict=True)


def test_second_derivatives():
    x = og.tensor([1.0, 2.0])
    expected = [[6.0, 0.0], [0.0, 12.0]]

    def cubes(x):
        return (x**3).sum()

    for options in ({}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}):
        assert hessian(cubes, x, **options).tolist() == expected
    value, product = vhp(cubes, x, og.tensor([1.0, 0.5]))
    assert value.item() == 9.0 and product.tolist() == [6.0, 6.0]
    assert hvp(cubes, (x,), (og.tensor([1.0, 0.5]),))[1][0].tolist() == [6.0, 6.0]
    assert vhp(lambda x: x.sum(), x, x)[1].tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="expected one element"):
        hessian(lambda x: x, x)


def test_factors_are_given_for_all_but_one_element():
    x = og.tensor([1.0, 2.0])
    assert jvp(lambda x: x**2, og.tensor(3.0))[1].item() == vjp(lambda x: x**2, og.tensor(3.0))[1].item() == 6.0
    for function in (jvp, hvp, vhp):
        with pytest.raises(RuntimeError, match="`v` can only be left out for one tensor of one element"):
            function(lambda x: x.sum(), x)
        with pytest.raises(RuntimeError, match=r"`v` has sizes \[\(3,\)\], expected \[\(2,\)\]"):
            function(lambda x: x.sum(), x, og.ones(3))
    with pytest.raises(RuntimeError, match="can only be left out"):
        vjp(lambda x: x**2, x)


def test_gradients_of_a_batch():
    x = og.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    (rows,) = og.autograd.grad(y, x, og.eye(2), is_grads_batched=True, retain_graph=True)
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    other = og.ones(2, requires_grad=True)
    found = og.autograd.grad(y, (x, other), og.ones(3, 2), is_grads_batched=True, allow_unused=True, create_graph=True)
    assert found[0].shape == (3, 2) and found[1] is None
    (second,) = og.autograd.grad(found[0].sum(), x)
    assert second.tolist() == [6.0, 6.0]
    with pytest.raises(RuntimeError, match="grad_outputs"):
        og.autograd.grad(y, x, is_grads_batched=True)


def test_dual_tensors():
    x, t = og.tensor([1.0, 2.0]), og.tensor([1.0, 0.5])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        primal, tangent = forward_ad.unpack_dual(dual * dual)
        assert primal.tolist() == [1.0, 4.0] and tangent.tolist() == [2.0, 2.0]
        assert forward_ad.unpack_dual(x).tangent is None
    assert forward_ad.unpack_dual(x).tangent is None
    with pytest.raises(RuntimeError, match="dual level"):
        forward_ad.make_dual(x, t)
    with pytest.raises(RuntimeError, match="has ended"):
        dual.sin()


def test_dual_levels_nest_and_compose_with_gradients():
    x = og.tensor(3.0, requires_grad=True)
    with forward_ad.dual_level():
        y = forward_ad.make_dual(x, og.tensor(1.0))
        tangent = forward_ad.unpack_dual(y**3).tangent
        (second,) = og.autograd.grad(tangent, x)
    assert second.item() == 18.0
    outer = forward_ad.enter_dual_level()
    a = forward_ad.make_dual(og.tensor(3.0), og.tensor(1.0))
    with forward_ad.dual_level() as inner:
        b = forward_ad.make_dual(a, og.tensor(1.0))
        once = forward_ad.unpack_dual(b**3).tangent
        twice = forward_ad.unpack_dual(once, level=outer).tangent
        with pytest.raises(RuntimeError, match="reverse order"):
            forward_ad.exit_dual_level(level=outer)
        assert (outer, inner) == (0, 1)
    assert twice.item() == 18.0
    forward_ad.exit_dual_level(level=outer)


def test_rules_for_batches_of_custom_operators():
    calls = []

    @og.library.custom_op("functional_tests::scaled", mutates_args=())
    def scaled(x: og.Tensor, y: og.Tensor, factor: float) -> og.Tensor:
        assert x.dim() == 1
        return x * y * factor

    @og.library.register_vmap(scaled)
    def _(info, in_dims, x, y, factor):
        calls.append((info.batch_size, info.randomness, in_dims))
        x, y = (t if dim is None else t.movedim(dim, 0) for t, dim in zip((x, y), in_dims))
        return x * y * factor, 0

    x, y = og.ones(3, 2), og.tensor([1.0, 2.0])
    assert og.vmap(lambda x: scaled(x, y, 2.0))(x).tolist() == [[2.0, 4.0]] * 3
    assert og.vmap(lambda y: scaled(x[0], y, 2.0), in_dims=1)(og.ones(2, 4)).shape == (4, 2)
    assert calls == [(3, "error", (0, None, None)), (4, "error", (None, 0, None))]

    @og.library.custom_op("functional_tests::halves", mutates_args=())
    def halves(x: og.Tensor) -> tuple[og.Tensor, list[og.Tensor]]:
        return x / 2, [x, x]

    @og.library.register_vmap("functional_tests::halves")
    def _(info, in_dims, x):
        return (x / 2, [x, og.ones(())]), (in_dims[0], [in_dims[0], None])

    one, two = og.vmap(halves)(x)
    assert one.tolist() == [[0.5, 0.5]] * 3 and [tuple(t.shape) for t in two] == [(3, 2), (3,)]

    @og.library.custom_op("functional_tests::wrong", mutates_args=())
    def wrong(x: og.Tensor) -> og.Tensor:
        return x.clone()

    @wrong.register_vmap
    def _(info, in_dims, x):
        return x

    with pytest.raises(RuntimeError, match=r"expected \(result, out_dims\)"):
        og.vmap(wrong)(x)
