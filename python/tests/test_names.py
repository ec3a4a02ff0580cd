"""Names that programs of torch begin with: devices, settings, classes from before there were dtypes, memory, windows, compilers."""

import inspect
import pickle
import subprocess
import sys
import warnings

import pytest

import opgrid as og

x = og.tensor([[1.0, 2.0], [3.0, 4.0]])
v = og.tensor([1.0, 2.0])


@pytest.mark.parametrize("kind", ["cuda", "xpu", "mps", "mtia"])
def test_devices_that_are_not_there_are_counted_and_refused(kind):
    module = getattr(og, kind)
    assert not module.is_available() and module.device_count() == 0
    with pytest.raises(RuntimeError, match=f"no device of the kind '{kind}'"):
        module.synchronize()
    assert og.get_device_module(kind) is module


def test_moving_to_a_device_that_is_not_there_says_so_in_a_line():
    for call in (x.cuda, lambda: x.to("cuda"), lambda: og.zeros(2, device="cuda")):
        with pytest.raises(RuntimeError) as raised:
            call()
        assert len(str(raised.value)) < 800 and "\n" not in str(raised.value)
        assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_a_device_is_that_of_new_tensors_in_a_block():
    assert og.get_default_device() == og.device("cpu")
    with og.device("meta") as device:
        assert device == og.get_default_device() == og.zeros(2).device == og.tensor([1]).device == og.randn(2).device
        assert og.zeros(2, device="cpu").device == og.zeros_like(x).device == x.new_zeros(2).device == og.device("cpu")
        with og.device("cpu"):
            assert og.ones(1).device == og.device("cpu")
        assert og.nn.Linear(2, 3).weight.is_meta
    assert og.zeros(2).device == og.device("cpu")
    og.set_default_device("meta")
    try:
        assert og.arange(3).is_meta
    finally:
        og.set_default_device(None)
    assert og.device("meta")(og.zeros)(2).is_meta and not og.zeros(2).is_meta


def test_devices_are_named_in_several_ways():
    assert og.device(type="cpu") == og.device("cpu")
    assert og.device(type="cuda", index=1) == og.device("cuda:1")
    with pytest.raises(TypeError, match="expected one"):
        og.device("cpu", type="cpu")
    with pytest.raises(TypeError, match="missing"):
        og.device()


def test_settings_are_kept():
    og.use_deterministic_algorithms(True, warn_only=True)
    assert og.are_deterministic_algorithms_enabled() and og.is_deterministic_algorithms_warn_only_enabled()
    og.use_deterministic_algorithms(False)
    assert og.get_deterministic_debug_mode() == 0
    with pytest.raises(RuntimeError, match="expected one of"):
        og.set_deterministic_debug_mode("wrong")
    with pytest.warns(UserWarning, match="nothing is set"):
        og.set_float32_matmul_precision("wrong")
    assert og.get_float32_matmul_precision() == "highest"
    og.backends.cudnn.benchmark = True
    with og.backends.cudnn.flags(benchmark=False):
        assert not og.backends.cudnn.benchmark
    assert og.backends.cudnn.benchmark
    og.backends.cudnn.benchmark = False
    og.set_anomaly_enabled(True)
    assert og.is_anomaly_enabled()
    og.set_anomaly_enabled(False)
    assert not og.is_anomaly_enabled()


@pytest.mark.parametrize("name, dtype", [("FloatTensor", og.float32), ("LongTensor", og.int64), ("BoolTensor", og.bool)])
def test_classes_from_before_there_were_dtypes(name, dtype):
    kind = getattr(og, name)
    assert kind([1, 0]).dtype is dtype and kind(2, 3).shape == (2, 3) and kind(og.Size([2])).shape == (2,)
    assert isinstance(kind(1), kind) and not isinstance(og.ones(1, dtype=og.int8), kind)
    assert kind([1]).type() == f"opgrid.{name}" and x.type(f"torch.{name}").dtype is dtype
    with pytest.raises(TypeError, match="convert it"):
        kind(og.ones(1, dtype=og.int8))


def test_methods_that_are_no_operators():
    assert x.byte().dtype is og.uint8 and x.short().dtype is og.int16 and x.char().dtype is og.int8
    assert x.new_tensor([1, 2]).dtype is og.float32 and x.get_device() == -1 and x.ndimension() == 2
    assert x.clone().apply_(lambda e: e + 1).tolist() == [[2, 3], [4, 5]]
    assert x.clone().map_(v, lambda e, f: e * f).tolist() == [[1, 4], [3, 8]]
    assert x.where(x > 2, 0.0).tolist() == [[0, 0], [3, 4]] and x.T.dim_order() == (1, 0)
    assert x.is_set_to(x.view(2, 2)) and not x.is_set_to(x.T) and not x.is_quantized
    z = og.tensor([1 + 2j])
    z.real = og.tensor([5.0])
    assert z.tolist() == [5 + 2j] and z.imag.tolist() == [2.0] and x.real is not None
    with pytest.raises(RuntimeError, match="detach"):
        og.ones(1, requires_grad=True).apply_(abs)
    with pytest.raises(RuntimeError, match="linalg.qr"):
        x.qr()


