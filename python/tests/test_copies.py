"""Copies of tensors: what `copy.copy`, `copy.deepcopy` and pickles keep, for every kind of tensor."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

import opgrid as og
from opgrid import nn


class Named(og.Tensor):
    pass


class Slotted(og.Tensor):
    __slots__ = ("__private", "own")

    def hide(self, value):
        self.__private = value

    def hidden(self):
        return self.__private


class Stated(og.Tensor):
    def __getstate__(self):
        return {"twice": self.once * 2}

    def __setstate__(self, state):
        self.once = state["twice"] // 2


class Wrapped(og.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return og.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def unwrapped(value):
            return value.inner if isinstance(value, Wrapped) else value

        result = func(*map(unwrapped, args), **{name: unwrapped(value) for name, value in (kwargs or {}).items()})
        return Wrapped(result) if isinstance(result, og.Tensor) else result


def through_pickle(value, protocol=pickle.DEFAULT_PROTOCOL):
    return pickle.loads(pickle.dumps(value, protocol))


WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": through_pickle,
    **{f"pickle {protocol}": lambda value, protocol=protocol: through_pickle(value, protocol) for protocol in (2, 4, 5)},
}


def with_note(x):
    x.note = ["kept"]
    return x


def slotted():
    x = og.ones(2).as_subclass(Slotted)
    x.own = 5
    x.hide(6)
    return x


def stated():
    x = og.ones(2).as_subclass(Stated)
    x.once = 3
    return x


# Each makes a tensor, and says what more there is to compare.
KINDS = {
    "plain": lambda: og.arange(6.0).reshape(2, 3),
    "attribute": lambda: with_note(og.ones(2)),
    "leaf": lambda: with_note(og.ones(2, requires_grad=True)),
    "parameter": lambda: with_note(nn.Parameter(og.ones(2))),
    "frozen parameter": lambda: nn.Parameter(og.ones(2), requires_grad=False),
    "subclass": lambda: with_note(og.ones(2).as_subclass(Named)),
    "subclass that is a parameter": lambda: with_note(nn.Parameter(og.ones(2).as_subclass(Named))),
    "slots": slotted,
    "state of its own": stated,
    "wrapper": lambda: with_note(Wrapped(og.arange(3.0))),
    "transposed": lambda: og.arange(6.0).reshape(2, 3).T,
    "stride of zero": lambda: og.ones(1).expand(5),
    "offset and gaps": lambda: og.arange(10)[2:8:2],
    "backwards in memory": lambda: og.arange(6.0).as_strided((2, 2), (1, 3), 1),
    "empty": lambda: og.zeros(0, 3),
    "number": lambda: og.tensor(3.5),
    "bool": lambda: og.tensor([True, False]),
    "bfloat16": lambda: og.tensor([1.5, 2.5]).to(og.bfloat16),
    "complex": lambda: og.tensor([1 + 2j, 3 - 4j]),
    "conjugate": lambda: og.tensor([1 + 2j, 3 - 4j]).conj(),
    "imaginary part": lambda: og.view_as_real(og.tensor([1 + 2j, 3 - 4j]))[:, 1],
    "meta": lambda: og.empty(2, 3, device="meta").T,
    "meta with a stride of zero": lambda: og.empty(1, device="meta").expand(4),
}


def described(x):
    described = {
        "class": type(x),
        "parameter": isinstance(x, nn.Parameter),
        "dtype": x.dtype,
        "device": x.device,
        "shape": tuple(x.shape),
        "stride": x.stride(),
        "offset": x.storage_offset(),
        "requires_grad": x.requires_grad,
        "leaf": x.is_leaf,
        "note": getattr(x, "note", None),
        "own": getattr(x, "own", None),
        "once": getattr(x, "once", None),
    }
    if isinstance(x, Wrapped):
        described["inner"] = x.inner.tolist()
    elif not x.is_meta:
        described["elements"], described["bytes"] = x.tolist(), x.untyped_storage().nbytes()
    return described


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_copies_keep_what_a_tensor_is(kind, way):
    x = KINDS[kind]()
    y = WAYS[way](x)
    assert y is not x
    assert described(y) == described(x)
    if isinstance(x, Slotted):
        assert y.hidden() == 6
    if not x.is_meta and not isinstance(x, Wrapped) and x.numel() > 0:
        assert (y.data_ptr() == x.data_ptr()) == (way == "copy")
    if hasattr(x, "note"):
        assert (y.note is x.note) == (way == "copy")
    if isinstance(x, Wrapped):
        assert (y.inner is x.inner) == (way == "copy")
        assert isinstance(y + 1, Wrapped)


@pytest.mark.parametrize("kind", KINDS)
def test_deep_copies_are_made_once(kind):
    x = KINDS[kind]()
    first, second = copy.deepcopy([x, x])
    assert first is second and first is not x


def test_tensors_that_share_memory_share_it_in_a_deep_copy():
    base = og.zeros(4)
    a, b, c, d = copy.deepcopy([base, base[1:], base.detach(), base.view(og.int32)])
    a[1] = 3.0
    assert (b[0].item(), c[1].item(), base.tolist()) == (3.0, 3.0, [0.0] * 4)
    assert d[1].item() == 0x40400000
    pairs = og.ones(2, dtype=og.complex64)
    whole, parts = copy.deepcopy([pairs, og.view_as_real(pairs)])
    parts.zero_()
    assert whole.tolist() == [0, 0] and pairs.tolist() == [1, 1]
    one, other = copy.deepcopy([og.ones(2), og.ones(2)])
    one.zero_()
    assert other.tolist() == [1.0, 1.0]
    leaf, detached = copy.deepcopy((lambda x: [x, x.detach()])(og.ones(2, requires_grad=True)))
    detached.zero_()
    assert leaf.tolist() == [0.0, 0.0] and leaf.is_leaf and leaf.requires_grad


def test_gradients_go_along_with_deep_copies_of_tensors():
    x = og.ones(1, requires_grad=True)
    (x * 3).sum().backward()
    x.grad.note = "kept"
    y = copy.deepcopy(x)
    assert y.grad.tolist() == [3.0] and y.grad is not x.grad
    y.grad.zero_()
    assert x.grad.tolist() == [3.0]
    for way in (copy.copy, through_pickle):
        assert way(x).grad is None
    parameter = nn.Parameter(og.ones(1))
    parameter.grad = og.ones(1)
    assert copy.deepcopy(parameter).grad is None


def test_graphs_are_not_copied():
    x = og.ones(2, requires_grad=True)
    for y in (x * 2, x[0:1]):
        with pytest.raises(RuntimeError, match="leaf"):
            copy.deepcopy(y)
        for way in (copy.copy, through_pickle):
            assert way(y).is_leaf and way(y).requires_grad and way(y).tolist() == y.tolist()


def test_hooks_stay_with_the_tensor():
    x, calls = og.ones(2, requires_grad=True), []
    x.register_hook(calls.append)
    for way in (copy.copy, copy.deepcopy, through_pickle):
        (way(x) * 2).sum().backward()
    assert calls == []


def test_a_tensor_that_leads_to_itself_is_copied():
    x = og.ones(2)
    x.me, x.pair = x, [x]
    y = copy.deepcopy(x)
    assert y.me is y and y.pair[0] is y


def test_copies_of_written_tensors_count_anew():
    x = og.ones(2)
    y = copy.deepcopy(x)
    w = og.ones(2, requires_grad=True)
    loss = (w * y).sum()
    x.add_(1)
    loss.backward()
    assert w.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("way", [copy.deepcopy, through_pickle])
def test_modules_with_tied_parameters(way):
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Linear(2, 2))
    net[2].weight = net[0].weight
    net[0].weight.note = "tied"
    other = way(net)
    assert other[0].weight is other[2].weight and other[0].weight is not net[0].weight
    assert other[0].weight.note == "tied"
    assert [name for name, _ in other.named_parameters()] == [name for name, _ in net.named_parameters()]
    assert [name for name, _ in other.named_buffers()] == [name for name, _ in net.named_buffers()]
    assert all(isinstance(parameter, nn.Parameter) for parameter in other.parameters())
    module = nn.Module()
    module.w = way({"w": nn.Parameter(og.ones(2))})["w"]
    assert [name for name, _ in module.named_parameters()] == ["w"]


@pytest.mark.parametrize("way", [copy.deepcopy, through_pickle])
@pytest.mark.parametrize("kind", [og.optim.SGD, og.optim.Adam, og.optim.AdamW])
def test_optimizers_go_on_from_copies(way, kind):
    def made():
        og.manual_seed(0)
        net = nn.Linear(2, 1)
        options = {"momentum": 0.9} if kind is og.optim.SGD else {}
        return net, kind(net.parameters(), lr=0.1, **options)

    def step(net, optimizer):
        optimizer.zero_grad()
        net(og.ones(1, 2)).sum().backward()
        optimizer.step()
        return net.weight.tolist()

    net, optimizer = made()
    step(net, optimizer)
    other, its = way((net, optimizer))
    assert its.param_groups[0]["params"][0] is other.weight
    assert step(other, its) == step(net, optimizer)
    again, fresh = made()
    again.load_state_dict(net.state_dict())
    fresh.load_state_dict(way(optimizer.state_dict()))
    assert step(again, fresh) == step(net, optimizer)


def test_parameters_of_parameters():
    inner = nn.Parameter(og.ones(2))
    outer = nn.Parameter(inner)
    assert outer is not inner and outer.data_ptr() == inner.data_ptr() and outer.is_leaf
    assert nn.Parameter(inner, requires_grad=False).requires_grad is False
    assert type(nn.Parameter(og.ones(2).as_subclass(Named))) is Named


def test_pickles_that_do_not_fit_are_refused():
    data = pickle.dumps(og.arange(4.0))
    assert pickle.loads(data).tolist() == [0, 1, 2, 3]
    call, (kind, memory, described) = og.arange(4.0).__reduce_ex__(4)
    for changed in (
        (kind, memory[:8], described),
        (kind, memory, (*described[:1], (400,), *described[2:])),
        (kind, memory, (*described[:2], (-1,), *described[3:])),
        (kind, memory, (*described[:3], 100, *described[4:])),
    ):
        with pytest.raises((RuntimeError, ValueError)):
            call(*changed)
    buffer = io.BytesIO()
    pickle.dump(og.ones(2).as_subclass(Named), buffer)
    assert type(pickle.loads(buffer.getvalue())) is Named
