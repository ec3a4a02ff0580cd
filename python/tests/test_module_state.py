"""State dicts and conversions of modules: what torch 2.15 answers to the same programs, case by case."""

import copy

import opgrid as og
import pytest
from opgrid import nn


class Tagged(nn.Module):
    def __init__(self, tag="new"):
        super().__init__()
        self.w = nn.Parameter(og.ones(1))
        self.tag = tag

    def get_extra_state(self):
        return {"tag": self.tag}

    def set_extra_state(self, state):
        self.tag = state["tag"]


class OnlySets(Tagged):
    get_extra_state = nn.Module.get_extra_state


class OnlyGets(Tagged):
    set_extra_state = nn.Module.set_extra_state


def loading(module, state, **options):
    """The keys that were missing and unexpected, or the lines of the error."""
    try:
        missing, unexpected = module.load_state_dict(state, **options)
    except RuntimeError as error:
        return [line.strip() for line in str(error).split("\n\t")[1:] if "strict=False" not in line]
    return missing, unexpected


FITS = ([], [])
LINEAR = {"weight": og.ones(1, 1), "bias": og.ones(1)}
MISSING_EXTRA = ['Missing key(s) in state_dict: "_extra_state".']
UNEXPECTED_EXTRA = ['Unexpected key(s) in state_dict: "_extra_state".']


@pytest.mark.parametrize(
    ("make", "state", "strict", "expected"),
    [
        (Tagged, {"w": og.ones(1), "_extra_state": {"tag": "a"}}, True, FITS),
        (Tagged, {"w": og.ones(1)}, True, MISSING_EXTRA),
        (Tagged, {"w": og.ones(1)}, False, (["_extra_state"], [])),
        (OnlySets, {"w": og.ones(1)}, True, MISSING_EXTRA),
        (OnlyGets, {"w": og.ones(1), "_extra_state": 1}, True, UNEXPECTED_EXTRA),
        (lambda: nn.Linear(1, 1), {**LINEAR, "_extra_state": 1}, True, UNEXPECTED_EXTRA),
        (lambda: nn.Linear(1, 1), {**LINEAR, "_extra_state": 1}, False, ([], ["_extra_state"])),
        (lambda: nn.Sequential(Tagged()), {"0.w": og.ones(1)}, False, (["0._extra_state"], [])),
    ],
)
def test_extra_state_has_a_key(make, state, strict, expected):
    assert loading(make(), state, strict=strict) == expected


def test_extra_state_goes_with_the_state_dict():
    net = nn.Sequential(Tagged("a"), nn.Linear(1, 1), Tagged("c"))
    other = nn.Sequential(Tagged(), nn.Linear(1, 1), Tagged())
    state = net.state_dict()
    assert list(state) == ["0.w", "0._extra_state", "1.weight", "1.bias", "2.w", "2._extra_state"]
    assert loading(other, state) == FITS and (other[0].tag, other[2].tag) == ("a", "c")
    assert list(OnlySets().state_dict()) == ["w"] and list(OnlyGets().state_dict()) == ["w", "_extra_state"]
    with pytest.raises(RuntimeError, match="Linear has no extra state; override get_extra_state"):
        nn.Linear(1, 1).get_extra_state()


def test_one_error_names_everything():
    net = nn.Sequential(nn.Linear(2, 1), nn.Linear(1, 1))
    before = net[0].bias.tolist()
    state = {
        "0.weight": og.ones(1),
        "0.bias": og.full((1,), 9.0),
        "1.weight": og.ones(1, 2),
        "2.weight": og.ones(1),
        "x": og.ones(1),
        "0.y.z": og.ones(1),
    }
    assert loading(net, state) == [
        'Missing key(s) in state_dict: "1.bias".',
        'Unexpected key(s) in state_dict: "2.weight", "x", "0.y.z".',
        "size mismatch for 0.weight: copying a param with shape opgrid.Size([1]) from checkpoint, "
        "the shape in current model is opgrid.Size([1, 2]).",
        "size mismatch for 1.weight: copying a param with shape opgrid.Size([1, 2]) from checkpoint, "
        "the shape in current model is opgrid.Size([1, 1]).",
    ]
    assert net[0].bias.tolist() == before
    assert loading(nn.Linear(1, 1), {"weight": 1, "bias": og.ones(1)})[0].startswith(
        'While copying the parameter named "weight", expected a tensor, found int'
    )