def test_a_part_that_a_dtype_lacks_is_a_missing_attribute():
    # Libraries that take any array ask with `hasattr`.
    assert not hasattr(og.ones(2), "imag") and hasattr(og.ones(2, dtype=og.complex64), "imag")
    with pytest.raises(RuntimeError, match="complex") as raised:
        og.ones(2).imag  # noqa: B018
    assert isinstance(raised.value, AttributeError)


def test_memory_is_a_sequence():
    assert x.storage().tolist() == [1, 2, 3, 4] and x[1].storage()[0] == 1.0
    memory = og.FloatStorage([1, 2])
    memory[0] = 5.0
    assert memory.tolist() == [5, 2] and memory.nbytes() == 8 and memory.type() == "opgrid.FloatStorage"
    assert len(x.untyped_storage()) == 16 and x.untyped_storage().clone().tolist() == x.untyped_storage().tolist()
    assert x.storage().data_ptr() == x.data_ptr() == x.untyped_storage().data_ptr()


def test_a_file_is_the_memory_of_a_tensor(tmp_path):
    path = tmp_path / "numbers"
    og.from_file(path, shared=True, size=3, dtype=og.int16).fill_(7)
    assert path.read_bytes() == b"\x07\x00" * 3
    og.from_file(path, size=3, dtype=og.int16).fill_(8)
    assert path.read_bytes() == b"\x07\x00" * 3
    with pytest.raises(RuntimeError, match="expected 8"):
        og.from_file(path, size=2)
    with pytest.raises(RuntimeError, match="unable to open"):
        og.from_file(tmp_path / "none", size=2)


