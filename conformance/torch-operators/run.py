"""Runs operators of opgrid inside torch, and operators of torch inside opgrid.

`cargo xtask conformance torch-operators` builds the package and runs this in an interpreter with torch; `--only` takes the
beginnings of names of tests. Exit status 1 if one fails.
"""

from __future__ import annotations

import argparse
import gc
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import opgrid as og
import torch
from torch.library import opcheck

EXAMPLE: str | None = None
LIBRARIES: list[Any] = []
KEPT: list[Any] = []


def define(schema: str, kernel: Callable[..., Any], key: str = "CPU", *, tags: tuple[str, ...] = ()) -> og.library.Library:
    """An operator of ours with a kernel in Python; it stays until its library goes."""
    namespace, _, rest = schema.partition("::")
    library = og.library.Library(namespace, "FRAGMENT")
    library.define(rest, tags=tags)
    library.impl(rest.partition("(")[0], kernel, key)
    LIBRARIES.append(library)
    return library


def raised(call: Callable[[], Any], *parts: str) -> str:
    """The text of the exception that a call raises, which has to contain these."""
    try:
        call()
    except Exception as error:
        text = str(error)
        missing = [part for part in parts if part not in text]
        assert not missing, f"{missing} not in {text!r}"
        return text
    raise AssertionError(f"nothing was raised, expected {parts}")


def same(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def to_ours(tensor: torch.Tensor) -> Any:
    return og.from_dlpack(tensor.detach())


def to_torch(tensor: Any) -> torch.Tensor:
    return torch.from_dlpack(tensor)


# Operators that are written in Rust, with meta kernels and derivatives.
gelu = og.torch.export("aten::gelu", name="mine::gelu")
mm = og.torch.export("aten::mm", name="mine::mm")
softmax = og.torch.export("aten::_softmax", name="mine::softmax")
square = og.torch.export("aten::square", name="mine::square")
atan2 = og.torch.export("aten::atan2", name="mine::atan2")
cat = og.torch.export("aten::cat", name="mine::cat")
max_dim = og.torch.export("aten::max.dim", name="mine::max")


def sample(*sizes: int, requires_grad: bool = True) -> torch.Tensor:
    torch.manual_seed(3)
    return torch.randn(*sizes).requires_grad_(requires_grad)


CALLS: list[tuple[str, Any, str, Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]]] = [
    ("gelu", gelu, "gelu", lambda: ((sample(3, 4),), {})),
    ("gelu tanh", gelu, "gelu", lambda: ((sample(3, 4),), {"approximate": "tanh"})),
    ("mm", mm, "mm", lambda: ((sample(3, 4), sample(4, 2)), {})),
    ("softmax", softmax, "_softmax", lambda: ((sample(3, 4), 1, False), {})),
    ("square", square, "square", lambda: ((sample(5),), {})),
    ("atan2", atan2, "atan2", lambda: ((sample(3, 1), sample(4) + 3), {})),
    ("cat", cat, "cat", lambda: (([sample(2, 3), sample(1, 3)], 0), {})),
    ("max", max_dim, "max.dim", lambda: ((sample(3, 4), 1), {})),
]


def flat(values: Any) -> list[Any]:
    return [item for value in values for item in (flat(value) if isinstance(value, (list, tuple)) else [value])]


def leaves(values: Any) -> list[torch.Tensor]:
    return [value for value in flat(values) if isinstance(value, torch.Tensor) and value.is_leaf and value.requires_grad]


def test_opcheck() -> None:
    for name, op, _, make in CALLS:
        args, kwargs = make()
        results = opcheck(op, args, kwargs)
        assert all(value == "SUCCESS" for value in results.values()), (name, results)


def test_an_operator_equals_itself_called_here() -> None:
    for name, op, ours, make in CALLS:
        args, kwargs = make()

        def here(value: Any) -> Any:
            if isinstance(value, list):
                return [here(item) for item in value]
            return to_ours(value) if isinstance(value, torch.Tensor) else value

        base, _, overload = ours.partition(".")
        expected = getattr(getattr(og.ops.aten, base), overload or "default")(*[here(value) for value in args], **kwargs)
        for one, other in zip(flat([op(*args, **kwargs)]), flat([expected])):
            assert torch.equal(one.detach(), to_torch(other)), name


