"""Hooks of modules, parametrizations and the other tools for networks."""

import copy
import pickle
import warnings

import opgrid as og
import pytest
from opgrid import nn
from opgrid.nn import utils
from opgrid.nn.utils import parametrizations, parametrize


def linear(*rows):
    made = nn.Linear(len(rows[0]), len(rows), bias=False)
    with og.no_grad():
        made.weight.copy_(og.tensor(rows))
    return made


def test_hooks_see_gradients_and_replace_them():
    seen = []
    layer = linear([2.0, 0.0], [0.0, 3.0])
    layer.register_full_backward_pre_hook(lambda module, out: (out[0] * 10,))
    layer.register_full_backward_hook(lambda module, into, out: seen.append((into, out)) or (into[0] + 1,))
    x = og.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    (into, out), = seen
    assert into[0].tolist() == [[20.0, 30.0]] and out[0].tolist() == [[10.0, 10.0]]
    assert x.grad.tolist() == [[21.0, 31.0]] and layer.weight.grad.tolist() == [[10.0, 10.0], [10.0, 10.0]]


def test_hooks_are_called_without_gradients_of_inputs():
    seen = []
    layer = linear([2.0, 0.0])
    handle = layer.register_full_backward_hook(lambda module, into, out: seen.append((into, out[0].tolist())))
    layer(og.ones(1, 2)).sum().backward()
    assert seen == [((None,), [[1.0]])]
    handle.remove()
    layer(og.ones(1, 2)).sum().backward()
    assert len(seen) == 1
    layer.register_full_backward_hook(lambda module, into, out: (into[0], into[0]))
    with pytest.raises(RuntimeError, match="returned 2 gradients, expected 1"):
        layer(og.ones(1, 2, requires_grad=True)).sum().backward()


def test_hooks_after_an_error():
    seen = []
    layer = linear([2.0, 0.0])
    layer.register_forward_hook(lambda module, args, result: seen.append(result), always_call=True)
    layer.register_forward_hook(lambda module, args, result: seen.append("never"))
    with pytest.raises(RuntimeError):
        layer(og.ones(3))
    assert seen == [None]


def test_hooks_of_copies_are_their_own():
    layer = linear([2.0, 0.0])
    layer.handle = layer.register_forward_hook(lambda module, args, result: result + 1)
    other = copy.deepcopy(layer)
    other.handle.remove()
    assert layer(og.ones(2)).tolist() == [3.0] and other(og.ones(2)).tolist() == [2.0]


def test_buffers_are_assigned():
    module = nn.Module()
    module.kept = nn.Buffer(og.ones(2))
    module.left = nn.Buffer(og.ones(2), persistent=False)
    assert list(module.state_dict()) == ["kept"] and [name for name, _ in module.named_buffers()] == ["kept", "left"]
    module.kept = og.zeros(2)
    assert module.get_buffer("kept").tolist() == [0.0, 0.0] and list(module.parameters()) == []


def test_submodules_are_replaced():
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU()))
    net.set_submodule("1.0", nn.Tanh())
    assert type(net[1][0]) is nn.Tanh
    with pytest.raises(AttributeError, match="has no attribute `third`"):
        net.set_submodule("third", nn.Tanh(), strict=True)
    with pytest.raises(ValueError, match="target is empty"):
        net.set_submodule("", nn.Tanh())


def test_parameters_say_what_they_are():
    assert repr(nn.Parameter(og.ones(1))) == "Parameter containing:\ntensor([1.], requires_grad=True)"
    assert repr(og.ones(1)) == "tensor([1.])"


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).T

    def right_inverse(self, w):
        return w.triu()


def test_parametrized_weights():
    layer = linear([1.0, 2.0], [3.0, 4.0])
    assert parametrize.register_parametrization(layer, "weight", Symmetric()) is layer
    assert layer.weight.tolist() == [[1.0, 2.0], [2.0, 4.0]] and list(layer.state_dict()) == ["parametrizations.weight.original"]
    assert type(layer).__name__ == "ParametrizedLinear" and parametrize.type_before_parametrizations(layer) is nn.Linear
    layer(og.ones(1, 2)).sum().backward()
    assert layer.parametrizations.weight.original.grad.tolist() == [[1.0, 2.0], [0.0, 1.0]]
    layer.weight = og.tensor([[5.0, 6.0], [6.0, 7.0]])
    assert layer.weight.tolist() == [[5.0, 6.0], [6.0, 7.0]]
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight
    other = copy.deepcopy(layer)
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and isinstance(layer.weight, nn.Parameter) and layer.weight[1, 0] == 6.0
    assert other.weight.tolist() == layer.weight.tolist() and parametrize.is_parametrized(other, "weight")
    with pytest.raises(RuntimeError, match="save and load its state_dict"):
        pickle.dumps(other)
    with pytest.raises(ValueError, match=r"has shape \[4\], expected \[2, 2\]; unsafe=True"):
        parametrize.register_parametrization(nn.Linear(2, 2), "weight", nn.Flatten(0))


