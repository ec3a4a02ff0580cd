"""Programs: exported, run, saved and loaded."""

import pathlib
import threading

import numpy as np
import pytest

import opgrid as og
from opgrid import nn

MODELS = pathlib.Path(__file__).parents[2] / "crates/opgrid-graph/tests/models"
DETECTOR = pathlib.Path(__file__).parents[2] / "crates/opgrid-vision/tests/models"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 2)

    def forward(self, x, scale=1.0):
        x = og.relu(self.norm(self.conv(x))) * scale
        return self.head(x.mean([2, 3]))


def close(a, b):
    assert a.shape == b.shape
    assert bool(og.allclose(a, b, rtol=1e-5, atol=1e-6))


def test_a_module():
    og.manual_seed(0)
    net = Net().eval()
    x = og.randn(2, 3, 8, 8)
    ep = og.export.export(net, (x,))
    assert set(ep.state_dict) == set(net.state_dict())
    assert ep.graph_signature.user_inputs == ["x"]
    assert "aten::conv2d" in ep.graph
    assert 'from "conv" "test_export.py:' in ep.graph
    y = og.randn(2, 3, 8, 8)
    close(ep.module()(y), net(y))
    with pytest.raises(RuntimeError, match="x.*found.*expected"):
        ep.module()(og.randn(3, 3, 8, 8))
    with pytest.raises(TypeError, match="as when the program was exported"):
        ep.module()(y, y)
    with pytest.raises(TypeError, match="arguments by name: found \\['mask'\\], expected none as when"):
        ep.module()(y, mask=y)
    with pytest.raises(RuntimeError, match="module\\(\\)"):
        ep(y)


def test_sizes_that_vary():
    net = Net().eval()
    batch, side = og.export.Dim("batch", min=1, max=32), og.export.Dim("side", min=4)
    ep = og.export.export(net, (og.randn(2, 3, 8, 8),), dynamic_shapes={"x": {0: batch, 2: side, 3: side}})
    y = og.randn(5, 3, 12, 12)
    close(ep.module()(y), net(y))
    with pytest.raises(RuntimeError, match="batch"):
        ep.module()(og.randn(33, 3, 8, 8))
    with pytest.raises(RuntimeError, match="side"):
        ep.module()(og.randn(2, 3, 8, 9))
    with pytest.raises(RuntimeError, match="depends on a size that varies"):
        og.export.export(lambda x: x * x.shape[0] ** 0.5, (og.ones(4),), dynamic_shapes=[{0: batch}])
    with pytest.raises(ValueError, match="expected names of arguments"):
        og.export.export(net, (og.randn(2, 3, 8, 8),), dynamic_shapes={"y": {0: batch}})
    with pytest.raises(ValueError, match="expected one of 4"):
        og.export.export(net, (og.randn(2, 3, 8, 8),), dynamic_shapes={"x": {4: batch}})


def test_nested_arguments_and_results():
    def f(pair, *, options):
        a, b = pair
        return {"sum": a + b, "parts": [a * options["scale"], (b, None)]}

    args, kwargs = ((og.ones(3), og.ones(3) * 2),), {"options": {"scale": 2.0, "bias": None}}
    ep = og.export.export(f, args, kwargs)
    result = ep.module()((og.ones(3) * 5, og.ones(3)), options={"scale": 2.0, "bias": None})
    assert list(result) == ["sum", "parts"]
    assert result["sum"].tolist() == [6.0] * 3
    assert result["parts"][0].tolist() == [10.0] * 3
    assert result["parts"][1][1] is None
    with pytest.raises(ValueError, match="2.0 when the program was exported"):
        ep.module()(*args, options={"scale": 3.0, "bias": None})


def test_values_that_are_read():
    def f(x):
        if x.sum() > 0:
            return x + 1
        return x - 1

    with pytest.raises(RuntimeError, match="reads a value.*test_export.py:|test_export.py:.*reads a value"):
        og.export.export(f, (og.ones(2),))
    ep = og.export.export(f, (og.ones(2),), guard_reads=True)
    assert ep.module()(og.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="when the program was traced"):
        ep.module()(-og.ones(2))


