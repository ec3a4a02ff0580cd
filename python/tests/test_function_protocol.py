"""Classes that are no tensors answer functions, methods ask classes, and functions have derivatives of their own in forward mode."""

import opgrid as og
import opgrid.nn.functional as F
import pytest
from opgrid import nn
from opgrid.autograd import Function, forward_ad
from opgrid.func import hessian, jacfwd, jvp
from opgrid.overrides import wrap_torch_function
from opgrid.utils._python_dispatch import TorchDispatchMode


class Answers:
    """No tensor, but it has an answer."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, len(args), sorted(kwargs or {})


@pytest.mark.parametrize(
    "call, answer",
    [
        (lambda: og.add(Answers(), 1, alpha=2), ("add", 2, ["alpha"])),
        (lambda: og.matmul(og.eye(2), Answers()), ("matmul", 2, [])),
        (lambda: og.ones(2).add(Answers()), ("add", 2, [])),
        (lambda: og.cat([og.ones(1), Answers()]), ("cat", 1, [])),
        (lambda: F.mse_loss(Answers(), og.ones(1), reduction="sum"), ("mse_loss", 2, ["reduction"])),
    ],
)
def test_classes_that_are_no_tensors_answer_functions(call, answer):
    assert call() == answer


def test_a_class_may_refuse():
    refuses = type("Refuses", (), {"__torch_function__": classmethod(lambda *_: NotImplemented)})
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'add'"):
        og.add(refuses(), 1)
    with pytest.raises(TypeError, match="must be Tensor"):
        og.add(object(), 1)


def test_methods_that_are_no_operators_ask_the_class():
    class Logged(og.Tensor):
        seen = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = Logged([[1.0, 2.0]])
    first, stacked = x[0], og.stack([x, x])
    x[0, 1] = 5
    assert type(first) is type(stacked) is type(x.T) is Logged
    assert (len(x), tuple(x.shape), x.tolist()) == (1, (1, 2), [[1.0, 5.0]])
    F.relu(x)
    assert Logged.seen == ["__getitem__", "stack", "__setitem__", "__get__", "__len__", "__get__", "tolist", "relu"]
    with og._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is og.Tensor and x.size() == (1, 2)
    assert Logged.seen[-1] == "relu"


def test_own_functions_ask_classes():
    @wrap_torch_function(lambda x, y: (x, y))
    def both(x, y):
        return x + y

    assert both(1, 2) == 3 and both(1, Answers()) == ("both", 2, [])


class Scaled(Function):
    """Its tangents are three times those of its derivative, so that one sees which is asked for."""

    @staticmethod
    def forward(x, factor):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(inputs[0])
        ctx.factor = inputs[1]

    @staticmethod
    def jvp(ctx, tangent, _):
        assert ctx.saved_tensors[0].shape == tangent.shape[-1:]
        return 3 * ctx.factor * tangent

    @staticmethod
    def vjp(ctx, grad):
        return ctx.factor * grad, None


def test_functions_have_rules_for_both_modes():
    x = og.ones(2, requires_grad=True)
    Scaled.apply(x, 2.0).sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert jvp(lambda x: Scaled.apply(x, 2.0), (og.ones(2),), (og.ones(2),))[1].tolist() == [6, 6]
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(Scaled.apply(forward_ad.make_dual(og.ones(2), og.ones(2)), 2.0)).tangent
    assert tangent.tolist() == [6, 6]


@pytest.mark.parametrize("write", [lambda y: y.fill_diagonal_(0), lambda y: y[0].zero_(), lambda y: y[:, 1].fill_(3)])
def test_forward_mode_leads_through_writes(write):
    def cubes(x):
        y = x.clone()
        write(y)
        return (y**3).sum()

    x = og.arange(4.0).reshape(2, 2)
    marked = og.full((2, 2), og.nan)
    write(marked)
    kept = og.where(marked.isnan(), 1.0, 0.0)
    assert jacfwd(cubes)(x).tolist() == (3 * x**2 * kept).tolist()
    assert hessian(cubes)(x).reshape(4, 4).tolist() == og.diag((6 * x * kept).reshape(-1)).tolist()


def test_modules_take_memory_formats():
    conv = nn.Conv2d(3, 4, 2).to(og.float64, memory_format=og.channels_last)
    assert conv.weight.is_contiguous(memory_format=og.channels_last) and conv.weight.dtype == conv.bias.dtype == og.float64


def test_kernels_of_a_library_are_decorated():
    library = og.library.Library("function_protocol", "DEF")
    library.define("twice(Tensor x) -> Tensor")

    @og.library.impl(library, "twice", "CPU")
    def twice(x):
        return x * 2

    @og.library.define(library, "thrice(Tensor x) -> Tensor")
    def thrice(x):
        return x * 3

    class Names(TorchDispatchMode):
        seen = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x = og.ones(1)
    with Names():
        y = og.ops.function_protocol.twice(og.ops.function_protocol.thrice(x))
    assert y.item() == 6
    assert Names.seen[0] == "function_protocol.thrice.default" and "function_protocol.twice.default" in Names.seen


def test_settings_may_be_required():
    class Steps(og.optim.Optimizer):
        def __init__(self, params, lr=og.optim.optimizer.required):
            super().__init__(params, {"lr": lr})

    with pytest.raises(ValueError, match="didn't specify a value of required optimization parameter lr"):
        Steps([og.ones(1, requires_grad=True)])
    saved = Steps([{"params": [og.ones(1, requires_grad=True)], "lr": 1.0}]).state_dict()
    assert list(saved["param_groups"][0]) == ["lr", "params"]


def test_anomalies_are_looked_for_at_once():
    setting = og.autograd.set_detect_anomaly(True)
    assert og.is_anomaly_enabled()
    with setting:
        pass
    assert not og.is_anomaly_enabled()
