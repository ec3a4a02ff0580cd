"""Operators made of functions: what they write, their derivatives, the defaults of their arguments; functions that write."""

import copy
import inspect
import math
from collections.abc import Sequence
from typing import List, Optional, Tuple, Union  # noqa: UP035

import numpy as np
import opgrid as og
import pytest
from opgrid import Tensor, library
from opgrid.autograd import Function
from opgrid.library import Library, custom_op

DEFAULTS = [
    (og.device("cpu"), og.device),
    ("cpu", og.device),
    (og.device("meta"), Optional[og.device]),
    (None, Optional[og.device]),
    ('say "hi"', str),
    ("it's", str),
    ("back\\slash", str),
    ("two\nlines\r\t", str),
    ("\0\x01\x7f", str),
    ("é漢🙂", str),
    ("", str),
    ("text", Optional[str]),
    (math.inf, float),
    (-math.inf, float),
    (math.nan, float),
    (-math.inf, Optional[float]),
    (-2.5, float),
    (1e300, float),
    (1e22, float),
    (0.1, float),
    (3, float),
    (-3, int),
    (2**63 - 1, int),
    (-(2**63), int),
    (7, Optional[int]),
    (None, Optional[int]),
    (None, Optional[Tensor]),
    (True, bool),
    (False, Optional[bool]),
    (1, Union[int, float, bool]),
    (-2.5, Union[int, float, bool]),
    (True, Union[int, float, bool]),
    (math.inf, Union[int, float, bool]),
    (og.float16, og.dtype),
    (og.bfloat16, Optional[og.dtype]),
    (None, Optional[og.dtype]),
    (og.strided, og.layout),
    (og.contiguous_format, og.memory_format),
    ([1, -2], List[int]),
    ([], List[int]),
    ((), Sequence[Tensor]),
    ([], List[Optional[Tensor]]),
    ((3, 4), Sequence[int]),
    ([1.5, math.inf, -2.0], List[float]),
    ([True, False], List[bool]),
    (["a", 'b"\n'], List[str]),
    ([1, 2], Optional[List[int]]),
    (None, Optional[List[int]]),
]


def same(one, other):
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other or (one != one and other != other)


@pytest.mark.parametrize("number", range(len(DEFAULTS)))
@pytest.mark.parametrize("by_name", [False, True])
def test_every_default_is_what_the_function_gets(number, by_name):
    default, kind = DEFAULTS[number]
    got = []

    def by_position(x, d=default):
        got.append(d)
        return x.clone()

    def named(x, *, d=default):
        return by_position(x, d)

    function = named if by_name else by_position
    function.__annotations__ = {"x": Tensor, "d": kind, "return": Tensor}
    op = custom_op(f"custom_defaults::op{number}{by_name}", function, mutates_args=())
    x = og.ones(1)
    op(x)
    op(x, d=default)
    expected = og.device(default) if isinstance(default, str) and "device" in str(kind) else default
    assert same(got[0], expected) and same(got[1], expected)
    parameter = inspect.signature(op._opoverload).parameters["d"].default
    assert same(parameter, expected if default is not None else None)
    # What is printed defines the same operator, but for the forms that torch prints so that they do not read back.
    if not isinstance(expected, og.device):
        with Library("custom_defaults_again", "FRAGMENT") as again:
            again.define(str(op._opoverload._schema).partition("::")[2])


def test_a_default_that_no_schema_can_hold():
    def function(x, d="\ud800"):
        return x

    function.__annotations__ = {"x": Tensor, "d": str, "return": Tensor}
    with pytest.raises(ValueError, match="surrogates"):
        library.infer_schema(function, mutates_args=())


@custom_op("custom_writes::fill", mutates_args={"x"})
def fill(x: Tensor, value: float) -> None:
    np.copyto(x.detach().numpy(), value)


@custom_op("custom_writes::fill_all", mutates_args={"xs"})
def fill_all(xs: List[Tensor], value: float) -> None:
    for x in xs:
        np.copyto(x.detach().numpy(), value)


