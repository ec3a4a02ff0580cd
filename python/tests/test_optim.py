"""Optimizers and learning rates, by numbers that torch computed, by their dicts, and by what they say of mistakes."""

import math

import opgrid as og
import pytest
from opgrid import optim
from opgrid.optim import lr_scheduler

STEPS = 20


def trained(t, make, schedule=None):
    """The elements of two parameters after steps on a valley that is bent, and the last learning rates."""
    a = t.tensor([1.5, -0.5, 0.25], dtype=t.float64, requires_grad=True)
    b = t.tensor([[0.75]], dtype=t.float64, requires_grad=True)
    optimizer = make(t.optim, [a, b])
    scheduler = None if schedule is None else schedule(t.optim.lr_scheduler, optimizer)
    for _ in range(STEPS):
        optimizer.zero_grad()
        ((a * a - b).pow(2).sum() + (a * b).sum().sin()).backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    rates = [] if scheduler is None else scheduler.get_last_lr()
    return [*a.detach().tolist(), b.item(), *rates]


OPTIMIZERS = {
    "sgd": lambda n, p: n.SGD(p, lr=0.02),
    "sgd with momentum": lambda n, p: n.SGD(p, lr=0.02, momentum=0.9, dampening=0.2, weight_decay=0.01),
    "sgd after nesterov": lambda n, p: n.SGD(p, lr=0.02, momentum=0.9, nesterov=True),
    "sgd upwards": lambda n, p: n.SGD(p, lr=1e-3, maximize=True),
    "adam": lambda n, p: n.Adam(p, lr=0.05),
    "adam with all": lambda n, p: n.Adam(p, 0.05, (0.8, 0.99), 1e-6, weight_decay=0.1, amsgrad=True),
    "adamw": lambda n, p: n.AdamW(p, lr=0.05),
    "adamw with all": lambda n, p: n.AdamW(p, 0.05, weight_decay=0.3, amsgrad=True, maximize=True),
    "groups": lambda n, p: n.SGD([{"params": p[:1], "lr": 0.01}, {"params": p[1], "momentum": 0.5}], lr=0.02),
}

SCHEDULES = {
    "steps": lambda n, o: n.StepLR(o, 3, 0.5),
    "milestones": lambda n, o: n.MultiStepLR(o, [3, 3, 7, 12], 0.5),
    "exponential": lambda n, o: n.ExponentialLR(o, 0.9),
    "linear": lambda n, o: n.LinearLR(o, 0.25, 0.9, total_iters=8),
    "cosine": lambda n, o: n.CosineAnnealingLR(o, 6, 0.01),
    "function": lambda n, o: n.LambdaLR(o, lambda epoch: 0.95**epoch),
    "one cycle": lambda n, o: n.OneCycleLR(o, 0.03, total_steps=25),
    "one cycle in three": lambda n, o: n.OneCycleLR(
        o, 0.03, epochs=5, steps_per_epoch=5, anneal_strategy="linear", three_phase=True
    ),
}

