"""What Rust holds of Python's objects is seen by the garbage collector: cycles through hooks, contexts, graphs and classes."""

from __future__ import annotations

import gc
import resource
import threading
import weakref

import pytest

import opgrid as og
from opgrid import nn
from opgrid.autograd import Function


class Token:
    """Dies with the cycle that it is in."""


class Named(og.Tensor):
    def seen(self, grad):
        return grad


class Slotted(og.Tensor):
    __slots__ = ("own",)


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


class Keep(Function):
    """Keeps its result and its argument in its context."""

    @staticmethod
    def forward(ctx, x, token):
        ctx.token = token
        ctx.x = x
        ctx.y = x * 2
        return ctx.y

    @staticmethod
    def backward(ctx, grad):
        return grad * 2, None


def leaf(size=2):
    return og.ones(size, requires_grad=True)


def hook_of_a_leaf(token):
    x = leaf()
    x.register_hook(lambda grad, x=x, token=token: grad)


def hook_that_is_a_method(token):
    x = og.ones(2).as_subclass(Named).requires_grad_()
    x.token = token
    x.register_hook(x.seen)


def hook_of_a_result(token):
    y = leaf() * 2
    y.register_hook(lambda grad, y=y, token=token: grad)


def hook_of_an_argument_that_holds_the_result(token):
    x = leaf()
    y = (x * 2).exp().sum()
    x.register_hook(lambda grad, y=y, token=token: grad)


def hook_of_a_written_tensor(token):
    x = leaf()
    y = x * 2
    y.add_(1)
    y[0].mul_(x[0])
    y.register_hook(lambda grad, y=y, token=token: grad)
    x.register_hook(lambda grad, y=y: grad)


def hook_of_a_node(token):
    y = leaf() * 2
    y.grad_fn.register_hook(lambda *grads, y=y, token=token: None)


def prehook_of_a_node(token):
    y = leaf() * 2
    y.grad_fn.register_prehook(lambda *grads, y=y, token=token: None)


def hook_of_an_inner_node(token):
    z = (leaf() * 2).exp()
    z.grad_fn.next_functions[0][0].register_hook(lambda *grads, z=z, token=token: None)


def node_that_its_hook_holds(token):
    node = (leaf() * 2).grad_fn
    node.register_hook(lambda *grads, node=node, token=token: None)


def node_as_an_attribute(token):
    y = Keep.apply(leaf(), token)
    y.node = y.grad_fn
    y.grad_fn.register_hook(lambda *grads, node=y.grad_fn: None)


def hook_that_removes_itself(token):
    x = leaf()
    handles = []
    handles.append(x.register_hook(lambda grad, x=x, token=token: handles[0].remove()))


def module_with_a_hook(token):
    module = nn.Linear(2, 2)
    module.token = token
    module.weight.register_hook(lambda grad, module=module: grad)


def module_with_hooks_that_was_trained(token):
    module = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    module.token = token
    for parameter in module.parameters():
        parameter.register_hook(lambda grad, module=module: grad)
    module.register_forward_hook(lambda inner, args, result, module=module: None)
    module(og.ones(3, 2)).sum().backward()


def parameter_that_knows_its_module(token):
    module = nn.Linear(2, 2)
    module.weight.owner, module.token = module, token


def context_that_keeps_its_result(token):
    Keep.apply(leaf(), token)


def context_deep_in_a_graph(token):
    x = leaf()
    y = Keep.apply(x * 3, token)
    x.register_hook(lambda grad, y=y.exp().sum(): grad)


def retained_gradient(token):
    y = leaf() * 2
    y.retain_grad()
    y.register_hook(lambda grad, y=y, token=token: grad)
    y.sum().backward()


def attribute_that_leads_back(token):
    x = og.ones(2)
    x.me, x.token = [x], token


def attribute_of_a_subclass(token):
    x = og.ones(2).as_subclass(Named)
    x.me, x.token = x, token


def slot_that_leads_back(token):
    x = og.ones(2).as_subclass(Slotted)
    x.own = (x, token)


def wrapper_that_leads_back(token):
    x = Wrapped(og.ones(2))
    x.me, x.token = x, token


def wrapper_whose_inner_tensor_leads_back(token):
    x = Wrapped(og.ones(2))
    x.inner.owner, x.token = x, token


def gradient_with_a_graph(token):
    x = leaf()
    (x * x).sum().backward(create_graph=True)
    x.token = token


def gradient_with_a_graph_and_a_hook(token):
    x = leaf()
    x.register_hook(lambda grad, x=x, token=token: grad)
    (x * x).sum().backward(create_graph=True)


def attributes_of_a_gradient(token):
    x = leaf()
    (x * x).sum().backward()
    x.grad.owner, x.grad.token = x, token


def gradient_that_knows_its_tensor(token):
    x = leaf()
    (x * x).sum().backward()
    grad = x.grad
    grad.owner, x.token, x.kept = x, token, grad


def checkpointed_function(token):
    from opgrid.utils.checkpoint import checkpoint

    x = leaf()

    def run(x):
        return (x * 2).exp()

    y = checkpoint(run, x, use_reentrant=False)
    run.result, run.token = y, token


def derivative_of_an_operator(token):
    y = og.ops.pytest_collector.twice(leaf())
    held.append(y)
    contexts.pop().result = (y, token)
    held.clear()


KINDS = [
    value
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", None) == __name__ and not isinstance(value, type) and name != "leaf"
]
contexts: list = []
held: list = []


