"""Modes that count operations and look for what goes wrong."""

import opgrid as og
import pytest
from opgrid.utils.debugging import DeterminismCheck, NanHunter
from opgrid.utils.flop_counter import FlopCounterMode, register_flop_formula


def test_operations_of_a_network_and_of_its_modules():
    nn = og.nn
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5))
    x = og.randn(2, 3, 8, 8)
    convolution, linear = 2 * 2 * 4 * 3 * 9 * 36, 2 * 2 * 4 * 36 * 5
    with FlopCounterMode(model, display=False) as counter:
        y = model(x)
    counts = counter.get_flop_counts()
    assert counter.get_total_flops() == convolution + linear
    assert counts["Sequential.0"] == {"aten::convolution": convolution}
    assert counts["Sequential.3"] == {"aten::addmm": linear}
    assert sum(counts["Sequential"].values()) == convolution + linear
    # The gradient of the first input is not asked for.
    with FlopCounterMode(display=False) as counter:
        y.sum().backward()
    assert counter.get_total_flops() == convolution + 2 * linear


def test_backward_passes_count_for_modules():
    model = og.nn.Sequential(og.nn.Linear(8, 16), og.nn.Linear(16, 4))
    with FlopCounterMode(model, display=False) as counter:
        model(og.ones(2, 8)).sum().backward()
    counts = {name: sum(by_operator.values()) for name, by_operator in counter.get_flop_counts().items()}
    first, second = 2 * 2 * 8 * 16, 2 * 2 * 16 * 4
    assert counts["Sequential.1"] == 3 * second and counts["Sequential.0"] == 2 * first
    assert counts["Global"] == counts["Sequential"] == 2 * first + 3 * second


def test_formulas_of_ones_own(capsys):
    @register_flop_formula("flop_tests::scaled")
    def _(x_shape, factor, out_shape=None, **_rest):
        return x_shape[0] * out_shape[1]

    @og.library.custom_op("flop_tests::scaled", mutates_args=())
    def scaled(x: og.Tensor, factor: float) -> og.Tensor:
        return x * factor

    with FlopCounterMode() as counter:
        scaled(og.ones(3, 5), 2.0)
    assert counter.get_total_flops() == 15
    assert "flop_tests::scaled" in capsys.readouterr().out
    with FlopCounterMode(display=False, custom_mapping={og.ops.aten.exp: lambda shape, **_rest: shape[0]}) as counter:
        og.ones(7).exp()
    assert counter.get_flop_counts() == {"Global": {"aten::exp": 7}}
    assert "0" in FlopCounterMode(display=False).get_table()


def test_attention_and_batches_of_products():
    q = og.randn(2, 4, 6, 8)
    with FlopCounterMode(display=False) as counter:
        og.nn.functional.scaled_dot_product_attention(q, q, q)
    assert counter.get_total_flops() == 2 * 2 * 4 * 6 * 6 * 16
    with FlopCounterMode(display=False) as counter:
        og.bmm(og.ones(2, 3, 4), og.ones(2, 4, 5))
    assert counter.get_total_flops() == 2 * 2 * 3 * 4 * 5


def test_the_first_nan_is_named():
    x = og.tensor([-1.0, 4.0], requires_grad=True)
    with pytest.raises(RuntimeError, match=r"aten::sqrt returned NaN in 1 of 2 elements of shape \(2,\).*test_modes_of_utils.py"):
        with NanHunter():
            (x * 2).sqrt().exp()
    with NanHunter():
        (og.tensor([float("nan")]) + 1).exp()
        og.empty(1000)
    with pytest.raises(RuntimeError, match="aten::div.*NaN or infinity"), NanHunter(infinities=True):
        og.ones(1) / og.zeros(1)
    zero = og.zeros(1, requires_grad=True)
    y = (zero * 0).sqrt() * zero
    with pytest.raises(RuntimeError, match="returned NaN"), NanHunter():
        y.sum().backward()


def test_operators_that_answer_differently():
    calls = []

    @og.library.custom_op("determinism_tests::counting", mutates_args=())
    def counting(x: og.Tensor) -> og.Tensor:
        calls.append(1)
        return x + len(calls)

    with DeterminismCheck():
        og.randn(3).exp().sum()
        x = og.ones(2)
        x.add_(1)
        (og.tensor([float("nan")]) * 1).sum()
    assert x.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match=r"determinism_tests::counting gave two results.*test_modes_of_utils.py"), DeterminismCheck():
        counting(og.ones(2))


def test_programs_in_a_folder_of_that_name_are_named():
    program = compile("og.tensor([-1.0]).sqrt()", "/somewhere/opgrid/program.py", "exec")
    with pytest.raises(RuntimeError, match="it was called at /somewhere/opgrid/program.py:1"), NanHunter():
        exec(program, {"og": og})
