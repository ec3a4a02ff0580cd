"""Networks: modules as torch's, by numbers that it computed, by what they hold, and by what they say of mistakes."""

import copy
import math
import pickle

import opgrid as og
import pytest
from opgrid import nn
from opgrid.nn import functional as F


def ramp(t, count, start):
    return t.arange(count, dtype=t.float64).mul(0.7).add(start).sin()


def digest(t, model, inputs):
    """One number for the result and for each gradient: their elements, each times another weight, added up."""
    model.double()
    with t.no_grad():
        for place, parameter in enumerate(model.parameters()):
            parameter.copy_(ramp(t, parameter.numel(), place).mul(0.5).view(parameter.shape))
    given = [
        ramp(t, math.prod(x), 2.0 + place).view(x).requires_grad_() if isinstance(x, tuple) else t.tensor(x)
        for place, x in enumerate(inputs)
    ]
    result = model(*given)
    result = result[0] if isinstance(result, tuple) else result
    total = (result * ramp(t, result.numel(), 1.0).view(result.shape)).sum()
    total.backward()
    leaves = [*model.parameters(), *(x for x in given if x.requires_grad)]
    return [float(total), *(float((x.grad * ramp(t, x.grad.numel(), 1.0).view(x.grad.shape)).sum()) for x in leaves)]


# Each case: how the module is made, shapes of inputs (lists are inputs of whole numbers).
CASES = {
    "linear": (lambda n: n.Linear(3, 4), [(2, 3)]),
    "conv1d": (lambda n: n.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), [(2, 4, 7)]),
    "conv1d same": (lambda n: n.Conv1d(2, 3, 4, padding="same", padding_mode="reflect"), [(2, 2, 6)]),
    "conv2d": (lambda n: n.Conv2d(2, 3, (3, 2), padding=1, dilation=(1, 2)), [(2, 2, 5, 4)]),
    "conv2d circular": (lambda n: n.Conv2d(2, 2, 3, padding=(1, 2), padding_mode="circular"), [(1, 2, 4, 5)]),
    "layer norm": (lambda n: n.LayerNorm((2, 3)), [(4, 2, 3)]),
    "rms norm": (lambda n: n.RMSNorm(3, eps=1e-3), [(4, 3)]),
    "group norm": (lambda n: n.GroupNorm(2, 4), [(2, 4, 3)]),
    "batch norm 1d": (lambda n: n.BatchNorm1d(3), [(5, 3)]),
    "batch norm 2d": (lambda n: n.BatchNorm2d(2), [(3, 2, 2, 2)]),
    "embedding": (lambda n: n.Embedding(4, 2, padding_idx=1), [[[0, 1, 3], [3, 2, 0]]]),
    "attention": (lambda n: n.MultiheadAttention(4, 2), [(3, 2, 4), (5, 2, 4), (5, 2, 4)]),
    "attention kdim": (
        lambda n: n.MultiheadAttention(4, 2, kdim=3, vdim=2, batch_first=True),
        [(2, 3, 4), (2, 5, 3), (2, 5, 2)],
    ),
    "encoder layer": (lambda n: n.TransformerEncoderLayer(4, 2, 8, dropout=0.0), [(3, 2, 4)]),
    "encoder layer, norm first": (
        lambda n: n.TransformerEncoderLayer(4, 2, 8, 0.0, "gelu", norm_first=True),
        [(3, 2, 4)],
    ),
    "max pool": (lambda n: n.MaxPool2d(3, 2, 1), [(1, 2, 5, 6)]),
    "mean pool": (lambda n: n.AvgPool2d(2, padding=1, count_include_pad=False), [(1, 2, 5, 6)]),
    "adaptive pool": (lambda n: n.AdaptiveAvgPool2d((2, None)), [(1, 2, 5, 3)]),
    "gelu": (lambda n: n.GELU(), [(2, 5)]),
    "gelu by tanh": (lambda n: n.GELU("tanh"), [(2, 5)]),
    "silu": (lambda n: n.SiLU(), [(2, 5)]),
    "softmax": (lambda n: n.Softmax(1), [(2, 5)]),
    "cross entropy": (lambda n: n.CrossEntropyLoss(label_smoothing=0.1, ignore_index=2), [(4, 3), [0, 2, 1, 1]]),
    "nll": (lambda n: n.NLLLoss(reduction="sum"), [(4, 3), [0, 2, 1, 1]]),
    "mse": (lambda n: n.MSELoss(), [(4, 3), (4, 3)]),
    "yes or no": (lambda n: n.BCEWithLogitsLoss(), [(4, 3), (4, 3)]),
    "sequential": (lambda n: n.Sequential(n.Linear(3, 4), n.Tanh(), n.Flatten(), n.Linear(8, 2)), [(2, 2, 3)]),
}

