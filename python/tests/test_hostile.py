"""Bad arguments raise and never crash; nothing leaks."""

import random
import signal
import subprocess
import sys

import opgrid as og
import pytest
from opgrid import library
from opgrid.library import Library


class Strange:
    def __index__(self):
        raise ZeroDivisionError("index")

    def __float__(self):
        raise ZeroDivisionError("float")

    def __len__(self):
        raise ZeroDivisionError("len")

    def __getitem__(self, _):
        raise ZeroDivisionError("item")

    def __bool__(self):
        raise ZeroDivisionError("bool")


def objects():
    return [
        None, True, 0, -1, 3, 2**63 - 1, -(2**63), 2**70, 0.5, float("nan"), float("inf"), 1j, "", "cpu", "a", b"x", [], (),
        [1], [1, "a"], [[1]], (1, 2), [2**70], [None], {}, set(), range(3), object(), object, int, Strange(), Strange, len,
        og.float32, og.qint8, og.strided, og.channels_last, og.device("cpu"), og.device("cuda:1"), og.Size([2]), og.Generator(),
        og.tensor(1), og.tensor(1.5), og.tensor([1.0, 2.0]), og.tensor([True, False]), og.zeros(2, 0), og.zeros(2, 3, 4),
        og.empty(2, device="meta"), og.tensor([1j]), og.tensor([1], dtype=og.int8), og.DispatchKey.CPU, og.ops.aten.add,
        og.DispatchKeySet("CPU"), [og.tensor([1.0])], [og.tensor([1.0]), None], og.tensor([1.0]).untyped_storage(), slice(None),
        Ellipsis, og.zeros(2).T, og.arange(6).reshape(2, 3).T, og.Tensor, memoryview(b"abc"), lambda: None,
    ]  # fmt: skip


NAMES = ["self", "other", "dim", "dtype", "out", "size", "alpha", "keepdim", "device", "", "a b", "input", "axis", "generator"]


def call_at_random(function, chance, rounds):
    known = objects()
    for _ in range(rounds):
        args = [chance.choice(known) for _ in range(chance.randrange(5))]
        kwargs = {chance.choice(NAMES): chance.choice(known) for _ in range(chance.choice([0, 0, 0, 1, 2]))}
        try:
            function(*args, **kwargs)
        except og.errors.PanicError:
            raise
        except Exception:
            pass


def small(function):
    """Sizes that memory has no place for are errors, those that it has a place for take long: leave them out."""

    def call(*args, **kwargs):
        for value in (*args, *kwargs.values()):
            if isinstance(value, int) and not isinstance(value, bool) and 1000 < value < 2**50:
                return None
        return function(*args, **kwargs)

    return call


@pytest.mark.parametrize("seed", range(4))
def test_random_calls_of_every_operator(seed):
    chance = random.Random(seed)
    for name in sorted({name.split("::")[1].split(".")[0] for name in og._opgrid.operator_names("aten")}):
        if not name.startswith("__"):
            call_at_random(small(getattr(og, name)), chance, 15)
        call_at_random(small(getattr(og.ops.aten, name)), chance, 15)
        method = getattr(og.ones(2, 3), name, None)
        if method is not None:
            call_at_random(small(method), chance, 10)


@pytest.mark.parametrize("seed", range(4))
def test_random_calls_of_everything_else(seed):
    chance = random.Random(100 + seed)
    functions = [
        og.Tensor, og.tensor, og.asarray, og.from_numpy, og.from_dlpack, og.device, og.DispatchKey, og.DispatchKeySet, og.explain,
        og.include, og.exclude, og.force, og.Size, og.manual_seed, og.Generator, og.layer, og.save, og.load, og.table, og.dump,
        library.Library, library.define, library.infer_schema, library.opcheck, library.get_kernel, og._opgrid._rebuild,
        og._opgrid.implement, og._opgrid.define, og._opgrid.fallback, og._opgrid.packet, og.registered_kernels,
    ]  # fmt: skip
    for function in functions:
        call_at_random(function, chance, 60)
    names = [name for name in dir(og.Tensor) if name.startswith("__") or name in vars(og.TensorBase)]
    skipped = {"imag", "__class__", "__init_subclass__", "__subclasshook__", "__new__", "__getattribute__", "__del__", "__sizeof__"}
    for name in names:
        method = getattr(og.ones(2, 3), name, None) if name not in skipped else None
        if callable(method):
            call_at_random(small(method), chance, 15)
    og.check_invariants()


@pytest.mark.parametrize("seed", range(3))
def test_random_indices(seed):
    chance = random.Random(200 + seed)
    known = objects()
    for _ in range(2000):
        x = chance.choice([og.arange(24).reshape(2, 3, 4), og.tensor(1.0), og.zeros(0, 3), og.empty(2, 2, device="meta")]).clone()
        index = chance.choice(known) if chance.random() < 0.5 else tuple(chance.choice(known) for _ in range(chance.randrange(5)))
        try:
            x[index]
        except og.errors.PanicError:
            raise
        except Exception:
            pass
        try:
            x[index] = chance.choice(known)
        except og.errors.PanicError:
            raise
        except Exception:
            pass


def test_kernels_that_return_anything(request):
    with Library("pytest_hostile", "FRAGMENT") as lib:
        for place, returns in enumerate(["Tensor", "Tensor[]", "int", "float[]", "(Tensor, str)", "()", "Tensor?", "Dict(str, int)"]):
            lib.define(f"op{place}(Tensor x) -> {returns}")
            result = []
            lib.impl(f"op{place}", lambda x, result=result: result[0], "CPU")
            op = getattr(og.ops.pytest_hostile, f"op{place}")
            for value in objects():
                result[:] = [value]
                try:
                    op(og.zeros(1))
                except og.errors.PanicError:
                    raise
                except Exception:
                    pass


def flat(resident, work, allowed=3_000_000):
    work()
    before = resident()
    work()
    assert resident() - before < allowed


def test_calls_leak_nothing(resident):
    x, y = og.ones(3), og.ones(3)

    def work():
        for _ in range(100_000):
            x + y
            x.add_(1)
            og.empty(3)
        for _ in range(10_000):
            try:
                og.add(x, "a")
            except TypeError:
                pass

    flat(resident, work)


def test_registrations_and_drops_leak_nothing(resident):
    x = og.ones(3)

    def work():
        for step in range(5_000):
            with Library("pytest_leak", "FRAGMENT") as lib:
                lib.define("op(Tensor x) -> Tensor")
                lib.impl("op", lambda x, step=step: x, "CPU")
                og.ops.pytest_leak.op(x)

    flat(resident, work)


def test_attributes_of_tensors_leak_nothing(resident):
    def work():
        for _ in range(50_000):
            x = og.ones(3)
            x.note = [1, 2, 3]

    flat(resident, work)


def test_exceptions_of_kernels_leak_nothing(resident):
    with Library("pytest_raise", "FRAGMENT") as lib:
        lib.define("op(Tensor x) -> Tensor")

        def raises(x):
            raise ValueError("no")

        lib.impl("op", raises, "CPU")
        x = og.ones(3)

        def work():
            for _ in range(20_000):
                try:
                    og.ops.pytest_raise.op(x)
                except ValueError:
                    pass

        flat(resident, work)


def test_a_call_that_takes_long_can_be_interrupted():
    # A program that was started in the background ignores the signal, and so would its children.
    program = (
        "import signal\nimport opgrid as og\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "x = og.rand(400, 400)\nprint('ready', flush=True)\nwhile True:\n    x @ x\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=60)
        finally:
            process.kill()
    assert error.rstrip().endswith("KeyboardInterrupt")
