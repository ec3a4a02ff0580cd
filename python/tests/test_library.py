"""Operators, kernels and fallbacks that are written in Python."""

import gc
import os
import pathlib
import subprocess
import sys
import threading
import traceback
import warnings

import opgrid as og
import pytest
from opgrid import Tensor, library
from opgrid.library import Library

HOOK = "TESTING_ONLY_GenericMode"
x = og.tensor([1.0, 2.0, 3.0])


@pytest.fixture
def lib():
    with Library("pytest_ops", "FRAGMENT") as lib:
        yield lib


def place_of(line):
    return f"{__file__}:{line}"


def line_here():
    return sys._getframe(1).f_lineno


def test_an_operator_lives_as_long_as_its_library():
    with Library("pytest_own", "DEF") as own:
        assert own.define("twice(Tensor x, int times=2) -> Tensor") == "twice"
        own.impl("twice", lambda x, times=2: x * times, "CPU")
        twice = og.ops.pytest_own.twice
        assert twice(x).tolist() == [2.0, 4.0, 6.0]
        assert twice(x, 3).tolist() == [3.0, 6.0, 9.0]
        handle = twice.default
        with pytest.raises(RuntimeError, match="pytest_own"):
            Library("pytest_own", "DEF")
    with pytest.raises(AttributeError):
        og.ops.pytest_own.twice
    with pytest.raises(RuntimeError, match="no longer registered"):
        handle(x)
    with pytest.raises(RuntimeError, match="the operator is no longer registered"):
        twice(x)
    with pytest.raises(RuntimeError, match="Library object has been destroyed"):
        own.define("again() -> ()")


def test_new_operators_of_aten_are_functions_and_methods():
    assert not hasattr(x, "pytest_twice")
    with Library("aten", "FRAGMENT") as aten:
        aten.define("pytest_twice(Tensor self) -> Tensor")
        aten.impl("pytest_twice", lambda self: self + self, "CPU")
        assert og.pytest_twice(x).tolist() == x.pytest_twice().tolist() == [2.0, 4.0, 6.0]
        assert "pytest_twice" in dir(og)
    with pytest.raises(AttributeError):
        og.pytest_twice
    with pytest.raises(AttributeError):
        x.pytest_twice


def test_fallbacks_are_listed():
    key = og.DispatchKey.TESTING_ONLY_GenericMode
    assert key not in og.registered_fallbacks()
    with og.library._scoped_library("_", "IMPL", "TESTING_ONLY_GenericMode") as everything:
        everything.fallback(og.library.fallthrough_kernel)
        (kernel,) = og.registered_fallbacks()[key]
        assert kernel.fallthrough
    assert key not in og.registered_fallbacks()


def test_places_are_those_of_python(lib):
    lib.define("placed(Tensor x) -> Tensor")
    defined = line_here() - 1
    def kernel(x): return x  # noqa: E704
    lib.impl("placed", kernel, "CPU")
    placed = og.ops.pytest_ops.placed.default
    assert place_of(defined) in og.dump(placed)
    assert place_of(defined + 2) in og.dump(placed)
    (kernel,) = og.registered_kernels(placed)[og.DispatchKey.CPU]
    assert not kernel.fallthrough
    assert kernel.place == place_of(defined + 2)
    assert kernel.place in str(og.explain(placed, x))
    assert kernel.place in str(og.table(placed))
    assert og.explain(placed, x).as_dict()["hops"][0]["kernel"]["place"] == kernel.place


def test_arguments_come_as_the_schema_says(lib):
    seen = []
    lib.define("all(Tensor x, int n, float f=1, *, str s, bool b=False, int[] sizes=[], Tensor? y=None) -> ()")
    lib.impl("all", lambda *args, **kwargs: seen.append((args, kwargs)), "CPU")
    og.ops.pytest_ops.all(x, 2, s="a")
    og.ops.pytest_ops.all(x, 2, 2, s="a", b=True, sizes=[1, 2], y=x)
    assert seen[0] == ((x, 2), {"s": "a", "sizes": []}) or seen[0][1] == {"s": "a"}
    args, kwargs = seen[1]
    assert args[0] is x and args[1:] == (2, 2.0)
    assert kwargs["y"] is x and (kwargs["s"], kwargs["b"], kwargs["sizes"]) == ("a", True, [1, 2])