# By torch 2.15 on a CPU: `digest(torch, make(torch.nn), inputs)`.
EXPECTED = {
    "linear": [0.29445885822783, 0.33010705781703, 0.052921962414532, 0.32701835904827],
    "conv1d": [1.8278986057885, 5.3979071158833, -0.27618599357125, -1.052502014049],
    "conv1d same": [-4.2866863681748, -6.2441762522831, 1.3531416947341, -1.7870321736578],
    "conv2d": [3.8671665146624, -8.8545664182756, 2.5270406693369, 2.0490467207443],
    "conv2d circular": [4.535356244972, 8.4304907381082, 1.8064798022824, 3.4581235940175],
    "layer norm": [3.353941481274, 4.9427559070183, 3.4521382931276, 1.4475577421183],
    "rms norm": [0.9096700039786, 4.446881718863, 2.1041897108272],
    "group norm": [2.3902282335199, 6.841096056862, -0.56900059480696, 3.934400163221],
    "batch norm 1d": [2.3052525979048, 5.6561180589357, 0.89488306389685, 2.3018548793762],
    "batch norm 2d": [0.027401416037887, 1.0640945376354, -0.1736053242779, 1.9931474834885],
    "embedding": [2.1022437076811, 3.9857858688865],
    "attention": [
        0.1848935090576, 0.24388047731679, 0.26004638552498, 0.93830363627536, 1.2840915153229, -0.05042770069172,
        0.19794841174607, 0.11222876660079,
    ],
    "attention kdim": [
        -0.65172170060694, -0.13532895669675, 0.038297979842477, -0.08517393752672, -0.76832599469606,
        -0.14555508017541, 1.2840915153229, -0.051146526921232, 0.049419872693163, -0.0090235633467989,
    ],
    "encoder layer": [
        -1.1651095419997, -1.6753536532952, 0.062150249028718, 0.81922313730642, -0.4651249792801, -0.20695146368721,
        0.2760472657168, 0.46820565402027, -0.80888109804019, -0.3829105587496, -0.741369189905, 1.4739921257638,
        1.2840915153229, -1.819988186979,
    ],
    "encoder layer, norm first": [
        7.9056597566862, 0.10185404934855, 0.25835355599844, 1.0284465133814, 1.2114970453166, 2.3927525927541,
        0.42796242378952, -3.3583241073513, 1.2840915153229, 0.14139861107659, -0.28946367230061, 1.6972063776202,
        1.9078869102665, 11.571179399936,
    ],
    "max pool": [-0.4024347878841, 0.8557488775099],
    "mean pool": [-1.2646875264536, 4.0360879801558],
    "adaptive pool": [0.0062243384841408, 0.013647312818297],
    "gelu": [1.851932415639, 3.0173980252497],
    "gelu by tanh": [1.8518310922197, 3.0171455185057],
    "silu": [1.7695449190291, 2.9006478570938],
    "softmax": [0.81579805020722, 0.58590140090461],
    "cross entropy": [0.83222552232896, 0.044001687210841],
    "nll": [-1.0049817144806, -0.40342008024514],
    "mse": [0.42920322855927, 0.89216160525185, -0.89216160525185],
    "yes or no": [0.48685501601197, 0.35030387797835, -0.24087257225613],
    "sequential": [
        0.13397842805216, 0.14262257569593, -0.76817568352421, 0.64006462334097, 2.3010892620336, 0.30547771680116,
    ],
}


@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_torch(name):
    make, inputs = CASES[name]
    assert digest(og, make(nn), inputs) == pytest.approx(EXPECTED[name], rel=1e-10, abs=1e-10)


