"""Memory shared with numpy and by DLPack, and files."""

import ctypes
import gc
import weakref

import opgrid as og
import pytest

numpy = pytest.importorskip("numpy")

DTYPES = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_and_tensors_share_memory(dtype):
    array = numpy.arange(6).reshape(2, 3).astype(dtype)
    tensor = og.from_numpy(array)
    assert tensor.dtype is getattr(og, dtype) and tensor.tolist() == array.tolist()
    array[0, 0] = 1
    assert tensor[0, 0].item() == array[0, 0]
    back = tensor.numpy()
    assert numpy.shares_memory(back, array) and back.dtype == array.dtype
    assert numpy.shares_memory(numpy.asarray(tensor), array)


def test_numbers_of_every_width_are_kept():
    array = numpy.array([0, 2**63, 2**64 - 1], dtype="uint64")
    tensor = og.from_numpy(array)
    assert tensor.tolist() == array.tolist() and "18446744073709551615]" in repr(tensor)
    assert (tensor == tensor).all() and tensor.to(og.float64).tolist() == array.astype("float64").tolist()
    assert tensor[2].item() == 2**64 - 1 and int(tensor[1]) == 2**63
    floats = og.tensor([0.3, -1.0, 1000.0])
    assert floats.to(og.float8_e4m3fn).to(og.float32).tolist() == [0.3125, -1.0, 448.0]
    assert floats.to(og.float8_e5m2).to(og.float32).tolist() == [0.3125, -1.0, 1024.0]


def test_views_of_arrays_are_views():
    array = numpy.arange(24.0).reshape(2, 3, 4)
    for view in (array[:, ::2], array.T, array[1:], array[..., None], array[:0], numpy.broadcast_to(array, (2, 2, 3, 4))):
        tensor = og.asarray(view)
        assert tensor.tolist() == view.tolist()
        assert numpy.asarray(tensor).tolist() == view.tolist()
    tensor = og.from_numpy(array)
    assert tensor.T.numpy().tolist() == array.T.tolist()
    assert og.zeros(0, 3).numpy().shape == (0, 3)
    assert og.tensor(2.5).numpy() == 2.5


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (numpy.array(["a"]), TypeError),
        (numpy.array([object()]), TypeError),
        (numpy.array([1], dtype=">f4"), ValueError),
        (numpy.arange(3)[::-1], ValueError),
        ([1], TypeError),
    ],
    ids=repr,
)
def test_arrays_that_tensors_cannot_share_are_errors(array, kind):
    with pytest.raises(kind):
        og.from_numpy(array)


def test_read_only_memory_is_copied():
    array = numpy.arange(3.0)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="read-only"):
        tensor = og.from_numpy(array)
    tensor.add_(1)
    assert array.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(BufferError):
        og.from_dlpack(array, copy=False)
    with pytest.raises(ValueError, match="read-only"):
        og.asarray(array, copy=False)
    assert og.asarray(array).add_(1).tolist() == [1.0, 2.0, 3.0] and array.tolist() == [0.0, 1.0, 2.0]


def test_memory_lives_as_long_as_somebody_looks_at_it():
    array = numpy.arange(3.0)
    gone = weakref.ref(array)
    tensor = og.from_numpy(array)[1:]
    del array
    gc.collect()
    assert gone() is not None and tensor.tolist() == [1.0, 2.0]
    del tensor
    gc.collect()
    assert gone() is None
    lent = og.tensor([1.0, 2.0]).numpy()
    gc.collect()
    assert lent.tolist() == [1.0, 2.0]


def test_what_numpy_does_not_have_is_an_error():
    with pytest.raises(TypeError, match="BFloat16"):
        og.zeros(2, dtype=og.bfloat16).numpy()
    with pytest.raises(TypeError, match="meta"):
        og.zeros(2, device="meta").numpy()
    with pytest.raises(BufferError):
        og.zeros(2, device="meta").__dlpack__()


def test_arrays_beside_tensors():
    tensor = og.tensor([1.0, 2.0])
    assert numpy.asarray(tensor, dtype="float64").dtype == numpy.float64
    assert numpy.array(tensor, copy=True).tolist() == [1.0, 2.0]
    assert numpy.add(tensor, numpy.array([1.0, 1.0])).tolist() == [2.0, 3.0]
    assert (tensor + numpy.float32(1)).tolist() == [2.0, 3.0]
    assert og.full((2,), numpy.int64(3)).tolist() == [3, 3]
    assert og.zeros(numpy.int64(2)).shape == (2,)
    assert og.tensor([numpy.float64(1.5), 2]).tolist() == [1.5, 2.0]
    assert og.asarray([1, 2]).dtype is og.int64
    assert og.asarray(tensor) is tensor
    assert og.asarray(tensor, copy=True) is not tensor
    with pytest.raises(ValueError):
        og.asarray([1], copy=False)