def test_compiled_with_aot_eager() -> None:
    for dynamic in (False, True):
        for name, op, _, make in CALLS:
            args, kwargs = make()

            def function(*args: Any) -> Any:
                results = op(*args, **kwargs)
                results = results if isinstance(results, tuple) else (results,)
                return sum((result * result).sum() for result in results if result.dtype.is_floating_point)

            torch._dynamo.reset()
            compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=dynamic)
            found = compiled(*args)
            expected = function(*args)
            same(found, expected)
            inputs = leaves(args)
            for one, other in zip(torch.autograd.grad(found, inputs), torch.autograd.grad(expected, inputs)):
                same(one, other)


def test_gradients_are_those_of_torch() -> None:
    same(*[torch.autograd.grad(f(x).sum(), x)[0] for x in [sample(4, 3)] for f in (gelu, torch.nn.functional.gelu)])
    x, y = sample(3, 4), sample(4, 2)
    weights = torch.arange(6.0).reshape(3, 2)
    for one, other in zip(
        torch.autograd.grad((mm(x, y) * weights).sum(), [x, y]), torch.autograd.grad((torch.mm(x, y) * weights).sum(), [x, y])
    ):
        same(one, other)
    # One tensor for two arguments has both gradients.
    x = sample(3, 3)
    same(torch.autograd.grad(mm(x, x).sum(), x)[0], torch.autograd.grad(torch.mm(x, x).sum(), x)[0])
    # Only what needs a gradient gets one.
    y = sample(3, 3, requires_grad=False)
    mm(x, y).sum().backward()
    assert y.grad is None and x.grad is not None
    x = sample(4, 3)
    same(torch.autograd.grad(max_dim(x, 1)[0].sum(), x)[0], torch.autograd.grad(torch.max(x, 1)[0].sum(), x)[0])
    assert torch.autograd.gradcheck(gelu, (sample(2, 3).double().detach().requires_grad_(),))


def test_second_derivatives_are_refused() -> None:
    x = sample(3)
    (first,) = torch.autograd.grad(square(x).sum(), x, create_graph=True)
    raised(lambda: first.sum().backward(), "mine::square", "gradients of its gradients")


def test_dynamic_sizes_stay_symbols_for_pointwise_operators() -> None:
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda x: gelu(x) + 1, backend=counter, dynamic=True, fullgraph=True)
    for size in (3, 5, 9):
        x = torch.randn(size, 2)
        same(compiled(x), gelu(x) + 1)
    assert counter.frame_count == 1, counter.frame_count


def kinds(x, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v=None):
    KEPT[:] = [a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u, v]
    return x + 1, a + 1, b / 2, not c, d + "!", [*i, 7], [*l, x * 2], n


def test_every_kind_of_argument() -> None:
    define(
        "mine::kinds(Tensor x, int a, float b, bool c, str d, ScalarType e, Layout f, MemoryFormat g, Device h, int[] i, float[] j,"
        " bool[] k, Tensor[] l, Tensor?[] m, int? n, Tensor? o, str[] p, SymInt q, SymInt[] r, ScalarType? s, Device? t, int[]? u,"
        " Generator? v=None) -> (Tensor, int, float, bool, str, int[], Tensor[], int?)",
        kinds,
    )
    op = og.torch.export("mine::kinds")
    x, y = torch.ones(2), torch.zeros(3)
    arguments = (x, 4, 2.5, True, "añb", torch.float64, torch.strided, torch.channels_last, torch.device("cuda", 3), [1, -2], [0.5])
    arguments += ([True, False], [x, y], [None, y], None, None, ["one", ""], 5, [6, 7], torch.int32, None, [8])
    results = op(*arguments)
    same(results[0], x + 1)
    assert results[1:6] == (5, 1.25, False, "añb!", [1, -2, 7]) and results[7] is None
    same(results[6], [x, y, x * 2])
    a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u, v = KEPT
    assert (a, b, c, d, e, f, g) == (4, 2.5, True, "añb", og.float64, og.strided, og.channels_last)
    assert str(h) == "cuda:3" and (i, j, k) == ([1, -2], [0.5], [True, False])
    assert m[0] is None and m[1].tolist() == [0, 0, 0] and (n, o, p) == (None, None, ["one", ""])
    assert (q, r, s, t, u, v) == (5, [6, 7], og.int32, None, [8], None)
    some = list(arguments)
    some[14], some[15], some[20] = 3, y, torch.device("cpu")
    assert op(*some)[7] == 3 and KEPT[13].tolist() == [0, 0, 0] and str(KEPT[18]) == "cpu"
    raised(lambda: op(*arguments, v=torch.Generator()), "mine::kinds", "argument `v`", "generator")
    KEPT.clear()


