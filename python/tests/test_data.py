"""`x.data`: the memory without the graph, which does not notice what is written there; and other memory for a tensor."""

from __future__ import annotations

import pytest

import opgrid as og
from opgrid import nn

np = pytest.importorskip("numpy")


def test_writes_through_data_are_not_noticed():
    w, x = og.ones(2, requires_grad=True), og.ones(2)
    loss = (w * x).sum()
    x.data.add_(1)
    loss.backward()
    assert w.grad.tolist() == [2.0, 2.0]
    layer = nn.Linear(2, 1, bias=False)
    given = og.ones(1, 2, requires_grad=True)
    out = layer(given).sum()
    with og.no_grad():
        expected = (layer.weight * 0.5).tolist()
    layer.weight.data.mul_(0.5)
    out.backward()
    assert given.grad.tolist() == expected


# Every way to write: whether the graph notices it through `data`, and through `detach()`.
WRITES = {
    "add_": lambda x: x.add_(1),
    "copy_": lambda x: x.copy_(og.zeros(2)),
    "fill_": lambda x: x.fill_(3),
    "zero_": lambda x: x.zero_(),
    "item": lambda x: x.__setitem__(0, 7),
    "view": lambda x: x[1:].mul_(2),
    "out": lambda x: og.add(og.ones(2), 1, out=x),
    "data": lambda x: x.data.add_(1),
    "index_put_": lambda x: x.index_put_((og.tensor([0]),), og.tensor([4.0])),
    "clamp_": lambda x: x.clamp_(max=0.5),
}


@pytest.mark.parametrize("write", WRITES)
def test_detached_tensors_are_watched_and_data_is_not(write):
    for see, is_watched in ((lambda x: x.data, False), (lambda x: x.detach(), write != "data")):
        w, x = og.ones(2, requires_grad=True), og.ones(2)
        loss = (w * x).sum()
        before = x._version
        WRITES[write](see(x))
        assert (x._version > before) == is_watched
        if is_watched:
            with pytest.raises(RuntimeError, match="written"):
                loss.backward()
        else:
            loss.backward()
            assert w.grad.tolist() == x.tolist()


def test_data_is_a_tensor_of_its_own():
    x = og.ones(3, requires_grad=True)
    data = x.data
    assert (data.requires_grad, data.is_leaf, data.data_ptr() == x.data_ptr()) == (False, True, True)
    assert data.untyped_storage() == x.untyped_storage()
    first = x._version
    assert data._version == 0
    data.add_(1)
    assert (x._version, data._version, x.tolist()) == (first, 1, [2.0] * 3)
    with og.no_grad():
        x.mul_(2)
    assert (x._version, data._version, data.tolist()) == (first + 1, 1, [4.0] * 3)
    # What is computed of it notices what is written to it.
    w = og.ones(3, requires_grad=True)
    loss = (w * data).sum()
    data.add_(1)
    with pytest.raises(RuntimeError, match="written"):
        loss.backward()


def test_overlap_with_data_is_seen():
    x = og.arange(6.0)
    for one, other in ((x, x.data), (x.data, x), (x.data, x.data), (x, x)):
        with pytest.raises(RuntimeError, match="single memory location"):
            one[1:].copy_(other[:-1])
    x.data.add_(x)
    assert x.tolist() == [0, 2, 4, 6, 8, 10]
    og.add(x, x.data, out=x)
    assert x.tolist() == [0, 4, 8, 12, 16, 20]


def test_memory_is_replaced():
    p = nn.Parameter(og.ones(2))
    before, new = p.detach(), og.zeros(3, dtype=og.float64)
    address = new.data_ptr()
    p.data = new
    assert (p.shape, p.dtype, p.data_ptr(), new.data_ptr()) == ((3,), og.float64, address, address)
    assert isinstance(p, nn.Parameter) and p.is_leaf and p.requires_grad
    assert before.tolist() == [1.0, 1.0]
    new.add_(1)
    assert p.tolist() == [1.0] * 3
    (p * 2).sum().backward()
    assert p.grad.tolist() == [2.0] * 3 and p.grad.dtype == og.float64


def test_the_count_of_writes_goes_on():
    z, other = og.ones(2), og.zeros(3)
    z.add_(1).add_(1)
    own, others = z._version, other._version
    z.data = other
    assert z._version == own
    z.add_(1)
    assert (z._version, other._version, other.tolist()) == (own + 1, others, [1.0] * 3)
    other.add_(1)
    assert (z._version, other._version, z.tolist()) == (own + 1, others + 1, [2.0] * 3)


def test_graphs_views_and_arrays_keep_the_memory_that_they_have_seen():
    q = og.ones(2, requires_grad=True)
    loss, view, array = (q * q).sum(), q.detach()[1:], q.detach().numpy()
    q.data = og.full((2,), 5.0)
    view.add_(1)
    assert (q.tolist(), view.tolist(), array.tolist()) == ([5.0, 5.0], [2.0], [1.0, 2.0])
    q = og.ones(2, requires_grad=True)
    loss = (q * q).sum()
    q.data = og.full((2,), 5.0)
    loss.backward()
    assert q.grad.tolist() == [2.0, 2.0]


def test_other_memory_in_every_step_takes_no_memory():
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    p = nn.Parameter(og.ones(10_000))
    version = p._version
    def steps(count):
        for _ in range(count):
            p.data = p.data * 0.99
            (p * p).sum().backward()

    steps(100)
    before = resident()
    steps(1000)
    assert resident() - before < 1 << 22
    assert p._version == version


def test_memory_that_does_not_fit_is_refused():
    x = og.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="cpu"):
        x.data = og.ones(2, device="meta")
    with pytest.raises(RuntimeError, match="requires a gradient"):
        x.data = og.ones(2, dtype=og.int64)
    with pytest.raises(TypeError, match="has to be a tensor"):
        x.data = None
    with pytest.raises(RuntimeError):
        del x.data
    y = og.ones(2)
    y.data = og.ones(2, dtype=og.int64)
    assert y.dtype == og.int64
    assert (x.tolist(), x.dtype) == ([1.0, 1.0], og.float32)


def test_results_take_other_memory():
    r = og.ones(2, requires_grad=True) * 2
    r.data = og.zeros(3)
    assert r.tolist() == [0.0] * 3 and r.grad_fn is not None


def test_arrays_are_not_watched():
    x = og.ones(2)
    w = og.ones(2, requires_grad=True)
    loss = (w * x).sum()
    version = x._version
    x.numpy()[0] = 5
    assert x._version == version
    loss.backward()
    assert w.grad.tolist() == [5.0, 1.0]
    with pytest.raises(RuntimeError, match="requires grad"):
        w.numpy()
    w.data.numpy()[0] = 3
    assert w.tolist() == [3.0, 1.0]