def test_compilers_give_functions_back_and_say_so_once():
    program = """
import warnings
import opgrid as og
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    assert og.jit.script(abs) is abs and og.jit.trace(abs, 1) is abs
    og.jit.script(abs)
print(len(given))
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "2\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert og.compile(abs, disable=True) is abs
    with pytest.raises(NotImplementedError, match="TorchScript"):
        og.jit.load("file")
    with pytest.raises(RuntimeError, match="either"):
        og.compile(abs, mode="default", options={})


def test_futures_pass_results_and_exceptions_on():
    future = og.Future()
    doubled = future.then(lambda done: done.value() * 2)
    failing = future.then(lambda done: 1 / 0)
    with pytest.raises(RuntimeError, match="not completed"):
        future.value()
    future.set_result(3)
    assert og.futures.wait_all([future, doubled]) == [3, 6] and og.wait(og.fork(abs, -1)) == 1
    with pytest.raises(ZeroDivisionError):
        failing.wait()
    with pytest.raises(RuntimeError, match="once"):
        future.set_result(4)


@pytest.mark.parametrize(
    "window, expected",
    [
        (lambda: og.windows.hann(5), [0.0, 0.5, 1.0, 0.5, 0.0]),
        (lambda: og.windows.hann(4, sym=False), [0.0, 0.5, 1.0, 0.5]),
        (lambda: og.windows.bartlett(5), [0.0, 0.5, 1.0, 0.5, 0.0]),
        (lambda: og.windows.cosine(3), [0.5, 1.0, 0.5]),
        (lambda: og.windows.gaussian(3, std=1.0), [0.60653066, 1.0, 0.60653066]),
        (lambda: og.windows.exponential(3, tau=1.0), [0.36787944, 1.0, 0.36787944]),
        (lambda: og.windows.kaiser(3, beta=1.0), [0.78984797, 1.0, 0.78984797]),
        (lambda: og.windows.nuttall(1), [1.0]),
    ],
)
def test_windows(window, expected):
    assert window().tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda: og.tensordot(x, x, dims=1), [[7, 10], [15, 22]]),
        (lambda: og.tensordot(x, x, ([0], [1])), [[7, 15], [10, 22]]),
        (lambda: og.norm(v), 5**0.5),
        (lambda: og.norm(x, 1, 0), [4, 6]),
        (lambda: x.norm(p="fro", dim=(0, 1), keepdim=True), [[30**0.5]]),
        (lambda: og.norm(og.eye(3), "nuc"), 3),
        (lambda: og.lu(og.tensor([[2.0, 1.0], [1.0, 3.0]]))[0], [[2, 1], [0.5, 2.5]]),
        (lambda: og.svd_lowrank(og.diag(og.tensor([3.0, 2.0, 0.0])), 2)[1], [3, 2]),
        (lambda: og.lobpcg(og.diag(og.arange(1.0, 8.0)), 2)[0], [7, 6]),
        (lambda: og.einsum("ij,j", x, v), [5, 11]),
        (lambda: og.einsum("ij,j", [x, v]), [5, 11]),
        (lambda: og.einsum(x, [0, 1], v, [1]), [5, 11]),
        (lambda: og.einsum(x, [..., 0, 1], x, [..., 1, 2], [2, ..., 0]), [[7, 15], [10, 22]]),
        (lambda: og.meshgrid(v, v, indexing="ij")[0], [[1, 1], [2, 2]]),
        (lambda: og.block_diag(v, v), [[1, 2, 0, 0], [0, 0, 1, 2]]),
        (lambda: og.cartesian_prod(v, v), [[1, 1], [1, 2], [2, 1], [2, 2]]),
        (lambda: og.cartesian_prod(v), [1, 2]),
        (lambda: og.broadcast_tensors(x, v)[1], [[1, 2], [1, 2]]),
        (lambda: og.atleast_2d(v, x)[0], [[1, 2]]),
        (lambda: og.chain_matmul(x, x), [[7, 10], [15, 22]]),
        (lambda: x[(0, 1), (1, 0)], [2, 3]),
        (lambda: x[range(1)], [[1, 2]]),
    ],
)
def test_forms_that_programs_write(call, expected):
    assert call().tolist() == pytest.approx(expected, rel=1e-5) if isinstance(expected, (int, float)) else close(call().tolist(), expected)


def close(found, expected):
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(close, found, expected))
    return found == pytest.approx(expected, rel=1e-5)


def test_lists_of_other_operators_are_lists():
    with pytest.raises(TypeError):
        og.cat(x, x)
    with pytest.raises(TypeError):
        og.block_diag(x, 1)


def test_orders_in_memory_are_asked_and_made():
    images = og.zeros(1, 2, 3, 4)
    assert images.is_contiguous(memory_format=og.contiguous_format) and not images.is_contiguous(memory_format=og.channels_last)
    turned = images.to(memory_format=og.channels_last)
    assert turned.is_contiguous(memory_format=og.channels_last) and turned.to(memory_format=og.channels_last) is turned
    assert images.to("cpu", og.float64, True, True).dtype is og.float64 and images.to("cpu", og.float32, True, True) is not images
    with pytest.raises(TypeError, match="memory_format"):
        images.is_contiguous(memory_format=1)


def test_the_default_stream_of_random_numbers_is_a_generator():
    drawn = og.rand(2, generator=og.manual_seed(3))
    og.default_generator.manual_seed(3)
    assert og.rand(2).tolist() == drawn.tolist() and og.initial_seed() == 3
    with og.random.fork_rng():
        inner = og.rand(2)
    assert og.rand(2).tolist() == inner.tolist()


@pytest.mark.parametrize(
    "function, signature",
    [
        (og.add, "(input, other, *, alpha=1, out=None)"),
        (og.sum, "(input, dim=None, keepdim=False, *, dtype=None, out=None)"),
        (og.block_diag, "(*tensors, out=None)"),
    ],
)
def test_functions_of_several_overloads_have_a_signature(function, signature):
    assert str(inspect.signature(function)) == signature


class Counter(og.overrides.TorchFunctionMode):
    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_modes_see_functions_methods_and_infix_operators():
    outer = Counter()
    with outer, Counter() as inner:
        assert (og.add(x, x) * 2 - x.abs()).tolist() == [[3, 6], [9, 12]]
        with og.DisableTorchFunction():
            x.neg()
    x.neg()
    assert inner.seen == outer.seen == ["add", "mul", "abs", "sub"]
    with pytest.raises(NotImplementedError), og.overrides.TorchFunctionMode():
        x.neg()
    assert x.neg() is not None


def test_classes_are_not_asked_in_a_block():
    class Loud(og.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "asked"

    loud = x.as_subclass(Loud)
    assert og.add(loud, loud) == "asked" and og.overrides.has_torch_function((loud,))
    with og.DisableTorchFunctionSubclass():
        assert type(og.add(loud, loud)) is og.Tensor
    assert og.add(loud, loud) == "asked"


def test_sizes_are_computed_with_as_numbers():
    assert og.sym_max(1, 2.5) == 2.5 and og.sym_min(3, 2) == 2 and og.sym_int(-2.7) == -2 and og.sym_sum([1, 2]) == 3
    assert og.cond(og.tensor(True), lambda e: e + 1, lambda e: e, (1,)) == 2
    assert og.while_loop(lambda n: n < 5, lambda n: (n + 2,), (0,)) == (6,)