def test_errors_of_the_code_come_through():
    class Own(Exception):
        pass

    def f(x):
        raise Own("from here")

    with pytest.raises(Own, match="from here"):
        og.export.export(f, (og.ones(2),))
    with pytest.raises(TypeError, match=r"write \(x,\) for one"):
        og.export.export(f, og.ones(2))
    with pytest.raises(TypeError, match="among the results"):
        og.export.export(lambda x: 3, (og.ones(2),))


def test_a_training_step():
    weight = og.ones(2, requires_grad=True)

    def step(x):
        loss = ((x * weight) ** 2).sum()
        (grad,) = og.autograd.grad(loss, [weight])
        return loss, grad

    ep = og.export.export(step, (og.ones(2),), below_autograd=True)
    loss, grad = ep.module()(og.tensor([1.0, 3.0]))
    assert loss.item() == 10.0
    assert grad.tolist() == [2.0, 18.0]


@pytest.mark.parametrize("name", ["mlp", "convolutions", "transformer", "sizes", "writes"])
def test_what_torch_exported(name):
    ep = og.export.load(MODELS / f"{name}.pt2")
    assert ep.graph
    assert len(list(ep.parameters())) == len(ep.graph_signature.parameters)


def test_a_detector_that_torch_exported():
    arrays = np.load(DETECTOR / "detector.npz")
    found = og.export.load(DETECTOR / "detector.pt2").module()(og.from_numpy(arrays["in0"]))
    assert len(found) == 3
    for place, result in enumerate(found):
        close(result, og.from_numpy(arrays[f"out{place}"]))


def test_sizes_that_depend_on_elements(tmp_path):
    def chosen(boxes, scores):
        likely = scores > 0.2
        boxes, scores = boxes[likely], scores[likely]
        kept = og.ops.torchvision.nms(boxes, scores, 0.5)
        return boxes[kept], scores[kept]

    boxes = og.tensor([[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 4.0, 3.5], [5.0, 5.0, 9.0, 9.0], [2.0, 6.0, 4.0, 8.0]])
    ep = og.export.export(chosen, (boxes, og.tensor([0.5, 0.9, 0.8, 0.1])))
    og.export.save(ep, tmp_path / "chosen.pt2")
    again = og.export.load(tmp_path / "chosen.pt2").module()
    for scores, count in (([0.5, 0.9, 0.8, 0.1], 2), ([0.3, 0.1, 0.4, 0.9], 3), ([0.0, 0.1, 0.2, 0.1], 0)):
        found, expected = again(boxes, og.tensor(scores)), chosen(boxes, og.tensor(scores))
        assert len(expected[0]) == count
        for a, b in zip(found, expected, strict=True):
            close(a, b)


def test_a_program_in_another_dtype():
    net = Net().eval()
    x = og.randn(2, 3, 8, 8)
    ep = og.export.export(net, (x,))
    other = ep.to(og.float64)
    found = other.module()(x.double())
    assert found.dtype is og.float64
    close(found.float(), net(x))
    assert all(p.dtype is og.float64 for p in other.parameters())
    assert all(p.dtype is og.float32 for p in ep.parameters())
    with pytest.raises((ValueError, RuntimeError), match="cannot be converted to int64"):
        ep.to(og.int64)


def test_save_and_load(tmp_path):
    net = Net().eval()
    ep = og.export.export(net, (og.randn(2, 3, 8, 8),))
    og.export.save(ep, tmp_path / "net.pt2")
    again = og.export.load(tmp_path / "net.pt2")
    assert again.graph == ep.graph
    x = og.randn(2, 3, 8, 8)
    close(again.module()(x), net(x))
    with pytest.raises(OSError):
        og.export.load(tmp_path / "missing.pt2")


def test_composites_taken_apart():
    net = Net().eval()
    ep = og.export.export(net, (og.randn(2, 3, 8, 8),))
    core = ep.run_decompositions()
    assert "aten::conv2d" not in core.graph
    x = og.randn(2, 3, 8, 8)
    close(core.module()(x), net(x))
    assert set(core.state_dict) == set(ep.state_dict)


