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
    "adamax": lambda n, p: n.Adamax(p, 0.05, (0.8, 0.95), weight_decay=0.1),
    "nadam": lambda n, p: n.NAdam(p, 0.05, weight_decay=0.1, momentum_decay=0.01),
    "nadam with decoupled decay": lambda n, p: n.NAdam(p, 0.05, weight_decay=0.1, decoupled_weight_decay=True),
    "radam": lambda n, p: n.RAdam(p, 0.05, weight_decay=0.1),
    "adagrad": lambda n, p: n.Adagrad(p, 0.1, 0.1, 0.1, 0.5),
    "adadelta": lambda n, p: n.Adadelta(p, 0.5, 0.8, 1e-4, 0.1),
    "rmsprop": lambda n, p: n.RMSprop(p, 0.01, 0.9, weight_decay=0.1, momentum=0.8, centered=True),
    "rprop": lambda n, p: n.Rprop(p, 0.05, (0.3, 1.5), (1e-3, 0.2)),
    "asgd": lambda n, p: n.ASGD(p, 0.02, 0.01, t0=5, weight_decay=0.1),
    "adafactor": lambda n, p: n.Adafactor(p, 0.1, d=2.0, weight_decay=0.1, eps=(1e-8, 1e-2), maximize=True),
    "groups": lambda n, p: n.SGD([{"params": p[:1], "lr": 0.01}, {"params": p[1], "momentum": 0.5}], lr=0.02),
}