def fill_by_schema(schema):
    lib = Library("custom_writes", "FRAGMENT")
    name = lib.define(schema)

    def kernel(*args, **kwargs):
        written = args[0] if args else kwargs["out"]
        for x in written if isinstance(written, list) else [written]:
            if x is not None:
                np.copyto(x.detach().numpy(), 5.0)
        return args[0] if "->" in schema and not schema.endswith("()") else None

    lib.impl(name, kernel, "CPU")
    return getattr(og.ops.custom_writes, name), lib


@pytest.mark.parametrize(
    ("schema", "call"),
    [
        ("a(Tensor(a!) x) -> ()", lambda op, x: op(x)),
        ("b(Tensor(a!) x) -> Tensor(a!)", lambda op, x: op(x)),
        ("c(Tensor(a!)? x) -> ()", lambda op, x: op(x)),
        ("d(Tensor(a!)[] xs) -> ()", lambda op, x: op([og.ones(1), x])),
        ("e(Tensor(a!)?[] xs) -> ()", lambda op, x: op([None, x])),
        ("f(*, Tensor(a!) out) -> ()", lambda op, x: op(out=x)),
    ],
)
def test_a_declared_write_counts_however_the_kernel_writes(schema, call):
    op, lib = fill_by_schema(schema)
    x = og.ones(2)
    base = x.view(1, 2)
    before = x._version
    call(op, x)
    assert x.tolist() == [5.0, 5.0] and x._version > before and base._version == x._version
    lib._destroy()


def test_a_write_counts_also_where_the_kernel_fails():
    def half(x):
        np.copyto(x.numpy(), 5.0)
        raise ValueError("in the middle")

    with Library("custom_writes", "FRAGMENT") as lib:
        lib.define("half(Tensor(a!) x) -> ()")
        lib.impl("half", half, "CPU")
        x = og.ones(2)
        with pytest.raises(ValueError, match="in the middle"):
            og.ops.custom_writes.half(x)
        assert x._version > 0


def test_gradients_notice_what_a_kernel_wrote():
    for write in (lambda x: fill(x, 7.0), lambda x: fill_all([og.ones(1), x], 7.0)):
        w, kept = og.ones(2, requires_grad=True), og.ones(2)
        loss = (w * kept).sum()
        write(kept)
        assert kept.tolist() == [7.0, 7.0]
        with pytest.raises(RuntimeError, match="written"):
            loss.backward()


def test_what_a_kernel_reads_is_not_written():
    @custom_op("custom_writes::total", mutates_args=())
    def total(x: Tensor) -> Tensor:
        return og.tensor(float(x.detach().numpy().sum()))

    x = og.ones(2)
    before = x._version
    assert total(x).item() == 2 and x._version == before


def test_a_kernel_uses_numpy_where_its_arguments_require_gradients():
    @custom_op("custom_numpy::sine", mutates_args=())
    def sine(x: Tensor) -> Tensor:
        return og.from_numpy(np.sin(x.numpy()))

    @sine.register_fake
    def _(x):
        return og.empty_like(x)

    sine.register_autograd(
        lambda ctx, g: g * ctx.saved_tensors[0].cos(), setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs)
    )
    x = og.tensor([0.5, 1.0], dtype=og.float64, requires_grad=True)
    sine(x).sum().backward()
    assert og.allclose(x.grad, og.cos(x.detach()))
    assert og.autograd.gradcheck(sine, x)


