"""Tensors beside objects of other libraries: numpy's arrays and numbers, tensors of others, anything else."""

import array
import ctypes
import decimal
import fractions
import mmap
import operator
import warnings

import numpy as np
import opgrid as og
import pytest

SIGNS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift"]
COMPARISONS = ["lt", "le", "eq", "ne", "gt", "ge"]
IN_PLACE = ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor", "ilshift", "irshift", "imatmul"]

TENSORS = {
    f"{dtype} {dim}d": (lambda dtype=dtype, data=data: og.tensor(data, dtype=getattr(og, dtype)))
    for dtype in ("float32", "int64", "bool")
    for dim, data in enumerate((2, [1, 2]))
}
NUMBERS = {
    name: getattr(np, name)(2) for name in "float16 float32 float64 longdouble int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool_ complex64 complex128".split()
}
ARRAYS = {
    "float64": np.array([1.0, 2.0]),
    "float32": np.array([1.0, 2.0], np.float32),
    "int64": np.array([1, 2]),
    "bool": np.array([True, False]),
    "0-d": np.array(2.0),
    "0-d integer": np.array(2),
    "2-d": np.ones((2, 2)),
    "object": np.array([1, 2], object),
    "text": np.array(["a", "b"]),
}
OTHERS = {
    "list": [1, 2],
    "tuple": (1, 2),
    "text": "a",
    "bytes": b"a",
    "None": None,
    "object": object(),
    "Decimal": decimal.Decimal(2),
    "range": range(2),
    "set": {1},
    "dict": {},
    "date": np.datetime64("2020-01-01"),
    "Ellipsis": ...,
}