SCHEDULES = {
    "steps": lambda n, o: n.StepLR(o, 3, 0.5),
    "milestones": lambda n, o: n.MultiStepLR(o, [3, 3, 7, 12], 0.5),
    "exponential": lambda n, o: n.ExponentialLR(o, 0.9),
    "linear": lambda n, o: n.LinearLR(o, 0.25, 0.9, total_iters=8),
    "cosine": lambda n, o: n.CosineAnnealingLR(o, 6, 0.01),
    "function": lambda n, o: n.LambdaLR(o, lambda epoch: 0.95**epoch),
    "factor by step": lambda n, o: n.MultiplicativeLR(o, lambda epoch: 0.97),
    "constant": lambda n, o: n.ConstantLR(o, 0.25, 9),
    "polynomial": lambda n, o: n.PolynomialLR(o, 15, 1.7),
    "restarts": lambda n, o: n.CosineAnnealingWarmRestarts(o, 5, 2, 0.01),
    "cycles": lambda n, o: n.CyclicLR(o, 0.01, 0.03, 4, 3, mode="triangular2"),
    "cycles that fall": lambda n, o: n.CyclicLR(o, 0.01, 0.03, 4, mode="exp_range", gamma=0.9),
    "one after another": lambda n, o: n.SequentialLR(o, [n.LinearLR(o, 0.1, 1, 4), n.ExponentialLR(o, 0.9)], [5]),
    "at once": lambda n, o: n.ChainedScheduler([n.ConstantLR(o, 0.5, 6), n.StepLR(o, 4, 0.7)]),
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
    "adamax": [0.77119185836427, -0.83601896611978, 0.51811069145152, 0.50754578204114],
    "nadam": [0.90612988092674, -0.89311582313688, 0.60697775760011, 0.60562291921612],
    "nadam with decoupled decay": [0.82621089014966, -0.85431406192738, 0.57588350748042, 0.5162995949463],
    "radam": [0.32272773532713, -0.80982379324, 0.24423843464, 0.38967435235214],
    "adagrad": [1.0956645425786, -0.82810921046109, 0.43951893433874, 0.58230628381191],
    "adadelta": [1.2663389849412, -0.7379256079918, 0.56141528624223, 0.67222640376719],
    "rmsprop": [0.64824020240628, -0.70788944271324, 0.37723845513221, 0.30230125270225],
    "rprop": [-0.5123125, -0.71943433691406, 0.02086171875, 0.34080518066406],
    "asgd": [0.65720141155745, -0.7299327774135, 0.23536569538562, 0.37712576429835],
    "adafactor": [8.538916056097, 0.65852062566023, 6.5698860267371, 0.024511270651901],
    "factor by step": [0.5510046211028, -0.72117364197173, 0.24999634551925, 0.32421484534525, 0.010875886858535],
    "constant": [0.56789803055089, -0.7421192525291, 0.2492497709676, 0.34201316459852, 0.02],
    "polynomial": [0.76741699776755, -0.74723994019646, 0.26531674319521, 0.50029649655183, 0.0],
    "restarts": [0.53645614032507, -0.70710515653392, 0.24518376968625, 0.31080902750817, 0.018535533905933],
    "cycles": [-0.94380025469183, -0.67215684490883, 0.32918800871153, 0.69701009297455, 0.011666666666667],
    "cycles that fall": [-0.94550030269322, -0.55823995415251, 0.29396779944021, 0.6381357648872, 0.012431533091811],
    "one after another": [0.59483058702584, -0.76025170444049, 0.2597397737116, 0.36809180512357, 0.004117822641893],
    "at once": [0.6993263385822, -0.76886356966108, 0.2592097786711, 0.42477913663063, 0.0033614],
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


def test_lbfgs_finds_the_minimum():
    for search, iterations, sought in ((None, 100, 1e-5), ("strong_wolfe", 60, 1e-9)):
        x = og.tensor([-1.2, 1.0], dtype=og.float64, requires_grad=True)
        optimizer = optim.LBFGS([x], lr=0.1 if search is None else 1, max_iter=iterations, line_search_fn=search)

        def closure():
            optimizer.zero_grad()
            loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
            loss.backward()
            return loss

        assert optimizer.step(closure).item() == pytest.approx(24.2)
        for _ in range(3):
            optimizer.step(closure)
        assert closure().item() < sought
        state = optimizer.state_dict()["state"][0]
        assert {"func_evals", "n_iter", "d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss"} <= set(state)
        again = optim.LBFGS([x], line_search_fn=search)
        again.load_state_dict(optimizer.state_dict())
        assert again.state[x]["n_iter"] == state["n_iter"]


def test_lbfgs_takes_the_steps_of_torch():
    a = og.tensor([1.5, -0.5, 0.25], dtype=og.float64, requires_grad=True)
    optimizer = optim.LBFGS([a], lr=0.5, max_iter=4, history_size=2, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = ((a * a - 1) ** 2).sum() + (a.sum() * 0.7).sin()
        loss.backward()
        return loss

    # By torch 2.15.
    losses = [optimizer.step(closure).item() for _ in range(3)]
    assert losses == pytest.approx([3.771449752236027, 0.7815780549799942, 0.5828482068218293], rel=1e-12)
    assert a.tolist() == pytest.approx([0.914026111191038, -1.0694389619128226, 0.9142492259165068], rel=1e-9)


def test_muon_steps_along_orthogonal_matrices():
    x = og.tensor([[3.0, 0.0, 0.0], [0.0, 0.5, 0.0]], requires_grad=True)
    optimizer = optim.Muon([x], lr=0.1, weight_decay=0)
    x.grad = og.tensor([[100.0, 0.0, 0.0], [0.0, 0.01, 0.0]])
    before = x.detach().clone()
    optimizer.step()
    step = (before - x.detach()) / 0.1
    # Singular values go to about one, in the dtype of the iterations.
    assert step[0, 0].item() == pytest.approx(0.9, abs=0.3) and step[1, 0].item() == 0
    with pytest.raises(ValueError, match="Muon only supports 2D parameters"):
        optim.Muon([leaf(2)])


def test_hooks_run_around_steps_and_state_dicts():
    x = leaf(1)
    x.grad = og.ones(1)
    optimizer = optim.SGD([x], lr=0.5)
    told = []
    everywhere = optim.optimizer.register_optimizer_step_pre_hook(lambda o, args, kwargs: told.append("all before"))
    optimizer.register_step_pre_hook(lambda o, args, kwargs: told.append("before"))
    after = optimizer.register_step_post_hook(lambda o, args, kwargs: told.append(("after", x.item())))
    optimizer.step()
    everywhere.remove()
    after.remove()
    optimizer.step()
    assert told == ["all before", "before", ("after", 0.5), "before"]
    optimizer.register_state_dict_pre_hook(lambda o: told.append("saves"))
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: {**state, "param_groups": [{**state["param_groups"][0], "lr": 7}]})
    optimizer.register_load_state_dict_post_hook(lambda o: told.append("loaded"))
    kept = optimizer.state_dict()
    assert kept["more"] == 1
    optimizer.load_state_dict(kept)
    assert told[-2:] == ["saves", "loaded"] and optimizer.param_groups[0]["lr"] == 7
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(RuntimeError, match=r"must return None or a tuple \(args, kwargs\), found 3"):
        optimizer.step()


def test_a_parameter_can_step_when_its_gradient_is_there():
    model = og.nn.Linear(2, 1)
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizers = {p: optim.SGD([p], lr=0.5) for p in model.parameters()}
    told = []

    def step(p):
        told.append(p.grad.tolist())
        optimizers[p].step()
        optimizers[p].zero_grad()

    handles = [p.register_post_accumulate_grad_hook(step) for p in model.parameters()]
    y = model(og.tensor([[1.0, 2.0]]))
    # Two ways lead to each parameter; the hook sees their sum, once.
    (y + 2 * y).sum().backward()
    assert sorted(told, key=str) == [[3.0], [[3.0, 6.0]]] and all(p.grad is None for p in model.parameters())
    assert (start["bias"] - model.bias).item() == pytest.approx(1.5)
    for handle in handles:
        handle.remove()
    model(og.ones(1, 2)).sum().backward()
    assert len(told) == 2 and model.bias.grad.item() == 1.0
    with pytest.raises(RuntimeError, match="expected a leaf, found a result"):
        (model.weight * 2).register_post_accumulate_grad_hook(print)
    with pytest.raises(RuntimeError, match="requires no gradient"):
        og.ones(1).register_post_accumulate_grad_hook(print)


def test_classes_of_their_own_define_a_step_or_an_update():
    class Signs(optim.Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, {"lr": lr})

        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    with og.no_grad():
                        p.sub_(p.grad.sign() * group["lr"])
                    self.state[p]["steps"] = self.state[p].get("steps", 0) + 1

    class Counted(Signs):
        def step(self, closure=None):
            super().step()

    x = leaf(2)
    optimizer = Counted([x])
    told = []
    optimizer.register_step_post_hook(lambda *_: told.append(1))
    steps(optimizer, x, 2)
    assert told == [1, 1] and x.tolist() == pytest.approx([0.8, 0.8]) and optimizer.state[x]["steps"] == 2


def test_differentiable_steps_have_gradients():
    for make in (
        lambda p, lr: optim.SGD(p, lr=lr, momentum=0.9, weight_decay=0.1, differentiable=True),
        lambda p, lr: optim.Adam(p, lr=lr, amsgrad=True, differentiable=True),
    ):
        lr = og.tensor(0.1, dtype=og.float64, requires_grad=True)
        start = og.tensor([0.5, 2.0], dtype=og.float64, requires_grad=True)

        def end(rate, begin):
            x = begin.clone()
            optimizer = make([x], rate)
            for _ in range(3):
                x.grad = begin * begin
                optimizer.step()
            return x.sum()

        found = og.autograd.grad(end(lr, start), [lr, start])
        for place, value in enumerate([lr, start]):
            shift = og.zeros_like(value).flatten()
            shift[0] = 1e-6
            shift = shift.reshape(value.shape)
            ends = [end(*[v.detach() + sign * shift if i == place else v.detach() for i, v in enumerate([lr, start])]).item() for sign in (1, -1)]
            assert found[place].flatten()[0].item() == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)


