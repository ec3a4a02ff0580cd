"""Gradients from Python: adding up, asking, switches, hooks, functions and operators with a derivative of their own."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from collections.abc import Callable
from typing import Any

import opgrid as og
import pytest
from opgrid import autograd
from opgrid.autograd.function import once_differentiable


def leaf(*numbers: float) -> og.Tensor:
    return og.tensor(numbers, dtype=og.float64, requires_grad=True)


def test_gradients_add_up_in_one_object() -> None:
    x = leaf(1, 2, 3)
    assert x.requires_grad and x.is_leaf and x.grad is None and x.grad_fn is None
    y = (x * x).sum()
    assert y.requires_grad and not y.is_leaf and y.grad_fn is not None
    assert y.grad_fn.name() == "aten::sum"
    y.backward()
    first = x.grad
    assert first is not None and first.tolist() == [2, 4, 6]
    x.sum().backward()
    assert x.grad is first and first.tolist() == [3, 5, 7]
    x.grad = None
    assert x.grad is None
    x.grad = og.ones(3, dtype=og.float64)
    with pytest.raises(og.OpgridError, match="sizes"):
        x.grad = og.ones(4, dtype=og.float64)
    del x.grad
    assert x.grad is None


def test_printing_says_where_a_tensor_comes_from() -> None:
    x = leaf(1)
    assert repr(x) == "tensor([1.], dtype=opgrid.float64, requires_grad=True)"
    assert repr(x * 2).endswith("grad_fn=<aten::mul.Tensor>)")
    assert repr(x.detach()) == "tensor([1.], dtype=opgrid.float64)"


def test_factories_take_requires_grad() -> None:
    assert og.zeros(2, requires_grad=True).requires_grad
    assert not og.zeros(2, requires_grad=False).requires_grad
    assert og.tensor([1.0], requires_grad=True).is_leaf
    with pytest.raises(og.OpgridError, match="floating-point"):
        og.zeros(2, dtype=og.int64, requires_grad=True)
    x = og.ones(2)
    assert x.requires_grad_() is x and x.requires_grad
    x.requires_grad = False
    assert not x.requires_grad


def test_grad_gives_and_adds_nothing_up() -> None:
    x, y = leaf(1, 2), leaf(3)
    z = (x * x * x).sum()
    (first,) = autograd.grad(z, x, create_graph=True)
    assert first is not None
    (second,) = autograd.grad(first.sum(), x)
    assert second is not None and second.tolist() == [6, 12] and x.grad is None
    with pytest.raises(RuntimeError, match="allow_unused"):
        autograd.grad(x.sum(), y)
    assert autograd.grad(x.sum(), y, allow_unused=True) == (None,)
    assert autograd.grad(x.sum(), y, materialize_grads=True)[0].tolist() == [0]  # type: ignore[union-attr]


def test_a_graph_is_used_once() -> None:
    x = leaf(1)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(og.OpgridError, match="retain_graph"):
        y.backward()
    y = x * x
    y.backward(inputs=[x])
    with pytest.raises(ValueError, match="empty"):
        autograd.backward(x * x, inputs=[])


def test_errors_are_those_of_the_field() -> None:
    x = leaf(1, 2)
    with pytest.raises(RuntimeError, match="scalar outputs"):
        (x * x).backward()
    with pytest.raises(RuntimeError, match="does not require grad"):
        og.ones(1).backward()
    with pytest.raises(RuntimeError, match="a leaf"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="detach"):
        x.numpy()
    with pytest.raises(BufferError, match="detach"):
        x.__dlpack__()
    with pytest.raises(RuntimeError, match="written in place"):
        y = x.exp()
        y.add_(1)
        y.sum().backward()


def test_switches_of_a_thread() -> None:
    x = leaf(1)
    with og.no_grad():
        assert not og.is_grad_enabled() and not (x * x).requires_grad
        with og.enable_grad():
            assert (x * x).requires_grad
        x.mul_(3)
    assert og.is_grad_enabled() and x.tolist() == [3]

    @og.no_grad()
    def called() -> bool:
        return og.is_grad_enabled()

    @og.no_grad
    def called_bare() -> bool:
        return og.is_grad_enabled()

    assert not called() and not called_bare() and og.is_grad_enabled()
    og.set_grad_enabled(False)
    assert not og.is_grad_enabled()
    og.set_grad_enabled(True)
    with og.set_grad_enabled(False):
        assert not og.is_grad_enabled()
    assert og.is_grad_enabled()
    seen: list[bool] = []
    with og.no_grad():
        thread = threading.Thread(target=lambda: seen.append(og.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]
    with og.inference_mode():
        y = x * x
        assert not y.requires_grad and "AutogradCPU" not in str(y.keys())


#: Settings of a thread for a block, and whether gradients are recorded and inference mode is on in it.
BLOCKS: list[tuple[Callable[[], Any], bool, bool]] = [
    (og.no_grad, False, False),
    (og.enable_grad, True, False),
    (lambda: og.set_grad_enabled(False), False, False),
    (og.inference_mode, False, True),
    (lambda: og.inference_mode(False), True, False),
]


def is_inference() -> bool:
    return not og.local_keys()[0].has("ADInplaceOrView")


@pytest.mark.parametrize("key", ["TESTING_ONLY_GenericMode", "CUDA", "Tracer"])
@pytest.mark.parametrize("guard", [og.include, og.exclude])
@pytest.mark.parametrize(("block", "records", "infers"), BLOCKS)
def test_blocks_of_keys_and_of_recording_end_in_any_order(
    block: Callable[[], Any], records: bool, infers: bool, guard: Callable[[str], Any], key: str
) -> None:
    start = og.local_keys()
    side = 0 if guard is og.include else 1
    # The guard begins before the block and ends in it.
    kept = guard(key)
    kept.__enter__()
    with block():
        kept.__exit__(None, None, None)
        assert og.is_grad_enabled() == records and is_inference() == infers
        assert not og.local_keys()[side].has(key)
    assert og.local_keys() == start and og.is_grad_enabled()
    # The guard begins in the block and ends after it.
    with block():
        kept.__enter__()
    assert og.is_grad_enabled() and not is_inference()
    assert og.local_keys()[side].has(key)
    kept.__exit__(None, None, None)
    assert og.local_keys() == start and og.is_grad_enabled()


@pytest.mark.parametrize("first", BLOCKS)
@pytest.mark.parametrize("second", BLOCKS)
def test_blocks_that_end_in_the_order_in_which_they_began(first: Any, second: Any) -> None:
    start = og.local_keys()
    with og.preserve():
        one = first[0]()
        one.__enter__()
        other = second[0]()
        other.__enter__()
        assert og.is_grad_enabled() == second[1]
        one.__exit__(None, None, None)
        assert og.is_grad_enabled()
        other.__exit__(None, None, None)
        # As in torch, a block restores what was so when it began.
        assert og.is_grad_enabled() == first[1]
        assert is_inference() == (first[2] and second[1:] == (True, False) and second[0] is not og.enable_grad)
    assert og.local_keys() == start and og.is_grad_enabled()


def test_keys_of_guards_of_one_key() -> None:
    start = og.local_keys()
    one, other = og.exclude("Tracer"), og.exclude("Tracer")
    one.__enter__()
    other.__enter__()
    other.__exit__(None, None, None)
    assert og.local_keys()[1].has("Tracer")
    one.__exit__(None, None, None)
    assert og.local_keys() == start


def test_views_and_assignments_have_gradients() -> None:
    x, w = leaf(1, 2), leaf(3, 4)
    for write in ("mul_", "div_", "pow_", "atan2_"):
        y = og.ones(2, dtype=og.float64)
        getattr(y, write)(w)
        assert y.requires_grad
    table = og.zeros(3, 2, dtype=og.float64)
    table[0] = x
    table[1] = w * x
    assert table.requires_grad
    (table * table).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2 * 1 + 2 * 3 * 3, 2 * 2 + 2 * 8 * 4]

    def function(a: og.Tensor, b: og.Tensor) -> og.Tensor:
        y = a * b
        y[::2] *= b[::2]
        y.exp_()
        return y.reshape(2, 2).t()[0]

    assert autograd.gradcheck(function, (leaf(0.5, 1, -1, 2), leaf(1, 0.3, 0.2, 0.1)))


def test_hooks_and_nodes() -> None:
    x = leaf(1, 2)
    y = x * x
    seen: list[Any] = []
    handle = y.register_hook(lambda grad: seen.append(grad.tolist()))
    with x.register_hook(lambda grad: grad * 10):
        y.retain_grad()
        y.sum().backward(retain_graph=True)
    assert seen == [[1, 1]] and y.grad is not None and y.grad.tolist() == [1, 1]
    assert x.grad is not None and x.grad.tolist() == [20, 40]
    handle.remove()
    x.grad = None
    y.sum().backward()
    assert len(seen) == 1 and x.grad is not None and x.grad.tolist() == [2, 4]
    z = (x * 3).sum()
    node = z.grad_fn
    assert node is not None and [inner.name() for inner, _ in node.next_functions] == ["aten::mul.Tensor"]
    node.register_prehook(lambda grads: (grads[0] * 2,))
    x.grad = None
    z.backward()
    assert x.grad is not None and x.grad.tolist() == [6, 6]

    def failing(_: og.Tensor) -> None:
        raise KeyError("of a hook")

    y = x * x
    y.register_hook(failing)
    with pytest.raises(KeyError, match="of a hook"):
        y.sum().backward()


class Square(autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: og.Tensor, times: float) -> og.Tensor:
        ctx.save_for_backward(x)
        ctx.times = times
        return x * x * times

    @staticmethod
    def backward(ctx: Any, grad: og.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * ctx.times * x * grad, None


class ByInput(autograd.Function):
    """Takes its gradient by what it saved, which is the leaf itself."""

    @staticmethod
    def forward(ctx: Any, x: og.Tensor, weight: og.Tensor) -> og.Tensor:
        ctx.save_for_backward(x, None, weight)
        return x * weight

    @staticmethod
    def backward(ctx: Any, grad: og.Tensor) -> tuple[og.Tensor, ...]:
        x, nothing, weight = ctx.saved_tensors
        assert nothing is None and weight.is_leaf and weight.requires_grad
        with autograd.enable_grad():
            return autograd.grad((x.detach() * weight * grad).sum(), weight)[0] * weight.detach() / x, x * grad


def test_gradients_of_other_leaves_are_not_added_up() -> None:
    x, y = leaf(1, 2), leaf(3, 4)
    assert autograd.grad(outputs=(x * y).sum(), inputs=x, only_inputs=True)[0].tolist() == [3, 4]
    with pytest.warns(FutureWarning, match="call autograd.backward"):
        autograd.grad((x * y).sum(), x, only_inputs=False)
    assert y.grad is None


def test_saved_leaves_come_back_as_themselves() -> None:
    x, weight = leaf(1, 2), leaf(3, 5)
    ByInput.apply(x * 1, weight).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3, 5]
    assert weight.grad is not None and weight.grad.tolist() == [1, 2]


def test_gradients_of_functions_may_be_marked_as_differentiable_once() -> None:
    class Power(autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: og.Tensor) -> og.Tensor:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad: og.Tensor) -> og.Tensor:
            assert not og.is_grad_enabled()
            return grad * 3 * ctx.saved_tensors[0] ** 2

    x = leaf(1, 2)
    assert autograd.grad(Power.apply(x).sum(), x)[0].tolist() == [3, 12]
    # A gradient that is constant may be taken for a graph; one that depends on `x` may not be differentiated.
    (first,) = autograd.grad((Power.apply(x) ** 2).sum(), x, create_graph=True)
    assert first.tolist() == [6, 192] and first.requires_grad
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_variables_are_tensors_without_their_history() -> None:
    x = leaf(1, 2)
    y = autograd.Variable(x * 2, requires_grad=True)
    assert isinstance(x, autograd.Variable) and not isinstance(1, autograd.Variable)
    assert y.is_leaf and y.requires_grad and type(y) is og.Tensor and not autograd.Variable(x).requires_grad


class Both(autograd.Function):
    @staticmethod
    def forward(x: og.Tensor) -> Any:
        return x.exp(), x.argmax()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output[0])
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx: Any, grad: og.Tensor, _: Any) -> Any:
        return grad * ctx.saved_tensors[0]


def test_functions_of_ones_own() -> None:
    x = leaf(1, 2)
    y = Square.apply(x, 3.0)
    assert y.grad_fn.name() == "SquareBackward"
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [6, 12]
    assert autograd.gradcheck(lambda x: Square.apply(x, 3.0), leaf(1, 2))
    assert autograd.gradgradcheck(lambda x: Square.apply(x, 3.0), leaf(1, 2))
    largest, place = Both.apply(x)
    assert place.item() == 1 and not place.requires_grad
    assert autograd.gradcheck(lambda x: Both.apply(x)[0], leaf(1, 2))
    with og.no_grad():
        assert not Square.apply(x, 1.0).requires_grad

    class Wrong(Square):
        @staticmethod
        def backward(ctx: Any, grad: og.Tensor) -> Any:
            return grad

    with pytest.raises(RuntimeError, match="incorrect number of gradients"):
        Wrong.apply(x, 1.0).sum().backward()


def test_operators_written_in_python_get_a_derivative() -> None:
    @og.library.custom_op("autograd_tests::cube", mutates_args=())
    def cube(x: og.Tensor) -> og.Tensor:
        return x * x * x

    x = leaf(1, 2)
    with pytest.raises(og.OpgridError, match="autograd_tests::cube.*test_autograd.py"):
        cube(x).sum().backward()

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])

    def backward(ctx: Any, grad: og.Tensor) -> og.Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad

    with pytest.raises(og.OpgridError, match="autograd_tests::cubed"):
        og.library.register_autograd("autograd_tests::cubed", backward)
    cube.register_autograd(backward, setup_context=setup)
    cube(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3, 12]
    assert autograd.gradcheck(cube, leaf(1, 2)) and autograd.gradgradcheck(cube, leaf(1, 2))


def test_transforms_of_functions() -> None:
    x = og.tensor([1.0, 2.0], dtype=og.float64)
    assert autograd.vjp(lambda x: (x**3).sum(), x)[1].tolist() == [3, 12]
    assert autograd.jvp(lambda x: x**3, x, og.ones(2, dtype=og.float64))[1].tolist() == [3, 12]
    assert autograd.jacobian(lambda x: x * x, x).tolist() == [[2, 0], [0, 4]]
    assert autograd.hessian(lambda x: (x**3).sum(), x).tolist() == [[6, 0], [0, 12]]
    with pytest.raises(RuntimeError, match="one element"):
        autograd.hessian(lambda x: x, x)


def test_anomalies_name_the_line() -> None:
    x = leaf(-1)
    with autograd.detect_anomaly(), pytest.raises(RuntimeError, match=r"aten::sqrt(.|\n)*test_autograd.py"):
        x.sqrt().sum().backward()


def test_a_wrong_gradient_is_found() -> None:
    class Doubled(Square):
        @staticmethod
        def backward(ctx: Any, grad: og.Tensor) -> Any:
            return grad, None

    with pytest.raises(autograd.GradcheckError, match="found a gradient of"):
        autograd.gradcheck(lambda x: Doubled.apply(x, 1.0), leaf(1, 3))
    assert not autograd.gradcheck(lambda x: Doubled.apply(x, 1.0), leaf(1, 3), raise_exception=False)
    with pytest.raises(autograd.GradcheckError, match="along a random direction"):
        autograd.gradcheck(lambda x: Doubled.apply(x, 1.0), leaf(1, 3), fast_mode=True)


def test_directions_stand_for_all_elements() -> None:
    x, w = leaf(0.5, 1, -1, 2), leaf(1, 0.3, 0.2, 0.1)
    assert autograd.gradcheck(lambda x, w: (x.exp() * w, x.sum()), (x, w), fast_mode=True)
    assert autograd.gradgradcheck(lambda x, w: (x.exp() * w, x.sum()), (x, w), fast_mode=True)
    z = og.tensor([1 + 2j, -0.5 + 0.25j], dtype=og.complex128).requires_grad_()
    assert autograd.gradcheck(lambda z: (z * z).abs(), z, fast_mode=True)
    assert autograd.gradgradcheck(lambda z: (z * z).abs(), z, fast_mode=True)


def test_copies_and_pickles_require_what_the_tensor_does() -> None:
    x = leaf(1, 2)
    for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert other.requires_grad and other.is_leaf and other.tolist() == [1, 2]


def test_graphs_go_with_what_leads_to_them() -> None:
    gc.collect()
    before = og._opgrid._nodes_alive()  # type: ignore[attr-defined]
    for _ in range(100):
        x = leaf(1, 2)
        y = Square.apply(x * x, 2.0).sum()
        y.register_hook(lambda grad: None)
        table = og.zeros(2, dtype=og.float64)
        table[0] = y
        del x, y, table
    gc.collect()
    assert og._opgrid._nodes_alive() == before  # type: ignore[attr-defined]


def test_results_of_classes_keep_their_graph() -> None:
    class Named(og.Tensor):
        pass

    x = og.ones(2).as_subclass(Named).requires_grad_()
    y = x * 2
    assert type(y) is Named and y.requires_grad
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2]


def test_gradients_of_a_recorded_pass_belong_to_their_leaves() -> None:
    a, b = leaf(1, 2), leaf(3, 4)
    given = og.ones(2, dtype=og.float64)
    (a + b).backward(given, create_graph=True)
    assert a.grad is not b.grad and a.grad is not given
    with og.no_grad():
        a.grad.mul_(10)
    assert (b.grad.tolist(), given.tolist()) == ([1, 1], [1, 1])


def test_a_retained_gradient_follows_writes() -> None:
    x = leaf(2)
    y = x.clone()
    y.retain_grad()
    y[0] = y[0] * 3
    (y + 1).sum().backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([1], [3])


@pytest.mark.parametrize("index", [..., slice(None), (slice(None), ...), (None, ...)])
def test_indexing_that_takes_everything_is_recorded(index: Any) -> None:
    x = leaf(1, 2)
    y = (x * 1)[index]
    y.mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]


@pytest.mark.parametrize("mode", [og.no_grad, og.inference_mode])
def test_views_taken_without_recording_are_not_written_while_recording(mode: Any) -> None:
    base = leaf(1, 2, 3, 4) * 1
    with mode():
        views = [base[:2], base.narrow(0, 0, 2), base.chunk(2)[0], base.view(2, 2)[0]]
    for view in views:
        with pytest.raises(og.OpgridError, match="without recording"):
            view.mul_(3)
    assert base.tolist() == [1, 2, 3, 4]
    with og.no_grad():
        views[0].mul_(3)
    assert base.tolist() == [3, 6, 3, 4]


@pytest.mark.parametrize("part", ["real", "imag", "both"])
def test_writes_to_parts_of_complex_numbers_are_recorded(part: str) -> None:
    x = leaf(1, 2, 3, 4)
    z = og.complex(x[:2] * 1, x[2:] * 1)
    {"real": og.real, "imag": og.imag, "both": og.view_as_real}[part](z).mul_(3)
    og.view_as_real(z).sum().backward()
    assert x.grad.tolist() == {"real": [3, 3, 1, 1], "imag": [1, 1, 3, 3], "both": [3, 3, 3, 3]}[part]


def test_hooks_of_nodes_give_gradients_like_those_that_came() -> None:
    for given in (og.ones(2, 2, dtype=og.float64), og.ones(3), og.ones(3, dtype=og.float64, device="meta")):
        x = leaf(1, 2, 3)
        y = x * 2
        y.grad_fn.register_hook(lambda *_, given=given: (given,))
        with pytest.raises(og.OpgridError, match="the hook returned a gradient of shape"):
            y.sum().backward()
        assert x.grad is None


def test_a_hook_is_removed_by_its_own_destructor() -> None:
    class Hook:
        def __call__(self, grad: og.Tensor) -> None:
            pass

        def __del__(self) -> None:
            self.handle.remove()
            gone.append(self)

    gone: list[Any] = []
    x = leaf(1)
    hook = Hook()
    handle = hook.handle = x.register_hook(hook)
    del hook
    handle.remove()
    assert len(gone) == 1


@pytest.mark.parametrize("step", ["two edges", "kept", "leaves", "list"])
def test_long_graphs_are_dropped(step: str) -> None:
    x = leaf(1)
    y = x * 1
    for _ in range(100_000):
        if step == "two edges":
            y = y + y
        elif step == "kept":
            y = y * x
        elif step == "list":
            y = og.cat([y, y])[:1]
        else:
            following = leaf(1)
            following.grad = y
            y = following * 2
    del y


@pytest.mark.parametrize("values", [[2.0, 0.0, 3.0], [0.0, 2.0, 3.0], [2.0, 0.0, 0.0, 5.0], [1.0, 0.0, 2.0, 0.0, 3.0]])
def test_products_have_second_gradients_at_zeros(values: list[float]) -> None:
    def hessian(function: Any) -> list[list[float]]:
        x = leaf(*values)
        (grad,) = autograd.grad(function(x), x, create_graph=True)
        return [autograd.grad(grad[row], x, retain_graph=True)[0].tolist() for row in range(len(values))]

    def expected(first: int) -> list[list[float]]:
        """Of the sum of the products of the first elements, from that many on."""
        count = len(values)
        table = [[0.0] * count for _ in range(count)]
        for length in range(first, count + 1):
            for i in range(length):
                for j in range(length):
                    if i != j:
                        product = 1.0
                        for k in range(length):
                            product *= 1 if k in (i, j) else values[k]
                        table[i][j] += product
        return table

    assert hessian(lambda x: x.cumprod(0).sum()) == expected(1)
    assert hessian(lambda x: x.prod()) == expected(len(values))