def test_composites_with_sizes_that_vary_taken_apart():
    net = nn.Sequential(nn.Flatten(), nn.Linear(12, 3))
    batch = og.export.Dim("batch", min=1, max=64)
    ep = og.export.export(net, (og.randn(4, 3, 4),), dynamic_shapes=({0: batch},))
    core = ep.run_decompositions()
    assert "aten::linear" not in core.graph and "aten::flatten" not in core.graph
    assert "batch in 1..64" in core.graph
    x = og.randn(7, 3, 4)
    close(core.module()(x), net(x))


def test_writes_become_results():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", og.zeros(3))

        def forward(self, x):
            self.count[1:].add_(1)
            x[0].mul_(2)
            return x.sum() + self.count.sum()

    ep = og.export.export(Counts(), (og.ones(2, 3),))
    core = ep.run_decompositions()
    assert core.graph_signature.buffers_to_mutate and core.graph_signature.user_inputs_to_mutate
    assert "_.Tensor" not in core.graph
    x, y = og.ones(2, 3), og.ones(2, 3)
    before = core.state_dict["count"].sum().item()
    assert core.module()(x).item() == 9 + before + 2
    assert core.state_dict["count"].sum().item() == before + 2
    y[0].mul_(2)
    close(x, y)


def test_a_program_trains():
    ep = og.export.export(nn.Linear(3, 1), (og.randn(8, 3),))
    module = ep.module()
    x, y = og.randn(8, 3), og.randn(8, 1)
    for parameter in module.parameters():
        parameter.requires_grad_(True)
    optimizer = og.optim.SGD(list(module.parameters()), lr=0.1)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = ((module(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] * 0.9


def test_comparisons_of_sizes():
    def f(x, limit=6):
        if x.shape[0] > limit or x.numel() == 6:
            return x * x
        return x + x

    short = og.export.export(f, (og.ones(4, 2),), dynamic_shapes={"x": {0: og.export.Dim("n")}})
    assert short.range_constraints == {"n": (0, 6)}
    assert short.module()(og.ones(5, 2)).shape == (5, 2)
    with pytest.raises(RuntimeError, match="n.*0\\.\\.6"):
        short.module()(og.ones(7, 2))
    # What leaves no range is checked.
    with pytest.raises(RuntimeError, match="traced for sizes with 2\\*n != 6, as the code requires at test_export.py:[0-9]+"):
        short.module()(og.ones(3, 2))
    long = og.export.export(f, (og.ones(9, 2),), dynamic_shapes={"x": {0: og.export.Dim("n")}})
    assert long.range_constraints == {"n": (7, None)}
    with pytest.raises(RuntimeError, match="requires n <= 6, but the range given for size `n` is 0..100; give it the range 0..6"):
        og.export.export(f, (og.ones(4, 2),), dynamic_shapes={"x": {0: og.export.Dim("n", max=100)}})
    # Sizes that do not vary are plain numbers.
    seen = []
    og.export.export(lambda x: [seen.append(type(x.shape[0])), x + 1][1], (og.ones(4, 2),))
    assert seen == [int]


def test_sizes_that_have_to_be_equal():
    def f(x, y):
        return x.sum() + y.sum() if x.shape == y.shape else x.sum()

    n, m = og.export.Dim("n"), og.export.Dim("m")
    with pytest.raises(RuntimeError, match="requires n == m, so these sizes cannot vary independently; give equal sizes one name"):
        og.export.export(f, (og.ones(4), og.ones(4)), dynamic_shapes=[{0: n}, {0: m}])
    ep = og.export.export(f, (og.ones(4), og.ones(4)), dynamic_shapes=[{0: n}, {0: n}])
    assert ep.range_constraints == {"n": (0, None)} and ep.module()(og.ones(7), og.ones(7)).item() == 14


def test_sizes_compared_on_another_thread():
    def f(x):
        found = []
        worker = threading.Thread(target=lambda: found.append(x.shape[0] > 2))
        worker.start()
        worker.join()
        return x + 1 if found[0] else x

    ep = og.export.export(f, (og.ones(4, 2),), dynamic_shapes=[{0: og.export.Dim("n")}])
    assert ep.range_constraints == {"n": (3, None)}


def test_symbolic_sizes_behave_as_integers():
    import copy
    import pickle

    seen = {}

    def f(x):
        n = seen["n"] = x.shape[0]
        assert isinstance(n, int) and repr(n) == "5" and f"{n}" == "5" and hash(n) == 5 and [0] * n == [0] * 5
        assert type(x.size(0)) is type(n) and type(x.shape[:1][0]) is type(n) and type(x.numel()) is type(n)
        assert n + 1 == 6 and 1 + n == 6 and n - 1 == 4 and 9 - n == 4 and n * 2 == 10 and 2 * n == 10 and -n == -5 and +n == 5
        assert n // 2 == 2 and 12 // n == 2 and n % 3 == 2 and 13 % n == 3 and n / 2 == 2.5 and n**2 == 25 and divmod(n, 2) == (2, 1)
        assert n < 5.5 and n != "5" and n != None and (n == 5.0) and not (n == 4.5)  # noqa: E711
        assert n < 10**30 and n + 2**70 > 2**70 and n * 10**20 == 5 * 10**20
        assert bool(n) and n in (4, 5) and list(range(n)) == [0, 1, 2, 3, 4] and "abcdefg"[n] == "f"
        assert max(n, 2) == 5 and sum([n, 1]) == 6 and int(n) == 5 and type(int(n)) is int and float(n) == 5.0
        with pytest.raises(ZeroDivisionError):
            n // 0
        with pytest.raises(TypeError):
            n + "1"
        assert type(copy.deepcopy(n)) is int and pickle.loads(pickle.dumps(n)) == 5
        return x.reshape(n, 2) + og.ones(n, 2) + og.arange(n).reshape(-1, 1)

    with pytest.raises(RuntimeError, match="requires n \\+ 1 == 6, so size `n` cannot vary"):
        og.export.export(f, (og.ones(5, 2),), dynamic_shapes=[{0: og.export.Dim("n")}])
    # After the trace it is a number like others.
    assert seen["n"] > 4 and seen["n"] + 1 == 6


def test_conditions_of_sizes_are_saved(tmp_path):
    def f(x, y):
        if x.shape[0] % 2 == 0 and x.shape[0] < 3 * y.shape[0]:
            return x.sum() + y.sum()
        return x.sum() - y.sum()

    dims = {"x": {0: og.export.Dim("n")}, "y": {0: og.export.Dim("m")}}
    ep = og.export.export(f, (og.ones(4), og.ones(5)), dynamic_shapes=dims)
    og.export.save(ep, tmp_path / "compared.pt2")
    for program in (ep, og.export.load(tmp_path / "compared.pt2")):
        assert program.module()(og.ones(8), og.ones(3)).item() == 11
        with pytest.raises(RuntimeError, match="traced for sizes with n < 3\\*m"):
            program.module()(og.ones(10), og.ones(3))
        with pytest.raises(RuntimeError, match="traced for sizes with PythonMod\\(n, 2\\) == 0"):
            program.module()(og.ones(7), og.ones(3))


def test_a_fake_model_is_exported():
    from opgrid.utils.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        net = Net().eval().to("cuda")
        x = og.randn(2, 3, 8, 8, device="cuda")
    ep = og.export.export(net, (x,), dynamic_shapes={"x": {0: og.export.Dim("n")}})
    real = og.export.export(Net().eval(), (og.randn(2, 3, 8, 8),), dynamic_shapes={"x": {0: og.export.Dim("n")}})
    assert ep.graph == real.graph
    assert ep.module()(og.zeros(7, 3, 8, 8, device=x.device)).device == x.device

    def chosen(x):
        return x[x > 0] * 2, og.nonzero(x), x.unique()

    with FakeTensorMode():
        x = og.randn(6)
    ep = og.export.export(chosen, (x,))
    assert "float32[u0]" in ep.graph and "int64[u1, 1]" in ep.graph and "float32[u2]" in ep.graph
    # It is a program like others, and runs with data.
    parts = ep.module()(og.tensor([1.0, 0.0, 3.0, -1.0, 3.0, 0.5]))
    assert [part.shape[0] for part in parts] == [4, 5, 5]