@pytest.mark.parametrize("how", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("sizes", [(3, 3), (3, 5), (5, 3)])
def test_orthogonal_weights(how, sizes):
    layer = parametrizations.orthogonal(nn.Linear(*sizes).double(), orthogonal_map=how)
    optimizer = og.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        w = layer.weight
        gram = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
        assert og.allclose(gram, og.eye(3, dtype=og.float64), atol=1e-9)
        layer(og.ones(2, sizes[0], dtype=og.float64)).square().sum().backward()
        optimizer.step()
    wanted = layer.weight.detach().flip(0)
    layer.weight = wanted
    assert og.allclose(layer.weight, wanted, atol=1e-9)


def test_weight_norms_of_both_kinds():
    rows = [[3.0, 4.0], [0.0, 2.0]]
    newer = parametrizations.weight_norm(linear(*rows))
    assert newer.parametrizations.weight.original0.tolist() == [[5.0], [2.0]] and og.allclose(newer.weight, og.tensor(rows))
    with pytest.warns(FutureWarning, match="use nn.utils.parametrizations.weight_norm"):
        older = utils.weight_norm(linear([6.0, 8.0], [0.0, 1.0]))
    assert list(older.state_dict()) == ["weight_g", "weight_v"]
    newer.load_state_dict(older.state_dict())
    assert newer.weight.tolist() == [[6.0, 8.0], [0.0, 1.0]] and newer(og.ones(2)).tolist() == older(og.ones(2)).tolist()
    with warnings.catch_warnings(), pytest.raises(RuntimeError, match="two WeightNorm hooks"):
        warnings.simplefilter("ignore")
        utils.weight_norm(older)
    utils.remove_weight_norm(older)
    assert isinstance(older.weight, nn.Parameter) and list(older.state_dict()) == ["weight"]


@pytest.mark.parametrize("make", [parametrizations.spectral_norm, utils.spectral_norm])
def test_spectral_norms(make):
    og.manual_seed(0)
    layer = make(linear([3.0, 0.0], [0.0, 1.0]))
    for _ in range(20):
        layer(og.ones(2))
    assert float(og.linalg.matrix_norm(layer.weight.detach(), 2)) == pytest.approx(1.0, abs=1e-5)
    layer.eval()
    assert layer(og.ones(2)).tolist() == layer(og.ones(2)).tolist()


def test_batch_norm_is_part_of_the_layer_before_it():
    og.manual_seed(0)
    for layer, norm, x in (
        (nn.Conv2d(2, 3, 2, bias=False), nn.BatchNorm2d(3), og.randn(4, 2, 3, 3)),
        (nn.ConvTranspose2d(2, 3, 2), nn.BatchNorm2d(3), og.randn(4, 2, 3, 3)),
        (nn.Linear(2, 3), nn.BatchNorm1d(3), og.randn(4, 2)),
    ):
        norm(layer(x))
        layer, norm = layer.eval(), norm.eval()
        is_linear = isinstance(layer, nn.Linear)
        more = () if is_linear else (isinstance(layer, nn.ConvTranspose2d),)
        fuse = utils.fuse_linear_bn_eval if is_linear else utils.fuse_conv_bn_eval
        assert og.allclose(fuse(layer, norm, *more)(x), norm(layer(x)), atol=1e-5)
    with pytest.raises(AssertionError, match="only for eval"):
        utils.fuse_linear_bn_eval(nn.Linear(2, 3), nn.BatchNorm1d(3))


def test_gradients_are_clipped_by_a_norm_that_is_given():
    weight = og.zeros(2, requires_grad=True)
    (weight * og.tensor([3.0, 4.0])).sum().backward()
    assert float(utils.get_total_norm(weight.grad)) == 5.0
    utils.clip_grads_with_norm_(weight, 1.0, og.tensor(10.0))
    assert weight.grad.tolist() == pytest.approx([0.3, 0.4])
    assert float(utils.clip_grad_norm_([weight], 0.25, foreach=True)) == pytest.approx(0.5)
    assert weight.grad.tolist() == pytest.approx([0.15, 0.2], rel=1e-5)


def test_modules_without_initial_values():
    og.manual_seed(0)
    expected = og.rand(2).tolist()
    og.manual_seed(0)
    layer = utils.skip_init(nn.Linear, 2, out_features=3)
    assert layer.weight.shape == (3, 2) and layer.weight.device.type == "cpu" and isinstance(layer.weight, nn.Parameter)
    assert og.rand(2).tolist() == expected
    with pytest.raises(RuntimeError, match="takes no device"):
        utils.skip_init(nn.ReLU)


def test_one_process_synchronizes_with_itself():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3, momentum=0.3))
    before = net[1].weight
    net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert isinstance(net[1], nn.SyncBatchNorm) and net[1].weight is before and net[1].momentum == 0.3
    assert net(og.ones(4, 2)).shape == (4, 3)