def test_named_parameters_keep_their_names():
    model = og.nn.Linear(2, 1)
    optimizer = optim.SGD(model.named_parameters(), lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    with pytest.raises(ValueError, match="with or without names"):
        optimizer.add_param_group({"params": leaf(1)})
    rates = optim.Adam([leaf(1)], lr=og.tensor(0.5))
    lr_scheduler.ExponentialLR(rates, 0.5)
    assert rates.param_groups[0]["lr"].item() == 0.5


def test_rates_follow_a_measure():
    optimizer = optim.SGD([leaf(1)], lr=1.0)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=1)
    rates = []
    for loss in [3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1]:
        scheduler.step(loss)
        rates.append(scheduler.get_last_lr()[0])
    assert rates == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125]


def test_the_order_of_steps_is_checked():
    optimizer = optim.SGD([leaf(1)], lr=1.0)
    scheduler = lr_scheduler.StepLR(optimizer, 2)
    with pytest.warns(UserWarning, match="before optimizer.step"):
        scheduler.step()
    with pytest.warns(UserWarning, match="get_last_lr"):
        scheduler.get_lr()


def test_averages_of_weights():
    swa = optim.swa_utils
    model = og.nn.Sequential(og.nn.Linear(1, 1, bias=False), og.nn.BatchNorm1d(1))
    mean, moving = swa.AveragedModel(model), swa.AveragedModel(model, multi_avg_fn=swa.get_ema_multi_avg_fn(0.5), use_buffers=True)
    own = swa.AveragedModel(model, avg_fn=swa.get_ema_avg_fn(0.5))
    for value in (1.0, 2.0, 6.0):
        with og.no_grad():
            model[0].weight.fill_(value)
        for averaged in (mean, moving, own):
            averaged.update_parameters(model)
    assert [averaged.module[0].weight.item() for averaged in (mean, moving, own)] == [pytest.approx(3.0), 3.75, 3.75]
    assert mean.n_averaged.item() == 3 and list(mean.state_dict())[0] == "n_averaged"
    batches = [og.tensor([[0.0], [2.0]]), (og.tensor([[4.0], [6.0]]), 1)]
    swa.update_bn(batches, mean.eval())
    norm = mean.module[1]
    assert norm.running_mean.item() == pytest.approx(9.0) and not mean.training and norm.momentum == 0.1
    optimizer = optim.SGD([leaf(1)], lr=1.0)
    scheduler = swa.SWALR(optimizer, swa_lr=0.2, anneal_epochs=4, anneal_strategy="linear")
    rates = []
    for _ in range(6):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    assert rates == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2, 0.2])
    with pytest.raises(ValueError, match="Invalid decay value 2"):
        swa.get_ema_avg_fn(2)