def test_types_that_cannot_cross_are_named() -> None:
    define("mine::number(Tensor x, Scalar s) -> Tensor", lambda x, s: x)
    raised(lambda: og.torch.export("mine::number"), "mine::number", "argument `s`", "Scalar", "C interface")
    assert not hasattr(torch.ops.mine, "number")
    define("mine::pairs(Tensor x, Dict(str, int) d) -> Tensor", lambda x, d: x)
    raised(lambda: og.torch.export("mine::pairs"), "argument `d`", "Dict(str, int)")
    define("mine::gives(Tensor x) -> Scalar", lambda x: 1)
    raised(lambda: og.torch.export("mine::gives"), "result 0", "Scalar")


def test_bad_exports() -> None:
    raised(lambda: og.torch.export("mine::gelu_"), "mine::gelu_")
    raised(lambda: og.torch.export("aten::geluu"), "gelu")
    raised(lambda: og.torch.export("aten::gelu", name="mine::gelu"), "mine::gelu", "before")
    raised(lambda: og.torch.export("aten::gelu"), "aten", "gelu")
    raised(lambda: og.torch.export("aten::gelu", name="gelu"), "expected a name")
    raised(lambda: og.torch.export("aten::gelu", name="a::b.c"), "expected a name")
    raised(lambda: og.torch.export(og.ops.aten.add), "one overload")
    # What has failed can be tried again under another name.
    assert og.torch.export("aten::gelu", name="mine::gelu_again")(torch.zeros(1)).item() == 0


def fails(x):
    raise ValueError(f"a tensor of {x.numel()} elements is not for me")


def test_errors_are_exceptions_with_their_text() -> None:
    define("mine::fails(Tensor x) -> Tensor", fails)
    op = og.torch.export("mine::fails")
    for _ in range(3):
        raised(lambda: op(torch.ones(4)), "a tensor of 4 elements is not for me")
    raised(lambda: mm(torch.ones(2, 3), torch.ones(2, 3)), "aten::mm")
    raised(lambda: gelu(torch.ones(3, dtype=torch.int64)), "gelu")
    # Errors of torch's own dispatcher, for which there is no kernel of ours.
    raised(lambda: square(torch.ones(2, 2).to_sparse()), "mine::square", "SparseCPU")
    raised(lambda: square(torch.ones(2, dtype=torch.float32).to_mkldnn()), "mine::square")
    raised(lambda: square(3), "mine::square")
    raised(lambda: square(torch.ones(2, dtype=torch.complex32)), "argument `self`", "dtype of torch")
    assert square(torch.ones(2)).tolist() == [1, 1]


def test_memory_is_shared_both_ways() -> None:
    seen: list[int] = []

    def look(x):
        seen.append(x.data_ptr())
        result = x * 2
        seen.append(result.data_ptr())
        return result

    define("mine::look(Tensor x) -> Tensor", look)
    op = og.torch.export("mine::look")
    x = torch.arange(12.0).reshape(3, 4)
    for view in (x, x.t(), x[1:, ::2], x[2], x[0, 0], x.expand(2, 3, 4), x.as_strided((2, 2), (1, 1), 3)):
        seen.clear()
        result = op(view)
        same(result, view * 2)
        assert seen == [view.data_ptr(), result.data_ptr()], view.shape
    for sizes in ((0,), (3, 0), (0, 2, 5)):
        result = op(torch.empty(sizes))
        assert result.shape == sizes and result.dtype == torch.float32
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float64, torch.complex64):
        value = torch.ones(3, dtype=dtype)
        same(op(value), value * 2)