def outcome(call):
    """What a call gives: a class with dtype and content, or the kind of its exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = call()
        except Exception as raised:
            kinds = (TypeError, NotImplementedError, ValueError, OverflowError, RuntimeError)
            return next(kind.__name__ for kind in kinds if isinstance(raised, kind))
    if isinstance(found, og.Tensor):
        return "Tensor", str(found.dtype), repr(found.tolist())
    return type(found).__name__, repr(found)


@pytest.mark.parametrize("tensor", TENSORS)
@pytest.mark.parametrize("name", SIGNS + COMPARISONS + IN_PLACE)
def test_numbers_of_numpy_are_numbers(name, tensor):
    sign, make = getattr(operator, name), TENSORS[tensor]
    for number in NUMBERS.values():
        plain = complex(number) if number.dtype.kind == "c" else float(number) if number.dtype.kind == "f" else number.item()
        assert outcome(lambda: sign(make(), number)) == outcome(lambda: sign(make(), plain)), number.dtype
        if name not in IN_PLACE:
            assert outcome(lambda: sign(number, make())) == outcome(lambda: sign(plain, make())), number.dtype


def wrapped(found):
    """What a function of numpy gives, as a tensor that it is wrapped in: truth values are bytes."""
    found = np.asarray(found)
    return og.from_numpy(found.astype("uint8") if found.dtype == bool else found)


@pytest.mark.parametrize("tensor", TENSORS)
@pytest.mark.parametrize("name", SIGNS + COMPARISONS + IN_PLACE)
def test_arrays_beside_tensors(name, tensor):
    make, sign = TENSORS[tensor], getattr(operator, name)
    # In-place operators fall back to the ones that give a new object.
    plain = getattr(operator, {"iand": "and_", "ior": "or_"}.get(name, name[1:] if name in IN_PLACE else name))
    for kind, array in ARRAYS.items():
        if name == "eq":
            expected = ("bool", "False")
            if array.dtype.kind in "fib":
                expected = outcome(lambda: og.eq(make(), og.from_numpy(array)))
            assert outcome(lambda: sign(make(), array)) == outcome(lambda: sign(array, make())) == expected, kind
            continue
        if name == "ne":
            assert outcome(lambda: sign(make(), array)) == outcome(lambda: sign(array, make())) == ("bool", "True"), kind
            continue
        if name in COMPARISONS:
            expected = "TypeError"
        else:
            # Numpy makes the result, and has the tensor wrap it.
            expected = outcome(lambda: wrapped(plain(make().numpy(), array)))
            if kind == "object" and isinstance(expected, tuple):
                expected = "TypeError"
        assert outcome(lambda: sign(make(), array)) == expected, kind
        if name in IN_PLACE:
            continue
        expected = "TypeError"
        if name == "truediv":
            expected = outcome(lambda: wrapped(make().reciprocal().numpy() * array))
        assert outcome(lambda: sign(array, make())) == expected, kind


@pytest.mark.parametrize("other", OTHERS)
def test_anything_else_is_not_implemented(other):
    other = OTHERS[other]
    for make in (TENSORS["float32 1d"], TENSORS["float32 0d"], TENSORS["int64 1d"]):
        for name in SIGNS + IN_PLACE + COMPARISONS:
            sign = getattr(operator, name)
            expected = {"eq": ("bool", "False"), "ne": ("bool", "True")}.get(name, "TypeError")
            if isinstance(other, np.datetime64) and "Tensor" not in str(expected):
                # Numpy adds integers to dates.
                if make is TENSORS["int64 1d"] and name in ("add", "iadd"):
                    continue
            assert outcome(lambda: sign(make(), other)) == expected, name
            # A text takes anything for what it formats.
            if name not in IN_PLACE and (name != "mod" or not isinstance(other, (str, bytes))):
                assert outcome(lambda: sign(other, make())) == expected, name


def test_other_numbers_of_python():
    x = og.tensor([1.0, 2.0])
    x **= fractions.Fraction(2)
    assert x.tolist() == [1.0, 4.0]
    with pytest.raises(TypeError):
        x + fractions.Fraction(1, 2)
    with pytest.raises(OverflowError):
        2**70 // x
    assert operator.index(og.tensor(True)) == 1 and "ab" * og.tensor(2) == "abab"


def stand_in(library):
    """A tensor of another library, which lends its memory and knows no tensors of ours."""

    class Tensor:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

        def __getitem__(self, index):
            raise AssertionError("the elements of a tensor of another library are not asked for one by one")

        def __len__(self):
            return len(self.array)

        def asked(self, other):
            self.times = getattr(self, "times", 0) + 1
            assert self.times < 3, "asked again and again"
            return NotImplemented

        for _sign in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split():
            locals()[f"__{_sign}__"] = locals()[f"__r{_sign}__"] = asked
        __lt__ = __le__ = __gt__ = __ge__ = asked

    Tensor.__module__ = library
    return Tensor(np.array([1.0, 2.0], np.float32))


@pytest.mark.parametrize("library", ["torch", "jax", "torch.nn.parameter"])
@pytest.mark.parametrize("name", [name for name in SIGNS + COMPARISONS if name not in ("eq", "ne")])
def test_operators_beside_tensors_of_other_libraries(name, library):
    sign = getattr(operator, name)
    root = library.partition(".")[0]
    for call in (lambda: sign(og.ones(2), stand_in(library)), lambda: sign(stand_in(library), og.ones(2))):
        with pytest.raises(TypeError, match=rf"found opgrid.Tensor and {root}.Tensor; it is a tensor of {root}: .*opgrid.from_dlpack"):
            call()


def test_a_library_that_knows_our_tensors_is_asked():
    other = stand_in("jax")
    type(other).__radd__ = lambda self, ours: ("theirs", ours.tolist())
    assert og.ones(2) + other == ("theirs", [1.0, 1.0])
    assert (og.ones(2) == other) is False and (og.ones(2) != other) is True
    x = og.ones(2)
    x += other
    assert x == ("theirs", [1.0, 1.0])


@pytest.mark.parametrize(
    "call",
    [
        lambda other: og.add(og.ones(2), other),
        lambda other: og.ones(2).add(other),
        lambda other: og.mm(og.ones(2, 2), other),
        lambda other: og.ops.aten.add.Tensor(og.ones(2), other),
        lambda other: og.ops.aten.mm(og.ones(2, 2), other),
        lambda other: setattr(og.ones(2), "grad", other),
        lambda other: og.cat([og.ones(2), other]),
        lambda other: og.ones(2).__setitem__(0, other),
    ],
)
def test_functions_say_whose_tensor_it_is(call):
    with pytest.raises((TypeError, RuntimeError), match=r"torch\.Tensor.*; it is a tensor of torch: .*opgrid\.from_dlpack"):
        call(stand_in("torch"))


def torch_function(name):
    """A function of torch that asks its arguments' classes, as torch's functions do."""

    def function(*args, **kwargs):
        for arg in args:
            handler = getattr(type(arg), "__torch_function__", None)
            if handler is not None:
                answer = handler(function, tuple(map(type, args)), args, kwargs)
                if answer is not NotImplemented:
                    return answer
        raise TypeError(f"no implementation found for torch.{name}")

    function.__module__, function.__name__ = "torch._tensor", name
    return function


@pytest.mark.parametrize("name", [name for name in SIGNS + COMPARISONS if name not in ("eq", "ne")])
def test_functions_of_torch_do_not_ask_us_again_and_again(name):
    other, sign = stand_in("torch"), getattr(operator, name)
    asks = torch_function(name)
    plain = name.rstrip("_")
    for method in (f"__{plain}__", f"__r{plain}__", "__lt__", "__le__", "__gt__", "__ge__"):
        setattr(type(other), method, lambda self, ours: asks(self, ours))
    for call in (lambda: sign(og.ones(2), other), lambda: sign(other, og.ones(2)), lambda: asks(og.ones(2))):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError, match="it is a tensor of torch"):
        sign(og.ones(2), other)
    # What is ours is called as ever, also by a class that says so.
    assert og.Tensor.__torch_function__(og.add, (og.Tensor,), (og.ones(1), 1)).item() == 2
    assert og.Tensor.__torch_function__(og.Tensor.add, (og.Tensor,), (og.ones(1), 1)).item() == 2
    assert og.Tensor.__torch_function__(lambda x: x + 1, (og.Tensor,), (og.ones(1),)).item() == 2


def test_tensors_of_other_libraries_become_ours():
    for convert in (og.tensor, og.asarray, og.as_tensor, og.from_dlpack):
        assert convert(stand_in("torch")).tolist() == [1.0, 2.0]
    other = stand_in("torch")
    assert og.tensor(other, dtype=og.float64).dtype == og.float64
    og.asarray(other).fill_(7)
    assert other.array.tolist() == [7.0, 7.0]
    copied = og.tensor(other)
    copied.fill_(8)
    assert other.array.tolist() == [7.0, 7.0]


@pytest.mark.parametrize("name", [name for name in NUMBERS if name != "longdouble"])
def test_numbers_of_numpy_keep_their_dtype(name):
    number = NUMBERS[name]
    own = getattr(og, "bool" if name == "bool_" else name)
    for data in (number, [number], [[number], [number]], (number, number), [number, True]):
        if name.startswith("uint") and isinstance(data, list) and True in data and name != "uint8":
            continue
        assert og.tensor(data).dtype == og.as_tensor(data).dtype == own, data
    assert og.tensor(number, dtype=og.float64).dtype == og.float64
    assert og.tensor([2.5, number]).dtype == (og.promote_types(og.float32, own) if own.is_floating_point or own.is_complex else og.float32)


def test_lists_of_numbers_are_promoted():
    double, byte = np.float64(1e300), np.int8(1)
    assert og.tensor(double).item() == 1e300 and og.tensor([double]).item() == 1e300
    for data, dtype in [
        ([1, double], og.float64),
        ([byte, 2], og.int64),
        ([byte, byte], og.int8),
        ([np.float16(1), byte], og.float16),
        ([1j, double], og.complex128),
        ([og.tensor(1.0, dtype=og.float64), 2.5], og.float64),
        ([np.uint8(1), byte], og.int16),
        ([], og.float32),
    ]:
        assert og.tensor(data).dtype == dtype, data
    with pytest.raises(TypeError, match="longdouble"):
        og.tensor(np.longdouble(1))


def odd(dtype="<i4"):
    """An array at an address that no element of its size has."""
    size = np.dtype(dtype).itemsize
    memory = np.zeros(3 * size + 64, np.uint8)
    start = -memory.__array_interface__["data"][0] % 16 + 1
    array = memory[start : start + 3 * size].view(dtype)
    array[:] = [0, 1, 2]
    return array


CONVERSIONS = {name: getattr(og, name) for name in ("tensor", "asarray", "as_tensor", "from_numpy", "from_dlpack")}


@pytest.mark.filterwarnings("ignore:from_numpy")
@pytest.mark.parametrize("name", CONVERSIONS)
@pytest.mark.parametrize("dtype", ["i2", "i4", "i8", "u2", "f2", "f4", "f8", "c8", "c16"])
def test_arrays_at_odd_addresses_are_copied(name, dtype):
    convert = CONVERSIONS[name]
    for array in (odd(dtype), odd(dtype)[::2], np.broadcast_to(odd(dtype), (2, 3)), odd(dtype).reshape(3, 1).T, odd(dtype)[:0]):
        converted = convert(array)
        assert converted.tolist() == array.tolist() and tuple(converted.shape) == array.shape
        assert converted.dtype == convert(array.copy()).dtype


def test_copies_of_arrays_at_odd_addresses_are_no_secret():
    with pytest.warns(UserWarning, match="address"):
        og.from_numpy(odd())
    with pytest.raises(BufferError, match="copy"):
        og.from_dlpack(odd(), copy=False)
    array = np.arange(3)
    og.from_numpy(array).fill_(7)
    assert array.tolist() == [7, 7, 7]


@pytest.mark.parametrize("name", ["tensor", "asarray", "as_tensor", "from_numpy"])
def test_arrays_that_torch_refuses(name):
    convert = CONVERSIONS[name]
    fields = np.zeros(3, [("a", "i1"), ("b", "<i4")])
    aligned = np.zeros(3, [("a", "<i4"), ("b", "<i4")])
    aligned["b"] = [1, 2, 3]
    with pytest.raises(ValueError, match="strides"):
        convert(fields["b"])
    with pytest.raises(ValueError, match="byte order"):
        convert(np.arange(3, dtype=np.dtype("i4").newbyteorder("S")))
    with pytest.raises(ValueError, match="negative strides"):
        convert(np.arange(3)[::-1])
    for array in (np.array([1, 2], object), np.array(["a"]), np.array(["2020-01-01"], "M8[D]"), aligned, np.array([1], np.longdouble)):
        with pytest.raises(TypeError, match="can't convert"):
            convert(array)
    assert convert(aligned["b"]).tolist() == [1, 2, 3]


def test_numpy_without_recording():
    x = og.ones(2, requires_grad=True)
    for call in (x.numpy, lambda: np.asarray(x)):
        with pytest.raises(RuntimeError, match="requires grad"):
            call()
        with og.no_grad():
            assert call().tolist() == [1.0, 1.0]
    with og.no_grad():
        np.copyto(x.numpy(), 3.0)
    assert x.tolist() == [3.0, 3.0] and x.requires_grad


def test_functions_of_numpy_give_tensors():
    x = og.tensor([1.0, 4.0])
    assert outcome(lambda: np.sqrt(x)) == ("Tensor", "opgrid.float32", "[1.0, 2.0]")
    assert outcome(lambda: np.greater(x, np.array([2.0, 2.0]))) == ("Tensor", "opgrid.uint8", "[0, 1]")
    assert [part.tolist() for part in np.divmod(x, np.array([2.0, 3.0]))] == [[0.0, 1.0], [1.0, 1.0]]


def buffers():
    """Objects with the buffer protocol, writable and not, of several formats."""
    return {
        "bytearray": bytearray(range(16)),
        "bytes": bytes(range(16)),
        "view": memoryview(bytearray(range(16))),
        "view of integers": memoryview(bytearray(range(16))).cast("i"),
        "array": array.array("f", [1.0, 2.0, 3.0, 4.0]),
        "numpy": np.arange(4, dtype=np.int32),
        "ctypes": (ctypes.c_int32 * 4)(1, 2, 3, 4),
        "map": mmap.mmap(-1, 16),
    }


@pytest.mark.filterwarnings("ignore:frombuffer")
@pytest.mark.parametrize("name", buffers())
@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float32", "float64", "complex64", "bool"])
@pytest.mark.parametrize(("count", "offset"), [(-1, 0), (1, 0), (1, 3), (-1, 8), (1, 4)])
def test_buffers_become_tensors(name, dtype, count, offset):
    buffer = buffers()[name]
    expected = np.frombuffer(bytes(buffer), dtype, count=count, offset=offset)
    found = og.frombuffer(buffer, dtype=getattr(og, dtype), count=count, offset=offset)
    assert found.dtype == getattr(og, dtype) and found.shape == expected.shape
    assert found.numpy().tobytes() == (expected.view("uint8") != 0 if dtype == "bool" else expected).tobytes()


def test_which_buffers_share_memory():
    shared = bytearray(8)
    x = og.frombuffer(shared, dtype=og.int32)
    x.fill_(-1)
    assert shared == b"\xff" * 8
    with pytest.raises(BufferError):
        shared.append(0)
    del x
    shared.append(0)
    fixed = bytes(8)
    with pytest.warns(UserWarning, match="read-only"):
        og.frombuffer(fixed, dtype=og.int32).fill_(-1)
    assert fixed == bytes(8)
    with pytest.warns(UserWarning, match="address"):
        og.frombuffer(bytearray(9), dtype=og.int64, offset=1)
    leaf = og.frombuffer(bytearray(8), dtype=og.float32, requires_grad=True)
    assert leaf.requires_grad and leaf.is_leaf


@pytest.mark.parametrize(
    ("buffer", "options", "message"),
    [
        (b"", {}, "must not be 0"),
        (bytearray(8), {"count": 0}, "must not be 0"),
        (bytearray(8), {"offset": 3}, "multiple of element size"),
        (bytearray(8), {"count": 3}, "must not be greater"),
        (bytearray(8), {"count": 2**62}, "must not be greater"),
        (bytearray(8), {"offset": 8}, "no greater than buffer length"),
        (bytearray(8), {"offset": -1}, "must be non-negative"),
        ([1], {}, "buffer protocol"),
        (memoryview(bytearray(8))[::2], {}, "not contiguous"),
    ],
    ids=str,
)
def test_buffers_that_are_refused(buffer, options, message):
    with pytest.raises(ValueError, match=message):
        og.frombuffer(buffer, dtype=og.int32, **options)


def test_bytes_as_arrays():
    shared = bytearray(range(8))
    x = og.asarray(shared)
    assert x.dtype == og.uint8 and x.tolist() == list(range(8))
    x.fill_(1)
    assert shared == b"\x01" * 8
    assert og.asarray(shared, dtype=og.int32).shape == (2,)
    assert og.asarray(memoryview(shared).cast("i")).dtype == og.int32
    assert og.asarray(b"1234").tolist() == [49, 50, 51, 52]
    with pytest.raises(ValueError, match="copy"):
        og.asarray(b"1234", copy=False)
    assert og.as_tensor(shared).dtype == og.tensor(shared).dtype == og.int64