@pytest.mark.parametrize(
    ("returns", "result", "text"),
    [
        ("Tensor", 1, "found int, expected Tensor"),
        ("()", 1, "returned int, expected None"),
        ("(Tensor, Tensor)", (x,), "returned 1 results, expected 2"),
        ("(Tensor, Tensor)", x, "returned Tensor, expected a tuple of 2"),
        ("(Tensor, int)", (x, "a"), "result 1 of the kernel in Python: found str, expected int"),
    ],
)
def test_wrong_results_are_errors_that_name_the_operator(lib, returns, result, text):
    lib.define(f"wrong(Tensor x) -> {returns}")
    lib.impl("wrong", lambda x: result, "CPU")
    with pytest.raises(RuntimeError, match="pytest_ops::wrong") as raised:
        og.ops.pytest_ops.wrong(x)
    assert text in str(raised.value)


def test_several_results_are_a_tuple(lib):
    lib.define("two(Tensor x) -> (Tensor, int)")
    lib.impl("two", lambda x: [x, 3], "CPU")
    first, second = og.ops.pytest_ops.two(x)
    assert first is x and second == 3


def test_exceptions_of_kernels_come_out_as_themselves(lib):
    class Mine(Exception):
        pass

    def deep(x):
        raise Mine("deep down")

    lib.define("raises(Tensor x) -> Tensor")
    lib.impl("raises", deep, "CPU")
    with pytest.raises(Mine, match="deep down") as raised:
        og.ops.pytest_ops.raises(x)
    assert "deep" in [frame.name for frame in traceback.extract_tb(raised.tb)]
    assert og.add(x, x).tolist() == [2.0, 4.0, 6.0]