# By torch 2.15 on a CPU: `trained(torch, make)`, and `trained(torch, with_momentum, schedule)`.
EXPECTED = {
    "sgd": [0.677901555225, -0.75618901970662, 0.25007516096503, 0.40117809671077],
    "sgd with momentum": [-0.9649532978156, -0.55317892346821, 0.32243828303757, 0.79068076799273],
    "sgd after nesterov": [-0.91112726351709, -0.7460430179966, 0.24170656925, 0.65178147971864],
    "sgd upwards": [1.7445003248922, -0.47232311480974, 0.24422710839189, 0.73871618294045],
    "adam": [0.73619206393107, -0.99627665874172, 0.70573550034975, 0.62302247999723],
    "adam with all": [0.79954710654265, -0.83947484224898, 0.51683485751576, 0.45984569848462],
    "adamw": [0.7267711814967, -0.98659905838203, 0.69231128310082, 0.60651660712831],
    "adamw with all": [2.0168537331957, 0.039030725949064, -0.020101728976457, 0.7578081794715],
    "groups": [0.8091071394171, -0.65577660159807, 0.25337414791684, 0.33864432607241],
    "steps": [0.76983846112075, -0.74128586555184, 0.26568517595946, 0.5096895790328, 0.0003125],
    "milestones": [0.82059258341875, -0.71616527358464, 0.26533648316017, 0.54864021074001, 0.00125],
    "exponential": [0.68319834732238, -0.76810164264436, 0.26135169509328, 0.42130554641199, 0.0024315330918114],
    "linear": [0.54794545643811, -0.71932354281607, 0.24667991452074, 0.3221559373588, 0.018],
    "cosine": [0.56533450206969, -0.72798450164807, 0.2490099607694, 0.33083857415139, 0.0125],
    "function": [0.59011847303221, -0.74478929461303, 0.25464482106146, 0.35303845160373, 0.0071697184481708],
    "one cycle": [-0.85084702194357, -1.1174697681618, 0.89422424054687, 0.70402348479633, 0.0037040331942338],
    "one cycle in three": [-1.0407102278129, -0.75221224800825, 0.35670502496942, 0.80773310341763, 0.00043644],
}