def test_capsules_are_taken_once():
    tensor = og.tensor([1.0, 2.0])
    for version in (None, (1, 0), (2, 3)):
        capsule = tensor.__dlpack__(max_version=version)
        assert ("versioned" in repr(capsule)) == (version is not None)

        class Once:
            def __dlpack__(self, **_kwargs):
                return capsule  # noqa: B023

            def __dlpack_device__(self):
                return (1, 0)

        assert og.from_dlpack(Once()).tolist() == [1.0, 2.0]
        with pytest.raises(BufferError, match="has been consumed"):
            og.from_dlpack(Once())
    assert tensor.__dlpack_device__() == (1, 0)
    copied = og.from_dlpack(tensor, copy=True)
    copied.add_(1)
    assert tensor.tolist() == [1.0, 2.0]


def test_what_is_no_dlpack_is_an_error():
    class Wrong:
        def __init__(self, capsule, device=(1, 0)):
            self.capsule, self.device = capsule, device

        def __dlpack__(self, **_kwargs):
            return self.capsule

        def __dlpack_device__(self):
            return self.device

    with pytest.raises(TypeError, match="expected a capsule"):
        og.from_dlpack(Wrong(3))
    with pytest.raises(BufferError, match="device 2"):
        og.from_dlpack(Wrong(3, (2, 0)))
    with pytest.raises(AttributeError):
        og.from_dlpack(3)
    with pytest.raises(BufferError):
        og.zeros(2).__dlpack__(stream=1)
    with pytest.raises(BufferError):
        og.zeros(2).__dlpack__(dl_device=(2, 0))


def test_capsules_that_nobody_takes_leak_nothing(resident):
    tensor = og.zeros(1000)

    def many():
        for _ in range(20_000):
            tensor.__dlpack__(max_version=(1, 0))
            og.from_numpy(tensor.numpy())

    many()
    before = resident()
    many()
    assert resident() - before < 2_000_000


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_several_tensors_are_written_by_name(tmp_path, ending):
    tensors = {"a": og.tensor([1.0, 2.0]), "b": og.tensor([[1], [2]])}
    og.save(tensors, tmp_path / f"x.{ending}")
    back = og.load(tmp_path / f"x.{ending}")
    assert {name: tensor.tolist() for name, tensor in back.items()} == {"a": [1.0, 2.0], "b": [[1], [2]]}


def test_one_tensor_is_written_alone(tmp_path):
    path = tmp_path / "x.npy"
    og.save(og.tensor([1.0, 2.0]), path)
    assert og.load(path).tolist() == numpy.load(path).tolist() == [1.0, 2.0]
    with pytest.raises(OSError):
        og.load(tmp_path / "missing.npy")
    with pytest.raises(OSError):
        og.save(og.zeros(1), tmp_path / "none/x.npy")
    with pytest.raises(TypeError):
        og.save([1], path)