def test_opcheck_compares_bytes():
    def registered(name, function, schema="(Tensor x) -> Tensor"):
        lib = Library("custom_opcheck", "FRAGMENT")
        lib.define(name + schema)
        lib.impl(name, function, "CPU")
        kept.append(lib)
        return getattr(og.ops.custom_opcheck, name).default

    kept = []

    def secret(x):
        x.numpy()[0] = -0.0
        return x.clone()

    with pytest.raises(library.opcheck.__globals__["OpCheckError"], match="x is written"):
        library.opcheck(registered("secret", secret), (og.zeros(2),), test_utils="test_schema")

    def in_a_list(xs):
        xs[1].numpy()[...] = 3
        return xs[0].clone()

    op = registered("in_a_list", in_a_list, "(Tensor[] xs) -> Tensor")
    with pytest.raises(AssertionError, match="xs is written"):
        library.opcheck(op, ([og.ones(1), og.ones(2)],), test_utils="test_schema")
    for lib in kept:
        lib._destroy()
    for dtype in (og.bool, og.int8, og.int64, og.float16, og.bfloat16, og.float64, og.complex64, og.complex128, og.uint16):
        for x in (og.zeros(2, 3, dtype=dtype).T, og.zeros(4, dtype=dtype)[::2], og.zeros((), dtype=dtype), og.zeros(0, dtype=dtype)):
            assert library.opcheck(og.ops.aten.clone.default, (x,), test_utils="test_schema") == {"test_schema": "SUCCESS"}
    nan = og.tensor([math.nan])
    assert library.opcheck(fill, (og.ones(2), 3.0), test_utils="test_schema") == {"test_schema": "SUCCESS"}
    assert library.opcheck(og.ops.aten.clone.default, (nan,), test_utils="test_schema") == {"test_schema": "SUCCESS"}


def test_opcheck_looks_for_derivatives():
    @custom_op("custom_opcheck::twice", mutates_args=())
    def twice(x: Tensor) -> Tensor:
        return x * 2

    def checked():
        found = library.opcheck(twice, (og.ones(2, requires_grad=True),), test_utils=name, raise_exception=False)
        return found[name]

    name = "test_autograd_registration"
    assert "has no derivative" in checked()
    twice.register_autograd(lambda ctx, g: (g, g))
    assert checked().startswith("FAILED") and "returned 2 gradients" in checked()
    twice.register_autograd(lambda ctx, g: g * 2)
    assert checked() == "SUCCESS"
    x = og.ones(2, requires_grad=True)
    twice(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0] and copy.deepcopy([twice])[0] is twice


@custom_op("custom_grads::scaled", mutates_args=())
def scaled(x: Tensor, n: int, *, k: float = 2.0) -> Tensor:
    return x * n * k


def keep_by_name(ctx, inputs, keyword_only_inputs, output):
    assert output.shape == inputs[0].shape and list(keyword_only_inputs) == ["k"]
    ctx.factor = inputs[1] * keyword_only_inputs["k"]


def keep_in_another_order(output, keyword_only_inputs, inputs, ctx):
    keep_by_name(ctx, inputs, keyword_only_inputs, output)


def keep_with_other_names(c, i, k, o):
    keep_by_name(c, i, k, o)


@pytest.mark.parametrize("keep", [keep_by_name, keep_in_another_order, keep_with_other_names])
def test_derivatives_with_keyword_only_arguments(keep):
    with Library("custom_grads", "FRAGMENT") as lib:
        library.register_autograd(scaled, lambda ctx, g: (g * ctx.factor, None), setup_context=keep, lib=lib)
        for kwargs, factor in (({"k": 4.0}, 12.0), ({}, 6.0)):
            x = og.ones(2, requires_grad=True)
            scaled(x, 3, **kwargs).sum().backward()
            assert x.grad.tolist() == [factor, factor]


@custom_op("custom_grads::joined", mutates_args=())
def joined(xs: List[Tensor], w: Tensor) -> Tensor:
    return og.cat([x * w for x in xs])


@pytest.mark.filterwarnings("ignore")
def test_kernels_of_custom_operators_by_the_free_function():
    @custom_op("custom_numpy::halved", mutates_args=(), device_types="meta")
    def halved(x: Tensor) -> Tensor:
        return x / 2

    @library.register_kernel(halved, "cpu")
    def _(x):
        return og.from_numpy(x.numpy() / 2)

    assert halved(og.ones(2, requires_grad=True)).tolist() == [0.5, 0.5]
    with pytest.raises(RuntimeError, match="must not alias"):
        library.register_kernel(halved, "cpu", lambda x: x)
        halved(og.ones(2))