# By torch 2.15 on a CPU, after `manual_seed(0)`: the sum of the parameters' sizes, and the last of their elements.
FIRST = {
    "linear": [3.745826, -0.1134871],
    "conv2d": [11.09939, -0.1484477],
    "embedding": [9.222661, -1.071187],
    "attention": [52.54925, 0.3323467],
    "encoder layer": [112.5282, 0.3323467],
}

MADE = {
    "linear": lambda n: n.Linear(3, 4),
    "conv2d": lambda n: n.Conv2d(3, 4, 3),
    "embedding": lambda n: n.Embedding(5, 3, padding_idx=0),
    "attention": lambda n: n.MultiheadAttention(8, 2),
    "encoder layer": lambda n: n.TransformerEncoderLayer(8, 2, 16),
}


def first(t, n, make):
    t.manual_seed(0)
    parameters = list(make(n).parameters())
    return [float(sum(p.detach().abs().sum() for p in parameters)), float(parameters[0].detach().flatten()[-1])]


@pytest.mark.parametrize("name", MADE)
def test_first_numbers_are_those_of_torch(name):
    assert first(og, nn, MADE[name]) == pytest.approx(FIRST[name], rel=1e-5)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.again = self.first
        self.rest = nn.ModuleList([nn.Linear(3, 3, bias=False) for _ in range(2)])
        self.by_name = nn.ModuleDict({"norm": nn.BatchNorm1d(3)})
        self.scale = nn.Parameter(og.ones(1))
        self.register_parameter("nothing", None)
        self.register_buffer("seen", og.zeros(()))
        self.register_buffer("scratch", og.zeros(2), persistent=False)

    def forward(self, x):
        x = self.first(x)
        for layer in self.rest:
            x = layer(x)
        return self.by_name["norm"](x) * self.scale


TEXT = """\
Net(
  (first): Linear(in_features=2, out_features=3, bias=True)
  (again): Linear(in_features=2, out_features=3, bias=True)
  (rest): ModuleList(
    (0-1): 2 x Linear(in_features=3, out_features=3, bias=False)
  )
  (by_name): ModuleDict(
    (norm): BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
  )
)"""

PARAMETERS = [
    "scale",
    "first.weight",
    "first.bias",
    "rest.0.weight",
    "rest.1.weight",
    "by_name.norm.weight",
    "by_name.norm.bias",
]
MODULES = ["Net", "Linear", "ModuleList", "Linear", "Linear", "ModuleDict", "BatchNorm1d"]


def test_modules_know_what_they_hold():
    net = Net()
    assert repr(net) == TEXT
    assert [name for name, _ in net.named_parameters()] == PARAMETERS
    assert [name for name, _ in net.named_parameters(recurse=False)] == ["scale"]
    assert len(list(net.named_parameters(remove_duplicate=False))) == len(PARAMETERS) + 2
    assert all(isinstance(p, nn.Parameter) and p.requires_grad and p.is_leaf for p in net.parameters())
    norm = "by_name.norm"
    buffers = ["seen", "scratch", f"{norm}.running_mean", f"{norm}.running_var", f"{norm}.num_batches_tracked"]
    assert [name for name, _ in net.named_buffers()] == buffers
    assert [name for name, _ in net.named_children()] == ["first", "rest", "by_name"]
    assert [type(module).__name__ for module in net.modules()] == MODULES
    assert net.nothing is None and "scale" in dir(net)
    assert net.get_submodule("rest.1") is net.rest[1]
    assert net.get_parameter("first.bias") is net.first.bias
    assert net.get_buffer("by_name.norm.running_var") is net.by_name["norm"].running_var


def test_attributes_change_kind():
    module = nn.Module()
    module.x = og.ones(2)
    assert list(module.parameters()) == [] and module.x.tolist() == [1.0, 1.0]
    module.x = nn.Parameter(og.zeros(2))
    assert [name for name, _ in module.named_parameters()] == ["x"]
    module.x = nn.Linear(1, 1)
    assert [name for name, _ in module.named_parameters()] == ["x.weight", "x.bias"]
    del module.x
    assert not hasattr(module, "x")
    module.register_buffer("b", og.zeros(1))
    module.b = og.ones(1)
    assert module.state_dict()["b"].tolist() == [1.0]
    module.b = None
    assert list(module.state_dict()) == []


