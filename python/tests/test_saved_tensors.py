"""Graphs that keep tensors in another form."""

import gc
import weakref

import opgrid as og
import pytest
from opgrid.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks


def test_what_a_gradient_needs_is_packed_and_restored():
    seen = []

    def pack(tensor):
        assert not tensor.requires_grad and not og.is_grad_enabled()
        seen.append(tuple(tensor.shape))
        return tensor.tolist()

    x = og.tensor([1.0, 2.0], requires_grad=True)
    with saved_tensors_hooks(pack, og.tensor):
        y = (x * x).exp().sum()
    assert seen == [(2,), (2,), (2,)]
    assert og.autograd.get_graph(y).saved_bytes == 0
    y.backward()
    assert og.allclose(x.grad, 2 * x.detach() * (x.detach() ** 2).exp())


def test_the_innermost_block_packs():
    def naming(name, seen):
        return saved_tensors_hooks(lambda tensor: seen.append(name) or tensor, lambda packed: packed)

    seen = []
    x = og.ones(2, requires_grad=True)
    with naming("outer", seen):
        a = x.exp()
        with naming("inner", seen):
            b = x.exp()
        c = x.exp()
    x.exp()
    assert seen == ["outer", "inner", "outer"]
    (a + b + c).sum().backward()


def test_a_write_after_packing_is_no_error():
    x = og.ones(2, requires_grad=True)
    with saved_tensors_hooks(lambda tensor: tensor.clone(), lambda packed: packed):
        y = x * 2
        z = y * y
        y.add_(1)
        w = og.ones(2, requires_grad=True) * 1
        w.exp_()
    z.sum().backward()
    assert x.grad.tolist() == [8.0, 8.0]
    w.sum().backward()


def test_the_result_of_a_write_is_packed_as_it_was_written():
    x = og.zeros(2, requires_grad=True)
    with saved_tensors_hooks(lambda tensor: tensor.tolist(), og.tensor):
        y = x * 1
        y.exp_()
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_second_gradients_are_packed_too():
    x = og.tensor([2.0], requires_grad=True)
    with saved_tensors_hooks(lambda tensor: tensor.tolist(), og.tensor):
        (first,) = og.autograd.grad((x**3).sum(), x, create_graph=True)
        (second,) = og.autograd.grad(first.sum(), x)
    assert (first.item(), second.item()) == (12.0, 12.0)


def test_checkpoints_inside_and_outside_of_a_block():
    from opgrid.utils.checkpoint import checkpoint

    x = og.tensor([0.5, 2.0], requires_grad=True)
    seen = []

    def packing():
        return saved_tensors_hooks(lambda tensor: seen.append(1) or tensor.tolist(), og.tensor)

    with packing():
        checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False).sum().backward()
    assert og.allclose(x.grad, x.detach().exp().cos() * x.detach().exp())

    def inside(x):
        with packing():
            y = x.exp()
            # The checkpoint in the block runs a function that saves for itself.
            return checkpoint(lambda y: y.sin(), y, use_reentrant=False)

    x.grad = None
    seen.clear()
    y = checkpoint(inside, x, use_reentrant=False).sum()
    assert seen
    y.backward()
    assert og.allclose(x.grad, x.detach().exp().cos() * x.detach().exp())


def test_what_unpacks_gives_another_tensor():
    x = og.ones(2, requires_grad=True)
    with saved_tensors_hooks(lambda tensor: tensor, lambda packed: packed.double()):
        y = x.exp().sum()
    with pytest.raises(RuntimeError, match=r"float64 tensor of shape \[2\], expected float32 and shape \[2\]"):
        y.backward()
    with saved_tensors_hooks(lambda tensor: tensor, lambda packed: 1):
        y = x.exp().sum()
    with pytest.raises(TypeError, match="unpack_hook returned int"):
        y.backward()


def test_errors_of_hooks_arrive():
    def fail(tensor):
        raise KeyError("full")

    x = og.ones(2, requires_grad=True)
    with pytest.raises(KeyError, match="full"), saved_tensors_hooks(fail, fail):
        x.exp()
    x.exp().sum().backward()
    with pytest.raises(TypeError, match="pack_hook"):
        saved_tensors_hooks(1, fail)


def test_blocks_can_be_refused_and_used_again():
    block = saved_tensors_hooks(lambda tensor: tensor, lambda packed: packed)
    with disable_saved_tensors_hooks("not within this function"), pytest.raises(RuntimeError, match="not within this function"):
        block.__enter__()
    for _ in range(2):
        with block, block:
            og.ones(2, requires_grad=True).exp().sum().backward()
    with pytest.raises(RuntimeError, match="not entered"):
        block.__exit__(None, None, None)


def test_tensors_on_the_cpu():
    x = og.tensor([1.0, 2.0], requires_grad=True)
    with save_on_cpu():
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_cycle_through_what_is_packed_is_collected():
    class Box:
        pass

    box = Box()
    gone = weakref.ref(box)
    x = og.ones(2, requires_grad=True)

    def pack(tensor):
        return (box, tensor.tolist())

    with saved_tensors_hooks(pack, lambda packed: og.tensor(packed[1])):
        box.result = x.exp()
    del box, pack
    gc.collect()
    gc.collect()
    assert gone() is None