class ExchangeApi(ctypes.Structure):
    """`DLPackExchangeAPI`, as a library in C sees it."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("before", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("lend", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))),
        ("borrow", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))),
        ("describe", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)),
        ("stream", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))),
    ]


class Described(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("dims", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("flags", ctypes.c_uint64),
        ("tensor", Described),
    ]


def exchange_api(kind=og.Tensor):
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return ExchangeApi.from_address(pointer(kind.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))


def test_the_table_of_c_functions_lends_and_borrows():
    api = exchange_api()
    assert (api.major, api.before) == (1, None)
    x = og.arange(6.0).reshape(2, 3)[:, 1:]
    managed = ctypes.c_void_p()
    assert api.lend(x, ctypes.byref(managed)) == 0
    back = ctypes.py_object()
    assert api.borrow(managed, ctypes.byref(back)) == 0
    y = back.value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(y))
    assert y.tolist() == [[1.0, 2.0], [4.0, 5.0]] and y.stride() == x.stride()
    y.fill_(7)
    assert x.tolist() == [[7.0, 7.0], [7.0, 7.0]]

    described = Described()
    assert api.describe(x, ctypes.addressof(described)) == 0
    assert (described.dims, described.code, described.bits, list(described.device)) == (2, 2, 32, [1, 0])
    assert (described.sizes[:2], described.strides[:2], described.data) == ([2, 2], [3, 1], x.data_ptr())

    stream = ctypes.c_void_p(3)
    assert api.stream(1, 0, ctypes.byref(stream)) == 0 and stream.value is None
    for refused in (
        lambda: api.lend(3, ctypes.byref(managed)),
        lambda: api.lend(og.zeros(2, device="meta"), ctypes.byref(managed)),
        lambda: api.describe("a", ctypes.addressof(described)),
        lambda: api.borrow(None, ctypes.byref(back)),
        lambda: api.stream(2, 0, ctypes.byref(stream)),
    ):
        with pytest.raises((TypeError, BufferError)):
            refused()


def test_the_table_of_c_functions_makes_tensors():
    api = exchange_api()
    said = []
    report = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
    say = report(lambda _, kind, message: said.append((kind, message)))
    allocate = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, report)(api.allocate)
    sizes = (ctypes.c_int64 * 2)(2, 3)
    wanted = Described(None, (ctypes.c_int32 * 2)(1, 0), 2, 0, 64, 1, sizes, None, 0)
    made = ctypes.c_void_p()
    assert allocate(ctypes.addressof(wanted), ctypes.byref(made), None, say) == 0
    managed = Managed.from_address(made.value)
    assert (managed.major, managed.tensor.sizes[:2], managed.tensor.bits) == (1, [2, 3], 64)
    managed.deleter(made.value)
    wanted.bits = 63
    assert allocate(ctypes.addressof(wanted), ctypes.byref(made), None, say) == -1
    ((kind, message),) = said
    assert kind == b"BufferError" and b"63 bits" in message


def shared(one, other):
    """Whether two tensors have one storage: a write through either raises the version of both."""
    before = one._version
    other.add_(1)
    once = one._version == other._version == before + 1
    one.add_(1)
    return once and one._version == other._version == before + 2


def test_memory_that_comes_home_has_one_version():
    x = og.arange(6.0)
    ways = {
        "from_dlpack": lambda x: og.from_dlpack(x),
        "from_dlpack of an array": lambda x: og.from_dlpack(numpy.from_dlpack(x)),
        "from_numpy": lambda x: og.from_numpy(x.numpy()),
        "asarray": lambda x: og.from_numpy(numpy.asarray(x)),
        "an array of other sizes": lambda x: og.from_numpy(x.numpy().reshape(2, 3)),
        "twice": lambda x: og.from_numpy(og.from_numpy(x.numpy()).numpy()),
        "capsule without version": lambda x: og.from_dlpack(Unversioned(x)),
    }
    for name, way in ways.items():
        y = way(x)
        assert shared(x, y), name
        assert y.data_ptr() == x.data_ptr(), name
    part = og.from_numpy(x.numpy()[2:5])
    assert shared(x, part) and part.tolist() == x[2:5].tolist() and part.storage_offset() == 2
    assert part.data_ptr() == x[2:].data_ptr()


class Unversioned:
    """Lends as before DLPack's version 1."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self):
        return self.x.__dlpack__()

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def test_arrays_have_one_storage_however_often_they_are_taken():
    array = numpy.arange(12.0).reshape(3, 4)
    x, y = og.from_numpy(array), og.from_numpy(array)
    assert shared(x, y)
    # Views that overlap without one containing the other, taken before the array itself is.
    for make in (lambda: numpy.arange(10.0), lambda: numpy.zeros((5, 4))):
        array = make()
        one, other = og.from_numpy(array[1:4]), og.from_numpy(array[2:5])
        assert shared(one, other) and shared(other, og.from_numpy(array)) and shared(one, og.from_dlpack(array[:2]))
    transposed = numpy.arange(6.0).reshape(2, 3)
    assert shared(og.from_numpy(transposed), og.from_numpy(transposed.T))
    # Of these the whole array cannot be a tensor: each view is taken by itself.
    records = numpy.zeros(4, dtype=[("a", "f8"), ("b", "f8")])
    column = og.from_numpy(records["a"])
    column.fill_(3)
    assert records["a"].tolist() == [3.0] * 4 and records["b"].tolist() == [0.0] * 4
    backwards = numpy.arange(4.0)[::-1]
    assert og.from_numpy(backwards[::-1]).tolist() == [0.0, 1.0, 2.0, 3.0]


def test_saved_tensors_notice_writes_that_go_around_by_numpy():
    w = og.ones(3, requires_grad=True)
    x = og.ones(3)
    y = w * x
    og.from_numpy(x.numpy()).add_(1)
    with pytest.raises(RuntimeError, match="written in place"):
        y.sum().backward()
    y = w * x
    og.from_dlpack(x).add_(1)
    with pytest.raises(RuntimeError, match="written in place"):
        y.sum().backward()
    # As in torch, what needs a gradient is not lent.
    with pytest.raises(BufferError, match="detach"):
        og.from_dlpack(w)
    lent = og.from_dlpack(w.detach())
    assert not lent.requires_grad and shared(w.detach(), lent)


def test_memory_is_given_back_with_the_last_tensor_on_it():
    class Array(numpy.ndarray):
        pass

    array = numpy.zeros(1000).view(Array)
    gone = weakref.ref(array)
    x = og.from_dlpack(array)
    part = og.from_dlpack(array[10:20])
    del array, x
    gc.collect()
    assert gone() is not None and part.tolist() == [0.0] * 10
    del part
    gc.collect()
    assert gone() is None