@pytest.fixture(scope="module", autouse=True)
def operator():
    def setup(ctx, inputs, output):
        contexts.append(ctx)

    with og.library.Library("pytest_collector", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CPU")
        og.library.register_autograd("pytest_collector::twice", lambda ctx, grad: grad * 2, setup_context=setup, lib=library)
        yield


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_cycles_are_collected(kind):
    token = Token()
    reference = weakref.ref(token)
    kind(token)
    del token
    gc.collect()
    assert reference() is None


def resident() -> int:
    """Bytes of memory of the process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_thousand_cycles_leave_nothing(kind):
    def rounds(count):
        for _ in range(count):
            kind(Token())
        gc.collect()

    rounds(1000)
    nodes, objects, memory = og._opgrid._nodes_alive(), len(gc.get_objects()), resident()
    rounds(1000)
    assert og._opgrid._nodes_alive() == nodes
    assert len(gc.get_objects()) <= objects + 50
    assert resident() <= memory + (1 << 20)


def test_what_is_in_use_stays():
    """Owners outside of a cycle keep it, also where only Rust leads from them to it."""
    x, calls = leaf(), []
    y = x * 2
    y.register_hook(lambda grad, y=y: calls.append(grad.tolist()))
    z = y.exp()
    del y
    context = Keep.apply(x, Token())
    node = context.grad_fn
    del context
    gc.collect()
    z.sum().backward()
    assert calls == [[og.tensor(2.0).exp().item()] * 2]
    assert node.name() == "KeepBackward"
    gc.collect()
    w = og.ones(2, requires_grad=True)
    w.register_hook(lambda grad, w=w: grad * 3)
    loss = (w * 2).sum()
    del w
    gc.collect()
    node = loss.grad_fn
    loss.backward()
    assert node is not None


def test_attributes_stay_with_a_tensor_whose_object_is_gone():
    x = leaf()
    (x * x).sum().backward()
    x.grad.note = ["kept"]
    gc.collect()
    assert x.grad.note == ["kept"]
    x.grad.other = 1
    grad = x.grad
    assert (grad.note, grad.other) == (["kept"], 1) and x.grad is grad
    x.grad = og.ones(2).as_subclass(Named)
    x.grad.note = "kept"
    gc.collect()
    assert type(x.grad) is Named and x.grad.note == "kept"
    x.grad = None
    reference = weakref.ref(grad)
    del grad
    assert reference() is None


def test_a_gradient_that_leads_back_does_not_outlive_its_tensor():
    gc.collect()
    before = og._opgrid._nodes_alive()
    for _ in range(100):
        x = leaf()
        (x * x * x).sum().backward(create_graph=True)
        x.grad.sum().backward(create_graph=True)
    del x
    gc.collect()
    assert og._opgrid._nodes_alive() == before


def test_collections_at_any_moment():
    """In the middle of backward passes, in hooks, in destructors and on other threads."""
    stop, errors = threading.Event(), []

    def collect():
        while not stop.is_set():
            gc.collect()

    class Late:
        """Collects, and goes back once more, when it goes."""

        def __init__(self, x):
            self.x, self.me = x, self

        def __del__(self):
            gc.collect()
            try:
                # Where it goes, recording may be switched off.
                with og.enable_grad():
                    (self.x * 2).sum().backward()
            except Exception as error:
                errors.append(error)

    def work():
        try:
            for turn in range(20):
                x = leaf(8)
                late = Late(x)
                seen = []

                def hook(grad, x=x, late=late, seen=seen):
                    gc.collect()
                    seen.append(grad.sum().item())
                    return grad

                handle = x.register_hook(hook)
                y = Keep.apply(x, late)
                y.register_hook(lambda grad, y=y: (gc.collect(), None)[1])
                z = (y * y).sum()
                z.backward()
                assert seen == [64.0], seen
                if turn % 2:
                    handle.remove()
                    gc.collect()
                assert x.grad.tolist() == [8.0] * 8
        except Exception as error:
            errors.append(error)

    collector = threading.Thread(target=collect)
    workers = [threading.Thread(target=work) for _ in range(2)]
    collector.start()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    stop.set()
    collector.join()
    gc.collect()
    assert errors == []


def test_what_was_cleared_says_so_or_is_quiet():
    """A finalizer may bring back what the collector is about to take: it is as it was."""
    back = []

    class Returning:
        def __init__(self, x):
            self.x = x

        def __del__(self):
            back.append(self.x)

    x = leaf()
    x.keeper = Returning(x)
    x.register_hook(lambda grad, x=x: grad * 2)
    del x
    gc.collect()
    (back[0] * 3).sum().backward()
    assert back[0].grad.tolist() == [6.0, 6.0]


def test_training_takes_no_memory():
    """Steps with hooks, checkpoints, functions with derivatives of their own and a subclass."""
    from opgrid.utils.checkpoint import checkpoint

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 1)
            self.first.weight.register_hook(lambda grad, net=self: grad)

        def forward(self, x):
            hidden = checkpoint(lambda x: self.first(x).tanh(), x, use_reentrant=False)
            return Keep.apply(self.last(hidden), None)

    net = Net()
    optimizer = og.optim.SGD(net.parameters(), lr=0.01)
    x = og.ones(2, 4).as_subclass(Named)

    def steps(count):
        for _ in range(count):
            optimizer.zero_grad()
            loss = net(x).sum()
            loss.register_hook(lambda grad, loss=loss: grad)
            loss.backward()
            optimizer.step()
            net.last.bias.data = net.last.bias.data * 0.5
            net.last.weight.data.mul_(0.999)
        gc.collect()

    steps(3000)
    before = resident()
    steps(10_000)
    assert resident() - before < 1 << 20