def test_tensors_outlive_each_other() -> None:
    def keep(x):
        KEPT.append(x)
        return x + 1

    define("mine::keep(Tensor x) -> Tensor", keep)
    op = og.torch.export("mine::keep")
    x = torch.full((1000,), 3.0)
    result = op(x)
    del x
    gc.collect()
    assert KEPT[0].sum().item() == 3000 and result.sum().item() == 4000
    KEPT.clear()
    held = [op(torch.full((10000,), float(number))) for number in range(20)]
    KEPT.clear()
    gc.collect()
    assert [int(one[5]) for one in held] == list(range(1, 21))


def resident() -> int:
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def test_nothing_is_lost() -> None:
    x = torch.ones(1000)
    many = [torch.ones(100) for _ in range(3)]

    def round_() -> None:
        for _ in range(300):
            square(x)
            cat(many)
            gelu(x, approximate="tanh")
            try:
                gelu(x, approximate="nothing")
            except RuntimeError:
                pass
            y = sample(10)
            square(y).sum().backward()

    round_()
    before = resident()
    for _ in range(5):
        round_()
    assert resident() - before < 4 << 20, resident() - before


def test_threads() -> None:
    x = torch.randn(64, 64)
    expected, wrong = gelu(x), []

    def work() -> None:
        for number in range(200):
            y = mm(x, x) if number % 2 else gelu(x)
            if not number % 2 and not torch.equal(y, expected):
                wrong.append(number)
            try:
                mm(x, torch.ones(3, 3))
                wrong.append(number)
            except RuntimeError as error:
                if "aten::mm" not in str(error):
                    wrong.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong, wrong[:3]


def test_operators_that_write() -> None:
    def twice_(x):
        x.mul_(2)
        return x

    def add_into(x, y, *, out):
        return og.add(x, y, out=out)

    define("mine::twice_(Tensor(a!) x) -> Tensor(a!)", twice_)
    twice = og.torch.export("mine::twice_")
    x = torch.arange(6.0)
    result = twice(x)
    assert x.tolist() == [0, 2, 4, 6, 8, 10] and result.data_ptr() == x.data_ptr()
    twice(x[1::2])
    assert x.tolist() == [0, 4, 4, 12, 8, 20]
    version = x._version
    twice(x)
    assert x._version == version + 1
    define("mine::add_into(Tensor x, Tensor y, *, Tensor(a!) out) -> Tensor(a!)", add_into)
    into = og.torch.export("mine::add_into")
    out = torch.empty(3)
    into(torch.ones(3), torch.ones(3), out=out)
    assert out.tolist() == [2, 2, 2]
    empty = torch.empty(0)
    found = into(torch.ones(2, 2), torch.ones(2, 2), out=empty)
    assert empty.shape == (2, 2) and empty.tolist() == [[2, 2], [2, 2]] and found.shape == (2, 2)
    # Overlap of inputs and output is seen, although torch gives them as different tensors.
    line = torch.arange(4.0)
    raised(lambda: into(line[:3], line[:3], out=line[1:]), "single memory location")
    define("mine::add_(Tensor(a!) x, Tensor y) -> Tensor(a!)", lambda x, y: x.add_(y))
    add_ = og.torch.export("mine::add_")
    x = torch.ones(3)
    add_(x, x)
    assert x.tolist() == [2, 2, 2]
    library = define("mine::store(Tensor(a!) x, Tensor y) -> ()", lambda x, y: (x.copy_(y), None)[1])
    library.impl("store", lambda x, y: None, "Meta")
    store = og.torch.export("mine::store")
    assert store(x, torch.zeros(3)) is None and x.tolist() == [0, 0, 0]
    opcheck(store, (torch.ones(3), torch.zeros(3)))
    torch._dynamo.reset()

    def function(x):
        y = x.clone()
        store(y, x * 3)
        return y + 1

    same(torch.compile(function, backend="aot_eager", fullgraph=True)(torch.ones(2)), torch.tensor([4.0, 4.0]))


def test_views() -> None:
    define("mine::column(Tensor(a) x) -> Tensor(a)", lambda x: x[:, 1])
    column = og.torch.export("mine::column")
    x = torch.arange(6.0).reshape(3, 2)
    view = column(x)
    assert view.tolist() == [1, 3, 5] and view.data_ptr() == x.data_ptr() + 4
    view.zero_()
    assert x.tolist() == [[0, 0], [2, 0], [4, 0]]
    assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