def set_too_early():
    class Early(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    Early()


def with_parameter(value):
    module = nn.Linear(1, 1)
    module.weight = value


def computed():
    module = nn.Module()
    module.register_parameter("p", nn.Parameter(og.ones(1)) * 2)


@pytest.mark.parametrize(
    ("wrong", "kind", "text"),
    [
        (set_too_early, AttributeError, "before Module.__init__() call; call super().__init__() first in Early"),
        (lambda: with_parameter(og.ones(1)), TypeError, "cannot assign 'opgrid.Tensor' object to parameter 'weight'"),
        (lambda: with_parameter(3), TypeError, "'int' object to parameter 'weight' (opgrid.nn.Parameter or None"),
        (computed, TypeError, "cannot assign 'opgrid.Tensor' object to parameter 'p'"),
        (lambda: nn.Module()(1), NotImplementedError, 'Module [Module] is missing the required "forward" function'),
        (lambda: nn.Module().there, AttributeError, "'Module' object has no attribute 'there'"),
        (lambda: nn.Module().register_buffer("a.b", None), KeyError, 'can\'t be empty or contain "."; found "a.b"'),
        (lambda: nn.Linear(1, 1).register_buffer("weight", None), KeyError, "attribute 'weight' already exists"),
        (lambda: nn.Module().register_module("m", 1), TypeError, "int is not a Module subclass"),
        (lambda: nn.Parameter([1.0]), TypeError, "expected a tensor, found list"),
        (lambda: Net().get_submodule("rest.5"), AttributeError, "ModuleList has no attribute `5`"),
        (lambda: Net().train("yes"), ValueError, "training mode is expected to be boolean, found str"),
        (lambda: nn.Linear(1, 1).to(og.int64), TypeError, "floating-point dtypes only, found opgrid.int64"),
        (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "in_channels must be divisible by groups; found 3 and 2"),
        (lambda: nn.Conv2d(3, 4, 3, padding="full"), ValueError, "should be one of 'same', 'valid'"),
        (lambda: nn.Conv1d(3, 4, 3, 2, padding="same"), ValueError, "strided convolutions"),
        (lambda: nn.Conv1d(3, 4, 3, padding_mode="none"), ValueError, "padding_mode must be one of"),
        (lambda: nn.GroupNorm(2, 3), ValueError, "num_channels (3) must be divisible by num_groups (2)"),
        (lambda: nn.BatchNorm2d(3)(og.ones(2, 3)), ValueError, "expected 4D input (got 2D input)"),
        (lambda: nn.BatchNorm1d(3)(og.ones(1, 3)), ValueError, "Expected more than 1 value per channel when training"),
        (lambda: nn.Embedding(3, 2, padding_idx=3), AssertionError, "within num_embeddings (3), found 3"),
        (lambda: nn.Dropout(1.5), ValueError, "between 0 and 1, but got 1.5"),
        (lambda: nn.MSELoss(reduction="all")(og.ones(2), og.ones(2)), ValueError, "all is not a valid value for reduction; expected none"),
        (lambda: nn.BCEWithLogitsLoss()(og.ones(2), og.ones(3)), ValueError, "must be the same as input size"),
        (lambda: nn.MultiheadAttention(6, 4), AssertionError, "embed_dim must be divisible by num_heads; found 6 and 4"),
        (lambda: nn.MultiheadAttention(4, 2)(*[og.ones(2, 3)] * 3), AssertionError, "embedding dimension of 4, but got 3"),
        (lambda: nn.TransformerEncoderLayer(4, 2, activation="tan"), RuntimeError, "should be relu/gelu, not tan"),
        (lambda: nn.ModuleList()[0], IndexError, "index 0 is out of range for ModuleList of 0 modules"),
        (lambda: nn.init.xavier_uniform_(og.ones(2)), ValueError, "fewer than 2 dimensions"),
        (lambda: nn.init.calculate_gain("tan"), ValueError, "Unsupported nonlinearity tan"),
    ],
)
def test_mistakes_are_named(wrong, kind, text):
    with pytest.raises(kind) as raised:
        wrong()
    assert text in raised.value.args[0]


def test_training_and_use_differ():
    net = nn.Sequential(nn.BatchNorm1d(2), nn.Dropout(0.5))
    x = og.tensor([[1.0, 2.0], [3.0, 6.0]])
    assert all(module.training for module in net.modules())
    net(x)
    assert net[0].running_mean.tolist() == pytest.approx([0.2, 0.4])
    assert net[0].running_var.tolist() == pytest.approx([1.1, 1.7])
    assert net[0].num_batches_tracked.item() == 1
    net.eval()
    assert not any(module.training for module in net.modules())
    assert net(x).tolist() == net(x).tolist()
    assert net[0].num_batches_tracked.item() == 1
    dropped = F.dropout(og.ones(1000), 0.5)
    assert set(dropped.tolist()) == {0.0, 2.0} and 400 < int((dropped == 0).sum()) < 600
    assert F.dropout(x, 0.5, training=False).tolist() == x.tolist()


def test_gradients_of_modules():
    net = nn.Linear(2, 1)
    net(og.ones(3, 2)).sum().backward()
    assert net.weight.grad.tolist() == [[3.0, 3.0]] and net.bias.grad.tolist() == [3.0]
    net.zero_grad(set_to_none=False)
    assert net.weight.grad.tolist() == [[0.0, 0.0]]
    net.zero_grad()
    assert net.weight.grad is None
    net.requires_grad_(False)
    assert not net(og.ones(1, 2)).requires_grad


def test_modules_are_converted():
    net = Net()
    net(og.ones(4, 2)).sum().backward()
    tied = nn.Sequential(net.first, net.first)
    tied[1].weight = tied[0].weight
    assert net.to(og.float64) is net
    assert {p.dtype for p in net.parameters()} == {og.float64}
    assert net.first.weight is tied[1].weight and net.first.weight.grad.dtype is og.float64
    assert net.by_name["norm"].num_batches_tracked.dtype is og.int64
    assert net(og.ones(4, 2, dtype=og.float64)).dtype is og.float64
    weight = net.first.weight
    assert net.double().first.weight is weight
    assert isinstance(net.float().first.weight, nn.Parameter)
    assert net.to("meta").first.weight.is_meta


def test_state_dicts():
    net, other = Net(), Net()
    state = net.state_dict()
    assert "seen" in state and "scratch" not in state and "again.weight" in state
    assert not any(tensor.requires_grad for tensor in state.values())
    assert repr(other.load_state_dict(state)) == "<All keys matched successfully>"
    x = og.ones(3, 2)
    assert other(x).tolist() == net(x).tolist()
    assert other.first.weight is not net.first.weight and other.first.weight.requires_grad
    with og.no_grad():
        state["scale"].fill_(7)
    assert net.scale.tolist() == [7.0] and other.scale.tolist() == [1.0]
    assert net.state_dict(prefix="net.", keep_vars=True)["net.scale"] is net.scale


WRONG_STATE = """\
Error(s) in loading state_dict for Linear:
	Missing key(s) in state_dict: "bias".
	Unexpected key(s) in state_dict: "b", "c".
	strict=False leaves missing and unexpected keys out.
	size mismatch for weight: copying a param with shape opgrid.Size([3, 2]) from checkpoint, \
the shape in current model is opgrid.Size([2, 3])."""


def test_state_dicts_that_do_not_fit():
    layer = nn.Linear(3, 2)
    before = layer.weight.tolist()
    with pytest.raises(RuntimeError) as raised:
        layer.load_state_dict({"weight": og.ones(3, 2), "b": og.ones(1), "c": og.ones(1)})
    assert str(raised.value) == WRONG_STATE
    assert layer.weight.tolist() == before
    with pytest.raises(RuntimeError, match="expected a tensor, found int"):
        layer.load_state_dict({"weight": 1}, strict=False)
    with pytest.raises(TypeError, match="dict-like, found list"):
        layer.load_state_dict([])
    loaded = layer.load_state_dict({"weight": og.ones(2, 3), "other": og.ones(1)}, strict=False)
    assert loaded == (["bias"], ["other"]) and layer.weight.tolist() == [[1.0] * 3] * 2
    weight = og.zeros(2, 3, dtype=og.float64)
    layer.load_state_dict({"weight": weight, "bias": og.zeros(2)}, assign=True)
    assert layer.weight.dtype is og.float64 and layer.weight.requires_grad


def test_state_dicts_in_files(tmp_path):
    net, other = Net(), Net()
    net(og.ones(4, 2))
    og.save(net.state_dict(), tmp_path / "net.safetensors")
    loaded = og.load(tmp_path / "net.safetensors")
    assert set(loaded) == set(net.state_dict())
    other.load_state_dict(loaded)
    written = net.state_dict()
    assert all(tensor.tolist() == written[name].tolist() for name, tensor in other.state_dict().items())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
def test_copies_of_modules(copied):
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    net[0].bias.requires_grad_(False)
    other = copied(net)
    assert [name for name, _ in other.named_parameters()] == [name for name, _ in net.named_parameters()]
    assert all(isinstance(p, nn.Parameter) for p in other.parameters())
    assert [p.requires_grad for p in other.parameters()] == [True, False, True, True]
    assert other[0].weight is not net[0].weight
    assert other.eval()(og.ones(1, 2)).tolist() == net.eval()(og.ones(1, 2)).tolist()


def test_hooks():
    layer, seen = nn.Linear(1, 1), []
    before = layer.register_forward_pre_hook(lambda module, args: (args[0] * 0,))
    after = layer.register_forward_hook(lambda module, args, result: seen.append((args[0].tolist(), result.tolist())))
    bias = layer.bias.tolist()
    layer(og.ones(1))
    assert seen == [([0.0], bias)]
    before.remove()
    with layer.register_forward_hook(lambda module, args, result: result * 0, prepend=True):
        assert layer(og.ones(1)).tolist() == [0.0]
    assert seen[1] == ([1.0], [0.0])
    after.remove()
    layer(og.ones(1))
    assert len(seen) == 2
    layer.register_forward_pre_hook(lambda module, args, kwargs: ((kwargs["input"],), {}), with_kwargs=True)
    layer.register_forward_hook(lambda module, args, kwargs, result: (result, kwargs), with_kwargs=True)
    assert layer(input=og.ones(1))[1] == {}


def test_containers():
    a, b, c = nn.ReLU(), nn.Tanh(), nn.Sigmoid()
    row = nn.Sequential(a, b)
    row.append(c)
    assert list(row) == [a, b, c] and row[-1] is c and len(row) == 3
    assert list(row[1:]._modules) == ["1", "2"] and list(nn.ModuleList(row)[1:]._modules) == ["0", "1"]
    del row[0]
    assert list(row._modules) == ["0", "1"]
    assert row.insert(0, a)[0] is a and row.pop(0) is a
    assert list(nn.Sequential({"one": a, "two": b})._modules) == ["one", "two"]
    names = nn.ModuleDict({"a": a})
    names["b"] = b
    assert list(names) == ["a", "b"] and "a" in names and names.pop("a") is a and list(names.values()) == [b]
    seen = []
    nn.Sequential(a, nn.Sequential(b)).apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["ReLU", "Tanh", "Sequential", "Sequential"]


def test_attention_with_masks():
    attention = nn.MultiheadAttention(4, 2)
    x = og.randn(3, 2, 4)
    causal = og.ones(3, 3, dtype=og.bool).triu(1)
    result, weights = attention(x, x, x, attn_mask=causal)
    assert weights.shape == (2, 3, 3) and weights.triu(1).abs().sum().item() == 0
    assert weights.sum(-1).flatten().tolist() == pytest.approx([1.0] * 6)
    faster, none = attention(x, x, x, attn_mask=causal, need_weights=False, is_causal=True)
    assert none is None and og.allclose(result, faster, atol=1e-6)
    padded = og.tensor([[False, False, True], [False, False, False]])
    _, weights = attention(x, x, x, key_padding_mask=padded, average_attn_weights=False)
    assert weights.shape == (2, 2, 3, 3) and weights[0, :, :, 2].abs().sum().item() == 0
    with pytest.raises(RuntimeError, match=r"attn_mask is \[2, 3\], but should be \[3, 3\] or \[4, 3, 3\]"):
        attention(x, x, x, attn_mask=causal[1:])


def test_embeddings():
    table = nn.Embedding(3, 2, padding_idx=-1)
    assert table.padding_idx == 2 and table.weight[2].tolist() == [0.0, 0.0]
    table(og.tensor([0, 2, 2])).sum().backward()
    assert table.weight.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    fixed = nn.Embedding.from_pretrained(og.tensor([[3.0, 4.0], [0.3, 0.4]]))
    assert not fixed.weight.requires_grad
    fixed.max_norm = 1.0
    assert fixed(og.tensor([0])).tolist()[0] == pytest.approx([0.6, 0.8], abs=1e-5)


def test_clipping():
    a, b = og.ones(2, requires_grad=True), og.ones(1, requires_grad=True)
    (3 * a.sum() + 4 * b.sum()).backward()
    norm = nn.utils.clip_grad_norm_([a, b], 1.0)
    assert norm.item() == pytest.approx(math.sqrt(34))
    clipped = [*a.grad.tolist(), *b.grad.tolist()]
    assert clipped == pytest.approx([3 / math.sqrt(34)] * 2 + [4 / math.sqrt(34)], rel=1e-5)
    assert nn.utils.clip_grad_norm_([a, b], 10.0).item() == pytest.approx(1.0, rel=1e-5)
    nn.utils.clip_grad_value_([a, b], 0.6)
    assert max(a.grad.tolist() + b.grad.tolist()) == pytest.approx(0.6)
    a.grad.fill_(math.inf)
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_([a, b], 1.0, error_if_nonfinite=True)
    vector = nn.utils.parameters_to_vector([a, b])
    nn.utils.vector_to_parameters(vector * 2, [a, b])
    assert a.tolist() == [2.0, 2.0] and b.tolist() == [2.0] and a.requires_grad


def test_functions_write_in_place():
    x = og.tensor([-1.0, 2.0])
    assert F.relu(x, inplace=True) is x and x.tolist() == [0.0, 2.0]
    assert nn.ReLU(inplace=True).extra_repr() == "inplace=True"
    assert F.normalize(og.tensor([[3.0, 4.0]])).tolist()[0] == pytest.approx([0.6, 0.8])


def test_alignments_of_sequences():
    log_probs = F.log_softmax(ramp(og, 24, 1.0).view(4, 2, 3), -1)
    padded, joined = og.tensor([[1, 2], [2, 0]]), og.tensor([1, 2, 2])
    each = F.ctc_loss(log_probs, padded, [4, 3], [2, 1], reduction="none")
    assert og.allclose(each, F.ctc_loss(log_probs, joined, og.tensor([4, 3]), og.tensor([2, 1]), reduction="none"))
    # By all alignments of the second sequence, whose one label is 2.
    steps = log_probs[:3, 1].exp()
    alignments = [(2, 2, 2), (0, 2, 2), (2, 2, 0), (0, 2, 0), (0, 0, 2), (2, 0, 0)]
    likely = sum(float(steps[0, a] * steps[1, b] * steps[2, c]) for a, b, c in alignments)
    assert float(each[1]) == pytest.approx(-math.log(likely))
    mean = nn.CTCLoss()(log_probs, padded, [4, 3], [2, 1])
    assert float(mean) == pytest.approx(float((each[0] / 2 + each[1]) / 2))
    assert nn.CTCLoss(reduction="sum")(log_probs[:, 0], joined[:2], [4], [2]).shape == ()
    assert float(F.ctc_loss(log_probs, padded, [1, 1], [2, 1], reduction="sum")) == math.inf
    single = F.ctc_loss(log_probs[:1], padded, [1, 1], [2, 1], reduction="none", zero_infinity=True)
    assert single.tolist() == pytest.approx([0.0, -float(log_probs[0, 1, 2])])


def test_margins_of_several_classes():
    scores = og.tensor([[0.5, 0.25, -1.0], [2.0, 0.0, 1.5]])
    targets = og.tensor([1, 0])
    assert F.multi_margin_loss(scores, targets, reduction="none").tolist() == pytest.approx([1.25 / 3, 0.5 / 3])
    weight = og.tensor([2.0, 1.0, 1.0])
    squares = nn.MultiMarginLoss(2, 1.0, weight, reduction="sum")(scores, targets)
    assert float(squares) == pytest.approx((1.25**2 + 2 * 0.25) / 3)
    labels = og.tensor([[1, -1, 0], [0, 2, -1]])
    each = F.multilabel_margin_loss(scores, labels, reduction="none")
    assert each.tolist() == pytest.approx([1.25 / 3, 0.0])
    assert float(nn.MultiLabelMarginLoss()(scores, labels)) == pytest.approx(float(each.mean()))
    ones = og.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 1.0]])
    soft = nn.MultiLabelSoftMarginLoss()(scores, ones)
    assert float(soft) == pytest.approx(float(F.binary_cross_entropy_with_logits(scores, ones)))
    for wrong in (lambda: nn.MultiMarginLoss(3), lambda: F.multi_margin_loss(scores, targets, 1, 1.0, weight[None])):
        with pytest.raises(ValueError, match="expected"):
            wrong()