def with_momentum(n, p):
    return n.SGD(p, lr=0.02, momentum=0.5)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_those_of_torch(name):
    assert trained(og, OPTIMIZERS[name]) == pytest.approx(EXPECTED[name], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_are_those_of_torch(name):
    assert trained(og, with_momentum, SCHEDULES[name]) == pytest.approx(EXPECTED[name], rel=1e-12, abs=1e-12)


def leaf(*sizes):
    return og.ones(*sizes, requires_grad=True)


def test_steps_leave_no_trace_in_the_graph():
    x = leaf(2)
    optimizer = optim.Adam([x], lr=0.1)
    (x * x).sum().backward()
    optimizer.step()
    assert x.is_leaf and x.requires_grad and x.grad_fn is None
    assert not any(value.requires_grad for value in optimizer.state[x].values())
    optimizer.zero_grad(set_to_none=False)
    assert x.grad.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert x.grad is None


def test_parameters_without_gradient_stay():
    x, y = leaf(1), leaf(1)
    optimizer = optim.SGD([x, y], lr=0.5, momentum=0.9)
    (x * 2).sum().backward()
    optimizer.step()
    assert (x.item(), y.item()) == (0.0, 1.0)
    assert list(optimizer.state_dict()["state"]) == [0]
    plain = optim.SGD([x], lr=0.5)
    plain.step()
    assert x.item() == -1.0 and plain.state_dict()["state"] == {}


def test_a_closure_computes_the_loss():
    x = leaf(1)
    optimizer = optim.SGD([x], lr=0.25)

    def closure():
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss

    with og.no_grad():
        assert optimizer.step(closure).item() == 1.0
    assert x.item() == 0.5


def steps(optimizer, x, count):
    for _ in range(count):
        optimizer.zero_grad()
        (x * x * x).sum().backward()
        optimizer.step()
    return x.tolist()


@pytest.mark.parametrize("make", [OPTIMIZERS["sgd with momentum"], OPTIMIZERS["adam with all"], OPTIMIZERS["adamw"]])
def test_state_dicts_continue_a_run(make):
    x, y = leaf(2), leaf(2)
    whole = steps(make(optim, [x]), x, 6)
    first = make(optim, [y])
    steps(first, y, 3)
    second = make(optim, [y])
    state = first.state_dict()
    assert state["param_groups"][0]["params"] == [0] and list(state["state"]) == [0]
    second.load_state_dict(state)
    assert steps(second, y, 3) == whole


def test_names_of_the_state_are_those_of_torch():
    x = leaf(2)
    optimizer = optim.AdamW([x], amsgrad=True)
    steps(optimizer, x, 2)
    state = optimizer.state_dict()["state"][0]
    assert list(state) == ["step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"]
    assert state["step"].item() == 2 and state["step"].dtype is og.float32
    loaded = optim.AdamW([leaf(2).detach().to(og.float64)], amsgrad=True)
    loaded.load_state_dict(optimizer.state_dict())
    (values,) = loaded.state.values()
    assert (values["step"].dtype, values["exp_avg"].dtype) == (og.float32, og.float64)


def test_groups():
    x, y, z = leaf(1), leaf(1), leaf(1)
    optimizer = optim.SGD([{"params": [x]}, {"params": [y], "lr": 0.5}], lr=0.1)
    optimizer.add_param_group({"params": z, "momentum": 0.9})
    assert [(g["lr"], g["momentum"]) for g in optimizer.param_groups] == [(0.1, 0), (0.5, 0), (0.1, 0.9)]
    assert optimizer.state_dict()["param_groups"][2]["params"] == [2]
    assert repr(optimizer).startswith("SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n")


def test_schedules_continue():
    x = leaf(1)
    optimizer = optim.SGD([x], lr=0.1)
    first = lr_scheduler.CosineAnnealingLR(optimizer, 5)
    for _ in range(3):
        first.step()
    kept = optimizer.state_dict()
    other = optim.SGD([x], lr=0.1)
    second = lr_scheduler.CosineAnnealingLR(other, 5)
    other.load_state_dict(kept)
    second.load_state_dict(first.state_dict())
    first.step()
    second.step()
    assert first.get_last_lr() == second.get_last_lr() == pytest.approx([0.05 * (1 + math.cos(math.pi * 4 / 5))])


X = leaf(1)


@pytest.mark.parametrize(
    ("wrong", "kind", "text"),
    [
        (lambda: optim.SGD([]), ValueError, "optimizer got an empty parameter list"),
        (lambda: optim.SGD(X), TypeError, "an iterable of Tensors or dicts, found a tensor"),
        (lambda: optim.SGD([1.0]), TypeError, "one of the params is float"),
        (lambda: optim.SGD([X * 2]), ValueError, "can't optimize a non-leaf Tensor"),
        (lambda: optim.SGD([X, X]), ValueError, "duplicate parameters"),
        (lambda: optim.SGD([{"params": [X]}, {"params": [X]}]), ValueError, "more than one parameter group"),
        (lambda: optim.SGD([{"params": {X}}]), TypeError, "pass a list instead of a set"),
        (lambda: optim.SGD([X], lr=-1), ValueError, "Invalid learning rate: -1; expected zero or more"),
        (lambda: optim.SGD([X], nesterov=True), ValueError, "Nesterov momentum requires a momentum and zero dampening"),
        (lambda: optim.Adam([X], betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0: 1.0"),
        (lambda: optim.Adam([X], eps=-1), ValueError, "Invalid epsilon value: -1"),
        (lambda: optim.SGD([X]).load_state_dict({"state": {}, "param_groups": []}), ValueError, "found 0, expected 1"),
        (
            lambda: optim.SGD([X]).load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]}),
            ValueError,
            "found 2 parameters in group 0, expected 1",
        ),
        (lambda: lr_scheduler.StepLR(1, 2), TypeError, "int is not an Optimizer"),
        (lambda: lr_scheduler.StepLR(optim.SGD([X]), 2, last_epoch=3), KeyError, "param 'initial_lr' is not specified"),
        (lambda: lr_scheduler.LambdaLR(optim.SGD([X]), []), ValueError, "Expected 1 lr_lambdas, but got 0"),
        (lambda: lr_scheduler.LinearLR(optim.SGD([X]), 2), ValueError, "start_factor expected"),
        (lambda: lr_scheduler.OneCycleLR(optim.SGD([X]), 0.1), ValueError, "OR (epochs AND steps_per_epoch)"),
    ],
)
def test_mistakes_are_named(wrong, kind, text):
    with pytest.raises(kind) as raised:
        wrong()
    assert text in str(raised.value)