@pytest.mark.parametrize("wrong", ["CompositeImplicitAutograd", "AutogradCPU", "Autograd", ["cpu", "gpu"]])
def test_device_types_are_no_dispatch_keys(wrong):
    with pytest.raises(ValueError, match=r"custom_keys::f: found the device type .*Library\.impl"):
        custom_op("custom_keys::f", mutates_args=(), device_types=wrong)
    op = custom_op("custom_keys::f", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="custom_keys::f: found the device type"):
        op.register_kernel(wrong, lambda x: x)
    assert library.register_kernel(op, "CPU", lambda x: x + 1)(1) == 2 and op(og.ones(1)).item() == 2


def test_derivatives_of_lists_of_tensors():
    seen = []

    def keep(ctx, inputs, output):
        seen.append(ctx.needs_input_grad)
        ctx.save_for_backward(*inputs[0], inputs[1])

    def back(ctx, g):
        *xs, w = ctx.saved_tensors
        parts = g.split([len(x) for x in xs])
        return [p * w for p in parts], sum((p * x).sum() for p, x in zip(parts, xs))

    with Library("custom_grads", "FRAGMENT") as lib:
        library.register_autograd(joined, back, setup_context=keep, lib=lib)
        a, b, w = og.ones(2, requires_grad=True), og.ones(1), og.tensor(2.0, requires_grad=True)
        joined([a, b], w).sum().backward()
        assert a.grad.tolist() == [2.0, 2.0] and b.grad is None and w.grad.item() == 3.0
        assert seen == [([True, False], True)]
    for wrong, message in [
        (lambda ctx, g: ([g], None), "returned 1 gradients for argument 0, expected a list of 2"),
        (lambda ctx, g: (g, None), "an object of class Tensor for argument 0, expected a list of 2"),
        (lambda ctx, g: None, "returned 1 gradients, expected 2"),
    ]:
        with Library("custom_grads", "FRAGMENT") as lib:
            library.register_autograd(joined, wrong, lib=lib)
            loss = joined([og.ones(2, requires_grad=True), og.ones(1)], og.tensor(2.0)).sum()
            with pytest.raises(RuntimeError, match=message):
                loss.backward()
    with Library("custom_grads", "FRAGMENT") as lib:
        library.register_autograd(joined, lambda ctx, g: (None, g.sum()), lib=lib)
        a, w = og.ones(2, requires_grad=True), og.tensor(2.0, requires_grad=True)
        joined([a], w).sum().backward()
        assert a.grad is None and w.grad.item() == 2.0


def test_a_derivative_of_one_list():
    @custom_op("custom_grads::total", mutates_args=())
    def total(xs: List[Tensor]) -> Tensor:
        return sum(xs) + 0

    total.register_autograd(lambda ctx, g: [g * 2] * ctx.count, setup_context=lambda ctx, inputs, output: setattr(ctx, "count", len(inputs[0])))
    x, y = og.ones(2, requires_grad=True), og.ones(2, requires_grad=True)
    total([x, y]).sum().backward()
    assert x.grad.tolist() == y.grad.tolist() == [2.0, 2.0]


@custom_op("custom_grads::pair", mutates_args=())
def pair(x: Tensor) -> Tuple[Tensor, Tensor]:
    return x * 2, x * 3


@custom_op("custom_grads::parts", mutates_args=())
def parts(x: Tensor, count: int) -> Tuple[Tensor, List[Tensor]]:
    return x * 2, [x * (n + 1) for n in range(count)]


def test_results_that_nobody_used():
    with Library("custom_grads", "FRAGMENT") as lib:
        library.register_autograd(pair, lambda ctx, a, b: a * 2 + b * 3, lib=lib)
        x = og.ones(1, requires_grad=True)
        pair(x)[1].sum().backward()
        assert x.grad.tolist() == [3.0]
    seen = []

    def back(ctx, a, b):
        seen.append((a, b))
        return b * 3

    with Library("custom_grads", "FRAGMENT") as lib:
        library.register_autograd(pair, back, setup_context=lambda ctx, inputs, output: ctx.set_materialize_grads(False), lib=lib)
        pair(og.ones(1, requires_grad=True))[1].sum().backward()
        assert seen[0][0] is None and seen[0][1].tolist() == [1.0]