def test_results_that_share_memory_unsaid_are_copied() -> None:
    define("mine::same(Tensor x) -> Tensor", lambda x: x)
    define("mine::part(Tensor x) -> Tensor", lambda x: x[1:])
    define("mine::pair(Tensor x) -> (Tensor, Tensor)", lambda x: (y := x + 1, y))
    x = torch.arange(3.0)
    for name in ("same", "part"):
        result = og.torch.export(f"mine::{name}")(x)
        result.zero_()
        assert x.tolist() == [0, 1, 2]
    one, other = og.torch.export("mine::pair")(x)
    one.zero_()
    assert other.tolist() == [1, 2, 3]


def test_operators_without_tensors() -> None:
    define("mine::numbers(int n, ScalarType dtype) -> Tensor", lambda n, dtype: og.arange(n, dtype=dtype), "CompositeExplicitAutograd")
    numbers = og.torch.export("mine::numbers")
    result = numbers(3, torch.int32)
    assert result.tolist() == [0, 1, 2] and result.dtype == torch.int32


def test_random_operators_have_no_derivative() -> None:
    op = og.torch.export("aten::bernoulli", name="mine::bernoulli")
    x = torch.full((100,), 0.5)
    assert set(op(x).tolist()) <= {0.0, 1.0}
    assert not hasattr(torch.ops.mine, "_bernoulli_backward")


def test_a_derivative_that_is_missing_is_named() -> None:
    define("mine::opaque(Tensor x) -> Tensor", lambda x: x.clone())
    op = og.torch.export("mine::opaque")
    x = sample(3)
    raised(lambda: op(x).sum().backward(), "mine::opaque", "derivative")


def test_a_derivative_written_in_python() -> None:
    library = define("mine::cubed(Tensor x) -> Tensor", lambda x: x * x * x)
    library.impl("cubed", lambda x: og.empty_like(x), "Meta")
    og.library.register_autograd(
        "mine::cubed", lambda ctx, grad: grad * 3 * ctx.x * ctx.x, setup_context=lambda ctx, inputs, output: setattr(ctx, "x", inputs[0])
    )
    op = og.torch.export("mine::cubed")
    x = sample(4)
    same(torch.autograd.grad(op(x).sum(), x)[0], 3 * x.detach() ** 2)
    opcheck(op, (x,))


def test_an_operator_that_is_dropped_here() -> None:
    library = define("mine::passing(Tensor x) -> Tensor", lambda x: x + 1)
    op = og.torch.export("mine::passing")
    assert op(torch.zeros(1)).item() == 1
    LIBRARIES.remove(library)
    library._destroy()
    raised(lambda: op(torch.zeros(1)), "mine::passing", "no longer registered")
    define("mine::passing(Tensor x) -> Tensor", lambda x: x + 2)
    raised(lambda: op(torch.zeros(1)), "no longer registered")
    assert og.torch.export("mine::passing") is op and op(torch.zeros(1)).item() == 2
    raised(lambda: og.torch.export("mine::passing"), "before")
    library = LIBRARIES.pop()
    library._destroy()
    define("mine::passing(Tensor x, int n) -> Tensor", lambda x, n: x + n)
    raised(lambda: og.torch.export("mine::passing"), "by the schema", "another name")


def test_meta_tensors() -> None:
    result = mm(torch.empty(2, 3, device="meta"), torch.empty(3, 5, device="meta"))
    assert result.shape == (2, 5) and result.device.type == "meta"
    raised(lambda: mm(torch.empty(2, 3, device="meta"), torch.empty(2, 5, device="meta")), "mm")