class Renamed(nn.Module):
    """Reads an older name, and saves one more entry."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(og.ones(1))
        self.calls = []

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, *lists):
        self.calls.append((prefix, local_metadata.get("version"), strict))
        if prefix + "old" in state_dict:
            state_dict[prefix + "w"] = state_dict.pop(prefix + "old")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, *lists)
        self.loaded = float(self.w)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "more"] = og.zeros(1)


def test_overrides_are_called():
    net = nn.Sequential(Renamed())
    given = {"0.old": og.zeros(1)}
    assert loading(net, given) == FITS and list(given) == ["0.old"]
    assert net[0].loaded == 0 and list(net.state_dict()) == ["0.w", "0.more"]
    assert loading(net, net.state_dict()) == ['Unexpected key(s) in state_dict: "0.more".']
    assert net[0].calls == [("0.", None, True), ("0.", 1, True)]

    class Saves(nn.Linear):
        def state_dict(self, *, destination=None, prefix="", keep_vars=False):
            destination[prefix + "own"] = 1
            return destination

    assert nn.Sequential(Saves(1, 1)).state_dict() == {"0.own": 1}


def test_hooks_of_state_dicts():
    seen = []
    net = nn.Sequential(nn.Linear(1, 1))
    layer = net[0]

    def fill(state_dict, prefix, *rest):
        seen.append(("load", prefix, len(rest)))
        state_dict[prefix + "bias"] = og.full((1,), 5.0)

    def add(module, state_dict, prefix, local_metadata):
        state_dict[prefix + "z"] = local_metadata["version"]

    layer._register_load_state_dict_pre_hook(fill)
    layer.register_load_state_dict_pre_hook(lambda module, *rest: seen.append(("public", module is layer, rest[1])))
    net.register_load_state_dict_post_hook(lambda module, keys: seen.append(("loaded", *keys)) or keys[1].clear())
    net.register_state_dict_pre_hook(lambda module, prefix, keep_vars: seen.append(("save", prefix, keep_vars)))
    handle = layer.register_state_dict_post_hook(add)
    assert loading(net, {"0.weight": og.ones(1, 1), "other": 1}) == FITS and float(layer.bias) == 5
    assert list(net.state_dict()) == ["0.weight", "0.bias", "0.z"]
    handle.remove()
    assert list(net.state_dict()) == ["0.weight", "0.bias"]
    kinds = [entry[0] for entry in seen]
    assert kinds == ["load", "public", "loaded", "save", "save"]
    assert seen[:3] == [("load", "0.", 5), ("public", True, "0."), ("loaded", [], [])]
    layer.register_state_dict_post_hook(lambda *args: {})
    with pytest.raises(RuntimeError, match="post-hook must return None"):
        net.state_dict()
    replaced = nn.Linear(1, 1)
    replaced._register_state_dict_hook(lambda *args: {"only": 1})
    assert replaced.state_dict() == {"only": 1}
    net.register_load_state_dict_post_hook(lambda *args: 1)
    with pytest.raises(RuntimeError, match="must return None"):
        net.load_state_dict({"0.weight": og.ones(1, 1), "0.bias": og.ones(1)})


def test_versions_and_prefixes():
    net = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))
    state = net.state_dict()
    assert state._metadata == {"": {"version": 1}, "0": {"version": 1}, "1": {"version": 2}}
    # A state dict without versions may be one from before batches were counted.
    norm = nn.BatchNorm1d(1)
    new = norm.state_dict()
    old = dict(new)
    del old["num_batches_tracked"], new["num_batches_tracked"]
    assert loading(norm, old) == FITS
    assert loading(norm, new) == ['Missing key(s) in state_dict: "num_batches_tracked".']
    given = {"k": 1}
    assert nn.Linear(1, 1).state_dict(destination=given, prefix="a.") is given
    assert list(given) == ["k", "a.weight", "a.bias"]
    assert loading(norm, {**norm.state_dict(), "num_batches_tracked": og.tensor([3])}) == FITS
    assert int(norm.num_batches_tracked) == 3


def test_assigned_tensors():
    layer = nn.Linear(1, 1)
    layer.weight.requires_grad_(False)
    weight, bias = og.zeros(1, 1, dtype=og.float64), nn.Parameter(og.zeros(1), requires_grad=False)
    assert loading(layer, {"weight": weight, "bias": bias}, assign=True) == FITS
    assert layer.weight.dtype is og.float64 and layer.weight.data_ptr() == weight.data_ptr()
    assert not layer.weight.requires_grad and isinstance(layer.weight, nn.Parameter)
    assert layer.bias is bias and bias.requires_grad
    norm, mean = nn.BatchNorm1d(1), og.full((1,), 2.0)
    norm.load_state_dict({**norm.state_dict(), "running_mean": mean}, assign=True)
    assert norm.running_mean is mean


def tied():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Linear(2, 2))
    net[2].weight = net[0].weight
    return net


def test_assigned_weights_stay_tied_where_the_state_dict_ties_them():
    net = tied()
    # In torch they become two parameters on one memory, each with a gradient of its own.
    net.load_state_dict(net.state_dict(), assign=True)
    assert net[2].weight is net[0].weight
    net.load_state_dict(net.state_dict(keep_vars=True), assign=True)
    assert net[2].weight is net[0].weight
    net.load_state_dict({key: value.clone() for key, value in net.state_dict().items()}, assign=True)
    assert net[2].weight is not net[0].weight


SAME = {"float": (lambda net: net.float()), "cpu": (lambda net: net.cpu()), "train": (lambda net: net.eval())}
CONVERTED = {
    "to": lambda net: net.to(og.float64),
    "to a tensor": lambda net: net.to(og.ones(1, dtype=og.float64)),
    "to a device and a dtype": lambda net: net.to("cpu", og.float64),
    "double": lambda net: net.double(),
    "half": lambda net: net.half(),
    "bfloat16": lambda net: net.bfloat16(),
    "_apply": lambda net: net._apply(lambda tensor: tensor.clone()),
    "_apply of another shape": lambda net: net._apply(lambda tensor: tensor.flatten().repeat(2)),
    "to_empty": lambda net: net.to_empty(device="cpu"),
    "load_state_dict": lambda net: net.load_state_dict({k: v.double() for k, v in net.state_dict().items()}),
    "apply": lambda net: net.apply(lambda module: None),
    "requires_grad_": lambda net: net.requires_grad_(True),
    **SAME,
}
REPLACED = {
    "deepcopy": copy.deepcopy,
    "assign": lambda net: net.load_state_dict(net.state_dict(), assign=True),
    "meta": lambda net: net.to("meta"),
}


def trained():
    net = tied()
    net(og.arange(6.0).reshape(3, 2)).sum().backward()
    return net


@pytest.mark.parametrize("name", CONVERTED)
def test_conversions_keep_the_objects(name):
    net = trained()
    weight, grad, count = net[0].weight, net[0].weight.grad, net[1].num_batches_tracked
    view = weight.detach()[0]
    before = view.tolist()
    CONVERTED[name](net)
    assert net[0].weight is weight and net[2].weight is weight
    assert weight.grad is grad and grad.dtype is weight.dtype and grad.shape == weight.shape
    assert isinstance(weight, nn.Parameter) and weight.requires_grad and weight.is_leaf
    assert net[1].num_batches_tracked.dtype is og.int64
    assert name not in SAME or net[1].num_batches_tracked is count
    # Views of the old elements keep them.
    assert view.dtype is og.float32 and view.tolist() == before


@pytest.mark.parametrize("name", REPLACED)
def test_what_makes_new_parameters_keeps_them_tied(name):
    net = trained()
    weight = net[0].weight
    other = REPLACED[name](net)
    other = other if isinstance(other, nn.Module) else net
    assert other[0].weight is not weight and other[2].weight is other[0].weight
    assert isinstance(other[0].weight, nn.Parameter) and other[0].weight.requires_grad


OPTIMIZERS = {
    "SGD": lambda parameters: og.optim.SGD(parameters, 0.05),
    "SGD with momentum": lambda parameters: og.optim.SGD(parameters, 0.02, momentum=0.9),
    "Adam": lambda parameters: og.optim.Adam(parameters, 0.02, amsgrad=True),
    "AdamW": lambda parameters: og.optim.AdamW(parameters, 0.02),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", ["to", "bfloat16", "_apply", "to_empty", "float"])
def test_optimizers_go_on_with_converted_modules(optimizer, name):
    og.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    steps = OPTIMIZERS[optimizer](net.parameters())
    x = og.arange(8.0).reshape(4, 2) / 8

    def step():
        steps.zero_grad()
        loss = (net(x.to(net[0].weight.dtype)) - 1).square().mean()
        loss.backward()
        steps.step()
        return float(loss)

    step()
    CONVERTED[name](net)
    if name == "to_empty":
        for parameter in net.parameters():
            nn.init.constant_(parameter, 0.1)
    losses = [step() for _ in range(30)]
    assert losses[-1] < 0.6 * losses[0]
    kept = [value for state in steps.state.values() for key, value in state.items() if key != "step"]
    assert {value.dtype for value in kept} <= {net[0].weight.dtype}


def test_graphs_recorded_before_a_conversion_keep_their_elements():
    layer = nn.Linear(2, 1, bias=False)
    weight = layer.weight.tolist()
    x = og.ones(1, 2, requires_grad=True)
    y = layer(x).sum()
    layer.double()
    y.backward()
    assert x.grad.tolist() == weight and x.grad.dtype is og.float32


def test_conversions_to_and_fro_take_no_more_memory():
    layer = nn.Linear(4, 4)
    layer(og.ones(1, 4)).sum().backward()
    seen = set()
    for _ in range(20):
        for dtype in [og.float64, og.bfloat16, og.float32]:
            before = layer.weight.tolist()
            layer.to(dtype)
            assert layer.weight.dtype is dtype and layer.weight.grad.tolist() == [[1.0] * 4] * 4
            assert dtype is og.bfloat16 or layer.weight.tolist() == before
            seen.add((dtype, layer.weight.data_ptr(), layer.weight.grad.data_ptr()))
    assert len(seen) <= 4


def test_modules_apply_their_own_way():
    calls = []

    class Own(nn.Linear):
        def _apply(self, fn, recurse=True):
            calls.append(recurse)
            return super()._apply(fn, recurse)

    net = nn.Sequential(Own(1, 1))
    net.double()
    net._apply(lambda tensor: tensor + 1, recurse=False)
    assert calls == [True] and net[0].weight.dtype is og.float64


def test_optimizers_keep_state_that_belongs_to_no_parameter():
    optimizer = og.optim.SGD([og.ones(1, requires_grad=True)], 0.1)
    state = optimizer.state_dict()
    state["state"]["own"] = {"x": 1}
    optimizer.load_state_dict(state)
    assert optimizer.state_dict()["state"] == {"own": {"x": 1}}