def test_results_that_are_constant():
    for marked, message in ((slice(1, 2), None), (slice(0, 1), "give constant results last"), (slice(0, 2), None)):
        with Library("custom_grads", "FRAGMENT") as lib:

            def keep(ctx, inputs, output, marked=marked):
                ctx.mark_non_differentiable(*output[marked])

            library.register_autograd(pair, lambda ctx, a, b: a * 2 + b * 3, setup_context=keep, lib=lib)
            x = og.ones(1, requires_grad=True)
            if message:
                with pytest.raises(NotImplementedError, match=message):
                    pair(x)
                continue
            first, second = pair(x)
            assert not second.requires_grad and first.requires_grad == (marked.start == 1)
            if first.requires_grad:
                first.sum().backward()
                assert x.grad.tolist() == [2.0]


def test_results_that_are_lists():
    seen = []

    def keep(ctx, inputs, output):
        seen.append((type(output), type(output[1]), len(output[1])))

    def back(ctx, first, rest):
        return first * 2 + sum(g * (n + 1) for n, g in enumerate(rest)), None

    with Library("custom_grads", "FRAGMENT") as lib:
        library.register_autograd(parts, back, setup_context=keep, lib=lib)
        x = og.ones(1, requires_grad=True)
        parts(x, 3)[1][2].sum().backward()
        assert x.grad.tolist() == [3.0] and seen == [(tuple, list, 3)]


def test_operators_that_have_no_derivative():
    with pytest.raises(RuntimeError, match="writes its argument x"):
        fill.register_autograd(lambda ctx, g: None)

    @custom_op("custom_grads::by_name", mutates_args=())
    def by_name(x: Tensor, *, y: Tensor) -> Tensor:
        return x * y

    with pytest.raises(NotImplementedError, match="argument y"):
        by_name.register_autograd(lambda ctx, g: g)
    with Library("custom_grads", "FRAGMENT") as lib:
        library.register_autograd(scaled, lambda ctx, g: (g, g), lib=lib)
        loss = scaled(og.ones(1, requires_grad=True), 3).sum()
        with pytest.raises(RuntimeError, match="gradient for argument 1, which is not a tensor"):
            loss.backward()


def line_here():
    return inspect.currentframe().f_back.f_lineno


def meta_place(name):
    return next(slot.kernel.place for slot in og.table(name) if str(slot.key) == "Meta")


def test_a_fake_kernel_stands_where_it_was_registered():
    def function(x: Tensor) -> Tensor:
        return x.clone()

    fake = lambda x: og.empty_like(x)  # noqa: E731
    op = custom_op("custom_places::f", function, mutates_args=())
    assert meta_place("custom_places::f").startswith(__file__)
    for register in (lambda: op.register_fake(fake), lambda: library.register_fake(op, fake)):
        register()
        assert meta_place("custom_places::f") == f"{__file__}:{line_here() - 2}"
    with Library("custom_places", "FRAGMENT") as lib:
        lib.define("g(Tensor x) -> Tensor")
        library.register_fake("custom_places::g", fake, lib=lib)
        assert meta_place("custom_places::g") == f"{__file__}:{line_here() - 1}"
    assert op(og.ones(2, device="meta")).device.type == "meta"