def test_import() -> None:
    op = og.torch.import_("aten::gelu")
    x = og.tensor([-1.0, 0.0, 2.0])
    og.reset_stats()
    result = og.ops.torch.gelu(x, approximate="tanh")
    same(to_torch(result), torch.nn.functional.gelu(to_torch(x), approximate="tanh"))
    assert "call of torch" in str(og.stats()), og.stats()
    assert op(og.empty([2, 3], device="meta")).shape == (2, 3)
    raised(lambda: op(og.tensor([1])), "torch::gelu", "gelu")
    raised(lambda: og.torch.import_("aten::gelu"), "torch::gelu")
    raised(lambda: og.torch.import_("aten::nothing"), "no operator")
    raised(lambda: og.torch.import_("gelu"), "expected the name")
    raised(lambda: og.torch.import_("aten::add.Tensor"), "alpha", "Scalar")
    raised(lambda: og.torch.import_("aten::t"), "views")
    # Its memory is torch's, which goes when the result goes.
    results = [op(og.ones([1000])) for _ in range(50)]
    gc.collect()
    assert all(abs(one[7].item() - results[0][0].item()) < 1e-7 for one in results)


def test_imported_operators_that_write() -> None:
    op = og.torch.import_("aten::erfinv_", name="theirs::erfinv_")
    x = og.tensor([0.5, -0.25])
    expected = torch.erfinv(torch.tensor([0.5, -0.25]))
    version = x._version
    assert op(x) is x and x._version > version
    same(to_torch(x), expected)
    split = og.torch.import_("aten::aminmax", name="theirs::aminmax")
    low, high = split(og.tensor([3.0, 1.0, 2.0]))
    assert (low.item(), high.item()) == (1, 3)
    gather = og.torch.import_("aten::block_diag", name="theirs::block_diag")
    a = og.ones([1, 2])
    assert gather([a, a]).tolist() == [[1, 1, 0, 0], [0, 0, 1, 1]]


def test_there_and_back() -> None:
    og.torch.import_("aten::sinc", name="round::sinc")
    op = og.torch.export("round::sinc")
    x = torch.randn(5)
    same(op(x), torch.sinc(x))
    same(op(torch.empty(5, device="meta")).shape, x.shape)


def test_a_library_that_torch_loads() -> None:
    assert EXAMPLE, "name the library by --example"
    torch.ops.load_library(EXAMPLE)
    scale = torch.ops.rusty.scale
    x = torch.arange(4.0)
    assert scale(x, 2.0).tolist() == [0, 2, 4, 6]
    assert scale(torch.empty(2, 3, device="meta"), 2.0).shape == (2, 3)
    same(torch.compile(lambda x: scale(x, 3.0) + 1, backend="aot_eager", fullgraph=True)(x), 3 * x + 1)
    opcheck(scale.default, (x, 2.0), test_utils=("test_schema", "test_faketensor"))
    torch.ops.rusty.scale_(x, 2.0)
    assert x.tolist() == [0, 2, 4, 6]
    raised(lambda: scale(torch.ones(2, dtype=torch.int64), 2.0), "rusty::scale", "expected float32")
    raised(lambda: torch.ops.rusty.panics(x), "rusty::panics", "panicked", "this kernel always does")
    assert scale(x, 0.5).tolist() == [0, 1, 2, 3]


def test_the_pool_of_kernels_ends_with_an_error() -> None:
    # Last: nothing can be exported after it.
    library = og.library.Library("pool", "FRAGMENT")
    LIBRARIES.append(library)
    text = ""
    for number in range(1100):
        library.define(f"op{number}(Tensor x) -> int")
        try:
            og.torch.export(f"pool::op{number}")
        except og.OpgridError as error:
            text = str(error)
            break
    assert "1024 operators are exported" in text, text
    assert square(torch.ones(1)).item() == 1


def main() -> int:
    global EXAMPLE
    parser = argparse.ArgumentParser()
    parser.add_argument("--example")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    EXAMPLE = arguments.example
    warnings.simplefilter("ignore")
    only = tuple(part for part in arguments.only.split(",") if part)
    tests = {name.removeprefix("test_"): test for name, test in globals().items() if name.startswith("test_")}
    chosen = {name: test for name, test in tests.items() if not only or name.startswith(only)}
    failed = []
    for name, test in chosen.items():
        try:
            test()
        except Exception:
            failed.append(name)
            print(f"{name}:", file=sys.stderr)
            traceback.print_exc()
    print(f"{len(chosen)} tests of operators inside torch, {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}")
    return int(bool(failed) or not chosen)


if __name__ == "__main__":
    sys.exit(main())