def test_channels_are_dropped_as_one():
    x = og.ones(4, 50, 3, 2)
    og.manual_seed(1)
    for module in (nn.Dropout2d(0.25), nn.FeatureAlphaDropout(0.25)):
        dropped = module(x)
        assert og.equal(dropped, dropped[:, :, :1, :1].expand_as(dropped))
        assert len({round(value, 3) for value in dropped.flatten().tolist()}) == 2
        assert module.eval()(x) is x
    assert nn.Dropout1d(0.5)(x[0, :, :, 0]).shape == (50, 3)
    assert nn.Dropout3d(0.5)(x).shape == x.shape
    normal = og.randn(20000)
    alpha = nn.AlphaDropout(0.3)(normal)
    assert abs(float(alpha.mean())) < 0.05 and abs(float(alpha.std()) - 1) < 0.05
    with pytest.raises(RuntimeError, match="dropout1d"):
        F.dropout1d(x)


def test_random_slopes():
    x = og.tensor([-1.0, 2.0, -3.0])
    module = nn.RReLU(0.25, 0.75)
    assert module.eval()(x).tolist() == [-0.5, 2.0, -1.5]
    module.train()
    slopes = (module(x) / x).tolist()
    assert slopes[1] == 1 and all(0.25 <= slope < 0.75 for slope in slopes[::2])
    x.requires_grad_()
    og.manual_seed(3)
    result = module(x)
    result.sum().backward()
    assert og.allclose(x.grad * x.detach(), result.detach())