class Cut(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        ctx.save_for_backward(x > 0)
        x.clamp_(min=0)
        return x

    @staticmethod
    def backward(ctx, g):
        (mask,) = ctx.saved_tensors
        return g * mask


def test_a_function_that_writes_its_argument():
    leaf = og.tensor([-1.0, 2.0], requires_grad=True)
    x = leaf.clone()
    y = Cut.apply(x)
    assert y is x and not x.is_leaf and x.grad_fn.name() == "CutBackward"
    (x * 3).sum().backward()
    assert leaf.grad.tolist() == [0.0, 3.0]


def test_a_function_that_writes_what_requires_no_gradient():
    z = og.tensor([-1.0, 2.0])
    before = z._version
    assert Cut.apply(z) is z and not z.requires_grad and z._version > before
    leaf = og.tensor([-1.0, 2.0], requires_grad=True)
    with og.no_grad():
        y = Cut.apply(leaf)
    assert leaf.requires_grad and leaf.is_leaf and leaf.tolist() == [0.0, 2.0] and not y.requires_grad


def test_leaves_that_a_function_may_not_write():
    leaf = og.tensor([-1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf that requires a gradient"):
        Cut.apply(leaf)
    with pytest.raises(RuntimeError, match="view of a leaf"):
        Cut.apply(leaf[1:])
    assert leaf.is_leaf and leaf.requires_grad


def test_a_function_that_writes_a_view():
    leaf = og.tensor([-1.0, 2.0, 3.0, -4.0], requires_grad=True)
    x = leaf.clone()
    view = x[1:]
    assert Cut.apply(view) is view
    ((view * 3).sum() + (x * x).sum()).backward()
    assert leaf.grad.tolist() == [-2.0, 7.0, 9.0, 0.0]


class Become(Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.mark_dirty(x)
        x.copy_(w * 2)
        return x

    @staticmethod
    def backward(ctx, g):
        return None, g * 2


def test_what_is_written_begins_to_require_a_gradient():
    for base, written in [(og.zeros(2), slice(None)), (og.zeros(3), slice(1, None))]:
        x = base if base.numel() == 2 else base[written]
        w = og.ones(2, requires_grad=True)
        assert Become.apply(x, w) is x and base.requires_grad
        base.sum().backward()
        assert w.grad.tolist() == [2.0, 2.0]


def test_arguments_that_are_written_are_results():
    class Lost(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            x.mul_(2)
            return x.clone()

    for x in (og.ones(2), og.ones(2, requires_grad=True).clone()):
        with pytest.raises(RuntimeError, match="written in place but is not a result"):
            Lost.apply(x)

    class NoTensor(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(3)

    with pytest.raises(RuntimeError, match="argument 0 is of class int"):
        NoTensor.apply(og.ones(2))


class Both(Function):
    """Writes two arguments, gives them in the other order, and a constant beside them."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_dirty(x, y)
        x.mul_(2)
        y.mul_(3)
        largest = x.argmax()
        ctx.mark_non_differentiable(largest)
        return y, x, largest

    @staticmethod
    def backward(ctx, of_y, of_x, _):
        return of_x * 2, of_y * 3


def test_several_results():
    a, b = og.ones(2, requires_grad=True), og.ones(2, requires_grad=True)
    x, y = a.clone(), b.clone()
    first, second, largest = Both.apply(x, y)
    assert first is y and second is x and not largest.requires_grad
    (y * 10 + x).sum().backward()
    assert a.grad.tolist() == [2.0, 2.0] and b.grad.tolist() == [30.0, 30.0]
    with pytest.raises(RuntimeError, match="wrote a view and returned 2 results"):
        Both.apply(a.clone()[:1], b.clone()[:1])


def test_a_write_is_noticed_by_what_was_kept_before():
    class ThroughNumpy(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            np.copyto(x.numpy(), 9.0)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 0

    for function in (Cut, ThroughNumpy):
        x = og.ones(2, requires_grad=True).clone()
        loss = (x * x).sum()
        function.apply(x)
        with pytest.raises(RuntimeError, match="written"):
            loss.backward()


def test_second_derivatives_of_a_function_that_keeps_what_it_wrote():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            x.exp_()
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return y * g

    leaf = og.zeros(2, requires_grad=True)
    y = Exp.apply(leaf.clone())
    (first,) = og.autograd.grad(y.sum(), leaf, create_graph=True)
    (second,) = og.autograd.grad(first.sum(), leaf)
    assert first.tolist() == [1.0, 1.0] and second.tolist() == [1.0, 1.0]


def test_a_function_with_setup_context_that_writes():
    class Double(Function):
        @staticmethod
        def forward(x):
            return x.mul_(2)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_dirty(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return g * 2

    leaf = og.ones(2, requires_grad=True)
    x = leaf.clone()
    assert Double.apply(x) is x
    x.sum().backward()
    assert leaf.grad.tolist() == [2.0, 2.0]


def test_a_constant_that_is_the_argument():
    class Constant(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            ctx.mark_non_differentiable(x)
            x.mul_(2)
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    x = og.ones(2, requires_grad=True).clone()
    y = Constant.apply(x)
    assert y is not x and not y.requires_grad and y.tolist() == [2.0, 2.0]