def test_torchs_places_of_classes():
    from opgrid.nn.modules.batchnorm import _BatchNorm
    from opgrid.nn.modules.utils import _pair, consume_prefix_in_state_dict_if_present

    assert isinstance(nn.BatchNorm2d(3), _BatchNorm) and nn.modules.conv.Conv2d is nn.Conv2d and nn.modules.Linear is nn.Linear
    assert _pair(3) == (3, 3) and _pair((1, 2)) == (1, 2)
    state = nn.DataParallel(nn.Linear(2, 3)).state_dict()
    assert list(state) == ["module.weight", "module.bias"]
    consume_prefix_in_state_dict_if_present(state, "module.")
    assert nn.Linear(2, 3).load_state_dict(state).missing_keys == []


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_of_convolutions(dims):
    og.manual_seed(0)
    x, w = (og.randn(*shape, *[size] * dims, requires_grad=True) for shape, size in (((2, 4), 5), ((6, 2), 3)))
    settings = (2, 1, 1, 2)
    y = getattr(nn.functional, f"conv{dims}d")(x, w, None, *settings)
    out = og.randn(*y.shape)
    by_x, by_w = og.autograd.grad(y, [x, w], [out])
    assert og.allclose(getattr(nn.grad, f"conv{dims}d_input")(x.shape, w, out, *settings), by_x, atol=1e-5)
    assert og.allclose(getattr(nn.grad, f"conv{dims}d_weight")(x, w.shape, out, *settings), by_w, atol=1e-5)


def test_hooks_of_all_modules_run_before_those_of_one():
    seen = []
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    model[0].register_forward_hook(lambda module, args, result: seen.append("own"))
    everywhere = nn.modules.module
    handles = [
        everywhere.register_module_forward_pre_hook(lambda module, args: seen.append(f"before {type(module).__name__}")),
        everywhere.register_module_forward_hook(lambda module, args, result: result * 2 if isinstance(module, nn.ReLU) else seen.append("all")),
        everywhere.register_module_full_backward_hook(lambda module, *grads: seen.append(f"back {type(module).__name__}")),
    ]
    x = og.ones(1, 2, requires_grad=True)
    doubled = model(x)
    doubled.sum().backward()
    assert seen[:6] == ["before Sequential", "before Linear", "all", "own", "before ReLU", "all"]
    assert sorted(seen[6:]) == ["back Linear", "back ReLU", "back Sequential"]
    for handle in handles:
        handle.remove()
    seen.clear()
    assert og.equal(model(x) * 2, doubled) and seen == ["own"]


def test_parameters_of_derived_classes_are_of_their_class():
    class Scaled(nn.Parameter):
        def doubled(self):
            return self * 2

    scaled, plain = Scaled(og.ones(2)), nn.Parameter(og.ones(2))
    assert type(scaled) is Scaled and isinstance(scaled, nn.Parameter) and scaled.requires_grad and scaled.is_leaf
    assert isinstance(scaled, Scaled) and not isinstance(plain, Scaled)
    assert type(scaled.doubled()) is og.Tensor and scaled.detach().data_ptr() == scaled.data_ptr()
    module = nn.Module()
    module.weight = scaled
    assert [type(p) for p in module.parameters()] == [Scaled] and module.state_dict()["weight"].tolist() == [1.0, 1.0]
    og.optim.SGD(module.parameters(), lr=0.5).step((lambda: scaled.doubled().sum().backward()))
    assert scaled.tolist() == [0.0, 0.0] and type(copy.deepcopy(module).weight) is Scaled