def test_unpooling_puts_maxima_back():
    x = og.tensor([[[[1.0, 2.0, 0.0, 0.0], [3.0, 0.0, 0.0, 5.0], [0.0, 0.0, 4.0, 0.0], [6.0, 0.0, 0.0, 0.0]]]])
    maxima, places = nn.MaxPool2d(2, return_indices=True)(x)
    assert og.equal(nn.MaxUnpool2d(2)(maxima, places), x * (x >= 3))
    assert nn.MaxUnpool2d(2)(maxima, places, (1, 1, 5, 5)).shape == (1, 1, 5, 5)
    line, places = nn.MaxPool1d(2, return_indices=True)(x[0, 0])
    assert nn.MaxUnpool1d(2)(line, places).shape == (4, 4)
    volume, places = nn.MaxPool3d(2, return_indices=True)(x.expand(1, 2, 2, 4, 4))
    assert nn.MaxUnpool3d(2)(volume, places).shape == (1, 2, 2, 4, 4)
    with pytest.raises(ValueError, match="output_size"):
        F.max_unpool2d(maxima, places, 2, output_size=(9, 4))


def test_windows_at_random_places():
    x = ramp(og, 49, 1.0).view(1, 1, 7, 7)
    samples = og.tensor([[[0.5, 0.25]]], dtype=og.float64)
    maxima, places = F.fractional_max_pool2d(x, 2, 3, return_indices=True, _random_samples=samples)
    assert maxima.shape == (1, 1, 3, 3) and og.equal(x.flatten()[places.flatten()], maxima.flatten())
    assert nn.FractionalMaxPool2d(3, output_ratio=0.5)(x).shape == (1, 1, 3, 3)
    assert nn.FractionalMaxPool3d(2, output_size=(2, 3, 3))(x.expand(1, 4, 7, 7)).shape == (1, 2, 3, 3)
    with pytest.raises(ValueError, match="either"):
        nn.FractionalMaxPool2d(2)


def test_sequences_are_padded():
    sequences = [og.tensor([1.0, 2.0]), og.tensor([3.0])]
    assert nn.utils.rnn.pad_sequence(sequences).tolist() == [[1.0, 3.0], [2.0, 0.0]]
    left = nn.utils.rnn.pad_sequence(iter(sequences), True, -1.0, "left")
    assert left.tolist() == [[1.0, 2.0], [-1.0, 3.0]]