def test_a_missing_kernel_is_not_implemented(lib):
    lib.define("nothing(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="pytest_ops::nothing") as raised:
        og.ops.pytest_ops.nothing(x)
    assert raised.value.op == "pytest_ops::nothing"
    assert "no kernel" in raised.value.explain()


def test_fallbacks_see_every_operator():
    calls = []

    def hook(op, *args, **kwargs):
        calls.append((op.name(), len(args), sorted(kwargs)))
        with og.exclude(HOOK):
            return op(*args, **kwargs)

    with Library("_", "IMPL") as hooks:
        hooks.fallback(hook, HOOK)
        with og.include(HOOK):
            y = og.add(x, 1)
            y.mul_(2)
        og.add(x, 1)
    assert y.tolist() == [4.0, 6.0, 8.0]
    assert calls == [("aten::add.Tensor", 2, ["alpha"]), ("aten::mul_.Tensor", 2, [])]
    assert og.local_keys() == og.local_keys()


def test_fallbacks_get_keys_and_redispatch():
    def hook(keys, op, *args, **kwargs):
        assert og.DispatchKey(HOOK) in keys
        return op.redispatch(keys & og.DispatchKeySet.full_after(HOOK), *args, **kwargs)

    with Library("_", "IMPL", HOOK) as hooks:
        hooks.fallback(hook, with_keyset=True)
        with og.include(HOOK):
            assert (x + 1).tolist() == [2.0, 3.0, 4.0]


def test_a_fallback_that_calls_itself_is_an_error():
    with Library("_", "IMPL") as hooks:
        hooks.fallback(lambda op, *args, **kwargs: op(*args, **kwargs), HOOK)
        with og.include(HOOK), pytest.raises(RecursionError):
            og.add(x, 1)


def test_guards_are_put_back_whatever_happens():
    before = og.local_keys()
    with pytest.raises(KeyError), og.include(HOOK), og.exclude("CPU"):
        raise KeyError
    assert og.local_keys() == before
    with og.preserve(), og.below_autograd():
        assert og.local_keys() != before
    with og.force(og.DispatchKeySet(), og.DispatchKeySet("CPU")):
        assert og.local_keys()[1] == og.DispatchKeySet("CPU")
    assert og.local_keys() == before
    guard = og.include(HOOK)
    with guard, guard:
        pass
    assert og.local_keys() == before
    with pytest.raises(RuntimeError, match="not entered"):
        guard.__exit__(None, None, None)


def test_kernels_may_drop_their_own_registration(lib):
    lib.define("once(Tensor x) -> Tensor")
    inner = Library("pytest_ops", "IMPL")

    def once(x):
        inner._destroy()
        gc.collect()
        return x + 1

    inner.impl("once", once, "CPU")
    del once
    assert og.ops.pytest_ops.once(x).tolist() == [2.0, 3.0, 4.0]
    with pytest.raises(NotImplementedError):
        og.ops.pytest_ops.once(x)


def test_overrides_warn_and_are_undone(lib):
    lib.define("over(Tensor x) -> Tensor")
    lib.impl("over", lambda x: x + 1, "CPU")
    with Library("pytest_ops", "IMPL") as newer:
        with pytest.warns(og.errors.OverrideWarning, match="pytest_ops::over"):
            newer.impl("over", lambda x: x + 2, "CPU")
        assert og.ops.pytest_ops.over(x).tolist() == [3.0, 4.0, 5.0]
        with og.strict(), pytest.raises(og.errors.RegistrationError):
            newer.impl("over", lambda x: x + 3, "CPU")
        with pytest.raises(og.errors.RegistrationError):
            newer.impl("over", lambda x: x, "CPU", allow_override=False)
    assert og.ops.pytest_ops.over(x).tolist() == [2.0, 3.0, 4.0]


def test_the_same_place_replaces_itself_and_another_does_not(lib):
    kept = []
    for step in (1, 2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again = Library("pytest_again", "DEF")
            again.define("op(Tensor x) -> Tensor")
            again.impl("op", lambda x, step=step: x + step, "CPU")
        kept.append(again)
        assert og.ops.pytest_again.op(x).tolist()[0] == 1.0 + step
    with pytest.raises(og.errors.RegistrationError) as raised:
        kept[-1].define("op(Tensor x) -> Tensor")
    assert str(raised.value).count(__file__) >= 2
    for again in kept:
        again._destroy()


def test_providers_are_asked_in_order(lib):
    lib.define("chain(Tensor x) -> Tensor")
    lib.impl("chain", lambda x: x + 1, "CPU", provider="small", when=lambda x: x.numel() < 2)
    lib.impl("chain", lambda x: x + 2, "CPU", provider="any")
    assert og.ops.pytest_ops.chain(x).tolist() == [3.0, 4.0, 5.0]
    assert og.ops.pytest_ops.chain(x[:1]).tolist() == [2.0]
    assert [kernel.title for kernel in og.registered_kernels("pytest_ops::chain")[og.DispatchKey.CPU]] == ["small", "any"]


def test_mistakes_in_registrations_are_errors(lib):
    with pytest.raises(ValueError, match="Unsupported library type"):
        Library("a", "B")
    with pytest.raises(og.errors.SchemaError):
        lib.define("no schema(")
    with pytest.raises(TypeError, match="callable"):
        lib.impl("a", 3)
    with pytest.raises(RuntimeError):
        lib.impl("placed", lambda x: x, "NoSuchKey")
    with pytest.raises(RuntimeError, match="namespace is _"):
        lib.fallback(lambda *args: None, "CPU")
    with pytest.raises(og.errors.RegistrationError):
        Library("pytest_ops", "IMPL").define("a() -> ()")
    with pytest.raises(og.errors.RegistrationError):
        lib.impl("aten::add.Tensor", lambda x: x, "CPU")
    with pytest.raises(ValueError, match="namespace::name"):
        library.define("nothing", "() -> ()")


def test_custom_op_makes_an_operator_of_a_function():
    @library.custom_op("pytest_custom::scale", mutates_args=())
    def scale(x: Tensor, by: float = 2.0) -> Tensor:
        """Scales."""
        return x * by

    assert str(scale._opoverload._schema) == "pytest_custom::scale(Tensor x, float by=2.) -> Tensor"
    assert scale(x).tolist() == og.ops.pytest_custom.scale(x, 2).tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(NotImplementedError):
        scale(og.empty(2, device="meta"))

    @scale.register_fake
    def _(x, by=2.0):
        return og.empty(x.shape, dtype=x.dtype, device="meta")

    with pytest.raises(RuntimeError, match="meta"):
        scale(og.empty(2, device="meta")).tolist()
    assert library.opcheck(scale, (x,))["test_faketensor"] == "SUCCESS"

    @library.custom_op("pytest_custom::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    with pytest.raises(RuntimeError, match="must not alias"):
        same(x)

    @library.custom_op("pytest_custom::fill", mutates_args={"x"})
    def fill(x: Tensor, value: float) -> None:
        x.fill_(value)

    y = x.clone()
    assert fill(y, 3.0) is None and y.tolist() == [3.0, 3.0, 3.0]
    assert library.opcheck(fill, (y, 1.0))["test_schema"] == "SUCCESS"


def test_opcheck_finds_writes_that_the_schema_does_not_name(lib):
    lib.define("sneaky(Tensor x) -> Tensor")
    lib.impl("sneaky", lambda x: x.add_(1).clone(), "CPU")
    with pytest.raises(AssertionError, match="written"):
        library.opcheck("pytest_ops::sneaky", (x.clone(),), test_utils="test_schema")
    lib.define("shape(Tensor x) -> Tensor")
    lib.impl("shape", lambda x: x[:1].clone(), "CPU")
    lib.impl("shape", lambda x: og.empty(x.shape, device="meta"), "Meta")
    results = library.opcheck("pytest_ops::shape", (x,), raise_exception=False)
    assert results["test_faketensor"].startswith("FAILED: result 0 has shape")


def test_schemas_are_inferred_from_annotations():
    def function(
        x: Tensor, y: Tensor | None, sizes: list[int], n: int = 3, *, s: str = "a", d: og.dtype | None = None
    ) -> tuple[Tensor, int]: ...

    assert library.infer_schema(function, mutates_args={"x"}) == (
        '(Tensor(a0!) x, Tensor? y, SymInt[] sizes, SymInt n=3, *, str s="a", ScalarType? d=None) -> (Tensor, SymInt)'
    )

    def without(x) -> Tensor: ...

    def varargs(*x: Tensor) -> Tensor: ...

    def strange(x: dict) -> Tensor: ...

    for wrong in (without, varargs, strange):
        with pytest.raises(ValueError, match="infer_schema"):
            library.infer_schema(wrong, mutates_args=())


def test_kernels_can_be_held(lib):
    lib.define("held(Tensor x) -> Tensor")
    inner = Library("pytest_ops", "IMPL")
    inner.impl("held", lambda x: x + 1, "CPU")
    kernel = library.get_kernel("pytest_ops::held", "CPU")
    assert kernel.call_boxed(og.DispatchKeySet("CPU"), x).tolist() == [2.0, 3.0, 4.0]
    inner._destroy()
    assert not kernel.is_valid()
    with pytest.raises(og.errors.StaleError):
        kernel.call_boxed(og.DispatchKeySet("CPU"), x)


def test_every_name_of_torch_library_works_or_says_with_what_it_comes():
    for name in library.__all__:
        assert hasattr(library, name)
    for name in ("triton_op", "get_ctx"):
        with pytest.raises(NotImplementedError, match=f"{name}: comes with"):
            getattr(library, name)("a::b", lambda: None)


def test_layers_of_ones_own():
    key = og.layer("PytestLayer", above="Autograd")
    assert og.layer("PytestLayer", above="Autograd") == key
    seen = []

    def layer(keys, op, *args, **kwargs):
        seen.append(op.name())
        return op.redispatch(keys & og.DispatchKeySet.full_after(key), *args, **kwargs)

    with Library("_", "IMPL") as layers:
        layers.fallback(layer, str(key), with_keyset=True)
        with og.include(key):
            og.neg(x)
    assert seen == ["aten::neg"]


def test_eight_threads_call_while_one_registers():
    stop = threading.Event()
    failures = []

    def call():
        try:
            while not stop.is_set():
                assert (x + 1).tolist() == [2.0, 3.0, 4.0]
                try:
                    assert og.ops.pytest_threads.op(x).tolist() in ([2.0, 3.0, 4.0], [3.0, 4.0, 5.0])
                except (AttributeError, og.errors.StaleError, NotImplementedError, og.errors.OperatorError):
                    pass
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for step in range(300):
        with Library("pytest_threads", "FRAGMENT") as lib:
            lib.define("op(Tensor x) -> Tensor")
            lib.impl("op", lambda x, step=step: x + 1 + step % 2, "CPU")
            og.ops.pytest_threads.op(x)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures, failures[:3]
    og.check_invariants()


def test_long_kernels_let_others_run():
    big = og.ones(3_000_000)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    for _ in range(20):
        big.exp()
    done.set()
    thread.join()
    assert ticks


def in_threads(count, work):
    """What threads that switch often raise while each runs ``work`` with its number."""
    errors = []

    def run(number):
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    return errors


def test_threads_register_by_the_thousand():
    kept = []

    def work(number):
        for step in range(3000):
            lib = Library(f"pytest_thousands_{number}", "FRAGMENT")
            lib.define(f"op{step}(Tensor x) -> Tensor")
            if step % 200 == 0:
                lib.impl(f"op{step}", lambda x: x + 1, "CPU")
                kept.append((lib, number, step))

    assert in_threads(4, work) == []
    for _, number, step in kept:
        assert getattr(getattr(og.ops, f"pytest_thousands_{number}"), f"op{step}")(x).tolist() == [2.0, 3.0, 4.0]
    assert len(library._made) < 3000


def test_threads_that_use_a_namespace_first_keep_what_they_define():
    for turn in range(30):
        barrier = threading.Barrier(4)

        def work(number, turn=turn, barrier=barrier):
            barrier.wait()
            library.define(f"pytest_first_{turn}::op{number}", "(Tensor x) -> Tensor")
            library.impl(f"pytest_first_{turn}::op{number}", "CPU", lambda x: x + 1)

        assert in_threads(4, work) == []
        for number in range(4):
            assert getattr(getattr(og.ops, f"pytest_first_{turn}"), f"op{number}")(x).tolist() == [2.0, 3.0, 4.0]


def test_threads_that_name_results_first_get_one_class():
    from opgrid import return_types

    for turn in range(50):
        barrier, classes = threading.Barrier(4), []

        def work(_number, turn=turn, barrier=barrier, classes=classes):
            barrier.wait()
            classes.append(return_types.of(f"pytest_results_{turn}", ("a", "b")))

        assert in_threads(4, work) == []
        assert len(classes) == 4 and len(set(classes)) == 1


FORKING = """
import os, sys, threading, warnings
import opgrid as og
from opgrid.library import Library

warnings.simplefilter("ignore")
sys.setswitchinterval(1e-5)
x = og.ones(3)


def register(number):
    with Library("forking", "FRAGMENT") as lib:
        lib.define(f"op{number}(Tensor x) -> Tensor")
        lib.impl(f"op{number}", lambda x: x + 1, "CPU")
        assert getattr(og.ops.forking, f"op{number}")(x).tolist() == [2.0, 2.0, 2.0]


def compute(_number):
    ones = og.ones(1000, 1000)
    assert ones.sum().item() == 1e6
    assert og.rand(1000).shape == (1000,)
    w = og.ones(3, requires_grad=True)
    (w * x).sum().backward()
    assert w.grad.tolist() == [1.0, 1.0, 1.0]


over = False


def again(work, number):
    while not over:
        work(number)
        number += 4


threads = [threading.Thread(target=again, args=(work, number)) for number, work in enumerate([register, register, compute, compute])]
for thread in threads:
    thread.start()
failed = 0
for turn in range(20):
    child = os.fork()
    if child == 0:
        try:
            register(1_000_000)
            compute(0)
            os._exit(0)
        except BaseException as error:
            print("child", turn, error, file=sys.stderr, flush=True)
        finally:
            os._exit(1)
    for _ in range(3000):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            failed += status != 0
            break
        threading.Event().wait(0.01)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        failed += 1
over = True
for thread in threads:
    thread.join()
print("failed:", failed)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_children_of_forks_register_and_compute():
    package = pathlib.Path(og.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(package)}
    ran = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, check=False, env=environment, timeout=600)
    assert ran.returncode == 0 and ran.stdout == "failed: 0\n", ran.stdout + ran.stderr


@pytest.mark.parametrize("call", [lambda: library.define(3, "x"), lambda: library.impl(3, "CPU")])
def test_names_that_are_no_texts(call):
    with pytest.raises(ValueError, match="expected a name of the form 'namespace::name', found int"):
        call()