@pytest.mark.parametrize(
    ("wrong", "kind", "text"),
    [
        (lambda: optim.Adam([X], lr=og.tensor([1.0, 2.0])), ValueError, "Tensor lr must be 1-element"),
        (lambda: optim.SGD([X], fused=True, foreach=True), RuntimeError, "`fused` and `foreach` cannot be `True` together"),
        (lambda: optim.Adam([X], fused=True, differentiable=True), RuntimeError, "`fused` does not support `differentiable`"),
        (lambda: optim.Rprop([X], etas=(2, 3)), ValueError, "Invalid eta values: 2, 3"),
        (lambda: optim.Adadelta([X], rho=2), ValueError, "Invalid rho value: 2"),
        (lambda: optim.Adafactor([X], d=0.5), ValueError, "Clipping threshold d should be >= 1 but is: 0.5"),
        (lambda: optim.LBFGS([{"params": X}, {"params": leaf(1)}]), ValueError, "doesn't support per-parameter options"),
        (lambda: lr_scheduler.SequentialLR(optim.SGD([X]), [], []), ValueError, "expects at least one scheduler"),
        (lambda: lr_scheduler.ReduceLROnPlateau(optim.SGD([X]), factor=2), ValueError, "factor should be < 1.0"),
        (lambda: lr_scheduler.CyclicLR(optim.Adagrad([X]), 0.1, 1), ValueError, "optimizer must support momentum or beta1"),
        (lambda: lr_scheduler.CyclicLR(optim.SGD([X]), [0.1, 0.2], 1), ValueError, "found 2 values for 1 groups"),
        (lambda: lr_scheduler.CosineAnnealingWarmRestarts(optim.SGD([X]), 0), ValueError, "Expected positive integer T_0"),
    ],
)
def test_further_mistakes_are_named(wrong, kind, text):
    with pytest.raises(kind) as raised:
        wrong()
    assert text in str(raised.value)


def test_steps_that_cannot_run_are_refused():
    x = leaf(1)
    x.grad = og.ones(1)
    with pytest.raises(AssertionError, match="must be on an accelerator, found cpu"):
        optim.Adam([x], capturable=True).step()
    z = og.ones(1, dtype=og.complex64, requires_grad=True)
    z.grad = og.ones(1, dtype=og.complex64)
    with pytest.raises(RuntimeError, match="requires all the params to be floating point Tensors, found opgrid.complex64"):
        optim.Adam([z], fused=True).step()
