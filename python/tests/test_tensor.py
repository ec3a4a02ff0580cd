"""Tensors: how they are made, what they are like, indexing, and as Python's numbers and sequences."""

import copy
import gc
import pickle
import weakref

import opgrid as og
import pytest


def test_the_legacy_constructor_tells_sizes_from_data():
    assert repr(og.Tensor(1, 2, 3, 4).shape) == "opgrid.Size([1, 2, 3, 4])"
    assert str(og.Tensor([1, 2, 3, 4])) == "tensor([1., 2., 3., 4.])"
    assert repr(og.Tensor(og.Size([1, 2, 3, 4])).shape) == "opgrid.Size([1, 2, 3, 4])"
    assert og.Tensor().shape == (0,)
    assert og.Tensor((1, 2)).tolist() == [1.0, 2.0]
    assert og.Tensor(range(3)).tolist() == [0.0, 1.0, 2.0]
    assert og.Tensor(size=(2, 3)).shape == (2, 3)
    assert og.Tensor(2).shape == (2,)
    other = og.tensor([1, 2])
    assert og.Tensor(other).tolist() == [1, 2]
    assert og.Tensor(og.tensor([1.0, 2.0]).untyped_storage()).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: og.Tensor(1.5), TypeError, "new(): data must be a sequence (got float)"),
        (lambda: og.Tensor("a"), TypeError, "new(): invalid data type 'str'"),
        (lambda: og.Tensor(-1), RuntimeError, "negative"),
        (lambda: og.Tensor([1], device="meta"), RuntimeError, "legacy constructor expects device type: cpu"),
        (lambda: og.Tensor(og.zeros(2), device="cpu"), RuntimeError, "is not supported"),
        (lambda: og.Tensor(cdata=1), NotImplementedError, "cdata"),
        (lambda: og.Tensor([1], foo=2), TypeError, "unexpected keyword argument 'foo'"),
        (lambda: og.Tensor([1], 2), TypeError, "invalid combination"),
        (lambda: og.Tensor([[1], [1, 2]]), ValueError, "expected sequence of length 1 at dim 1 (got 2)"),
        (lambda: og.TensorBase(), TypeError, "subclass it"),
        (lambda: og.tensor(["a"]), TypeError, "invalid data type 'str'"),
        (lambda: og.tensor([300], dtype=og.uint8), RuntimeError, "uint8 cannot represent"),
        (lambda: og.tensor(2**70), ValueError, "beyond 64 bits"),
        (lambda: og.tensor([1], dtype="float32"), TypeError, "must be opgrid.dtype"),
        (lambda: og.tensor([1], device="nowhere"), RuntimeError, "device"),
    ],
)
def test_what_is_no_tensor_is_an_error(make, kind, text):
    with pytest.raises(kind) as raised:
        make()
    assert text in str(raised.value)


def test_tensor_chooses_the_dtype_of_its_numbers():
    assert og.tensor([1, 2]).dtype is og.int64
    assert og.tensor([1, 2.5]).dtype is og.float32
    assert og.tensor([True]).dtype is og.bool
    assert og.tensor([1j]).dtype is og.complex64
    assert og.tensor([]).shape == (0,)
    assert og.tensor(3).shape == ()
    assert og.tensor([1.9], dtype=og.int64).tolist() == [1]
    assert og.tensor([1, 2], device="meta").is_meta
    source = og.tensor([1.0])
    copied = og.tensor(source)
    copied.add_(1)
    assert source.tolist() == [1.0]


def test_attributes():
    x = og.zeros(2, 3, dtype=og.float64)
    assert x.shape == x.size() == (2, 3)
    assert (x.size(-1), x.stride(), x.stride(0), x.ndim, x.numel()) == (3, (3, 1), 3, 2, 6)
    assert (x.dtype, x.device, x.layout) == (og.float64, og.device("cpu"), og.strided)
    assert (x.itemsize, x.nbytes, x.is_contiguous(), x.T.is_contiguous()) == (8, 48, True, False)
    assert x.mT.shape == (3, 2)
    assert (x.is_floating_point(), x.is_complex(), x.requires_grad, x.grad) == (True, False, False, None)
    with pytest.raises(IndexError):
        x.size(2)


def test_conversion_changes_only_what_is_asked_for():
    x = og.tensor([1, 2])
    assert x.to(og.int64) is x
    assert x.to(dtype=og.float32).tolist() == [1.0, 2.0]
    assert x.to("cpu") is x
    assert x.to(og.zeros(1)).dtype is og.float32
    assert x.double().dtype is og.float64
    assert x.to(og.int64, copy=True) is not x
    with pytest.raises(TypeError):
        x.to(3)


def test_sizes_are_tuples():
    size = og.zeros(2, 3).shape
    assert size == (2, 3) and isinstance(size, tuple) and isinstance(size[:1], og.Size)
    assert size.numel() == 6
    assert repr(size + (1,)) == "opgrid.Size([2, 3, 1])"
    assert pickle.loads(pickle.dumps(size)) == size
    with pytest.raises(TypeError):
        og.Size([1.5])


def test_dtypes_and_devices_are_values():
    assert repr(og.float32) == "opgrid.float32"
    assert pickle.loads(pickle.dumps(og.float32)) is og.float32
    assert copy.deepcopy(og.channels_last) is og.channels_last
    assert (og.float16.itemsize, og.int8.is_signed, og.uint8.is_signed) == (2, True, False)
    assert og.device("cuda", 1) == og.device("cuda:1")
    assert repr(og.device("cuda:1")) == "device(type='cuda', index=1)"
    assert {og.device("cpu"): 1}[og.device("cpu")] == 1
    assert pickle.loads(pickle.dumps(og.device("cuda:1"))).index == 1


x = og.arange(24).reshape(2, 3, 4)
INDICES = [
    0, -1, (1, 2), (1, 2, 3), slice(None), slice(1, None), (slice(None), slice(0, 3, 2)), None, (None, 0), Ellipsis,
    (Ellipsis, 1), (0, Ellipsis, 1), [0, 1], ([0, 1], [1, 2]), (slice(None), [0, 2]), True, False, (True, 0),
    (slice(None), None, 1), (0, slice(-2, None)), (slice(None, None, 2), slice(5, 1)), (),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_indexing_is_that_of_numpy(index):
    numpy = pytest.importorskip("numpy")
    expected = x.numpy()[index]
    result = x[index]
    assert result.shape == numpy.shape(expected)
    assert result.tolist() == expected.tolist()
    ours, theirs = x.clone(), x.numpy().copy()
    ours[index], theirs[index] = 7, 7
    assert ours.tolist() == theirs.tolist()


def test_tensors_index_tensors():
    y = og.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert y[y > 1].tolist() == [2.0, 3.0, 4.0]
    assert y[og.tensor([1, 0])].tolist() == [[3.0, 4.0], [1.0, 2.0]]
    assert y[og.tensor(1)].tolist() == [3.0, 4.0]
    y[y > 2] = og.tensor([30.0, 40.0])
    y[0] = og.tensor([10.0, 20.0])
    assert y.tolist() == [[10.0, 20.0], [30.0, 40.0]]
    mask = og.tensor([[True, False, True], [False, True, False]])
    assert x[mask].shape == (3, 4)
    assert x[mask, 0].tolist() == [0, 8, 16]


@pytest.mark.parametrize(
    ("index", "kind"),
    [
        (2, IndexError), ((0, 0, 0, 0), IndexError), (1.5, IndexError), ("a", TypeError),
        (slice(None, None, -1), ValueError), (slice(None, None, 0), ValueError), ((Ellipsis, Ellipsis), IndexError),
        (og.tensor([0.5]), IndexError), (og.tensor([5]), IndexError), (2**70, OverflowError),
    ],
)  # fmt: skip
def test_bad_indices_are_errors(index, kind):
    with pytest.raises(kind):
        x[index]
    with pytest.raises(kind):
        x.clone()[index] = 1


def test_views_share_memory():
    y = og.zeros(3)
    y[1:][0] = 5
    assert y.tolist() == [0.0, 5.0, 0.0]
    with pytest.raises(TypeError, match="can't assign a str"):
        y[0] = "a"


def test_one_element_is_a_number():
    one = og.tensor([2.5])
    assert (float(one), int(one), bool(one), complex(one), one.item()) == (2.5, 2, True, 2.5 + 0j, 2.5)
    assert [10, 20, 30][og.tensor(1)] == 20
    with pytest.raises(TypeError):
        [10][one]
    for ambiguous in (og.zeros(2), og.zeros(0)):
        with pytest.raises(RuntimeError, match="ambiguous"):
            bool(ambiguous)
    with pytest.raises(OverflowError):
        int(og.tensor(og.inf))
    assert f"{og.tensor(2.5):.2f}" == "2.50"


def test_tensors_are_sequences():
    y = og.tensor([[1, 2], [3, 4]])
    assert len(y) == 2
    assert [part.tolist() for part in y] == y.tolist() == [[1, 2], [3, 4]]
    assert [part.tolist() for part in reversed(y)] == [[3, 4], [1, 2]]
    assert 3 in y and 5 not in y
    for nothing in (len, iter):
        with pytest.raises(TypeError, match="0-d"):
            nothing(og.tensor(1))


def test_comparison_gives_tensors_and_hashing_goes_by_identity():
    y = og.tensor([1, 2])
    assert (y == 1).tolist() == [True, False]
    assert (y != y).tolist() == [False, False]
    assert (y == None) is False  # noqa: E711
    with pytest.raises(TypeError):
        y < "a"  # noqa: B015
    assert len({y, y, y.clone()}) == 2
    mask = og.tensor([True, False])
    assert (~mask).tolist() == [False, True]
    assert (mask & True).tolist() == [True, False]
    assert (mask | mask).tolist() == [True, False]
    assert (mask ^ True).tolist() == [False, True]


def test_every_infix_operator_is_there():
    x = og.tensor([7, -5, 3])
    assert (x % 4).tolist() == [3, 3, 3]
    assert (-4 % og.tensor([3, 5])).tolist() == [2, 1]
    assert (x // 2).tolist() == [3, -3, 1]
    assert (7 // og.tensor([2, -2])).tolist() == [3, -4]
    assert (x & 6).tolist() == [6, 2, 2]
    assert (6 & x).tolist() == [6, 2, 2]
    assert (x | 8).tolist() == [15, -5, 11]
    assert (x ^ x).tolist() == [0, 0, 0]
    assert (~x).tolist() == [-8, 4, -4]
    assert (x << 1).tolist() == [14, -10, 6]
    assert (x >> 1).tolist() == [3, -3, 1]
    assert (1 << og.tensor([0, 3])).tolist() == [1, 8]
    assert (16 >> og.tensor([1, 2])).tolist() == [8, 4]
    same = x
    x %= 4
    x **= 2
    x //= 2
    x <<= 2
    x |= 1
    x &= 255
    x ^= 3
    x >>= 1
    assert x is same
    assert x.tolist() == [9, 9, 9]
    with pytest.raises(NotImplementedError, match="expected a bool or integer dtype"):
        og.tensor([1.5]) & 1
    with pytest.raises(TypeError, match="unsupported operand"):
        og.tensor([1]) << "a"


def test_a_tensor_has_one_object():
    y = og.zeros(2)
    y.note = "kept"
    assert y.note == "kept"
    assert y.neg_().note == "kept"
    del y.note
    with pytest.raises(AttributeError):
        y.note
    with pytest.raises(AttributeError):
        y.shape = (3,)
    reference = weakref.ref(y)
    assert reference() is y
    del y
    gc.collect()
    assert reference() is None


def test_an_object_that_is_going_is_not_given_out():
    y = og.zeros(2)
    seen = []
    other = og.zeros(2)
    reference = weakref.ref(y, lambda _: seen.append(og.add(other, 1).tolist()))
    del y
    assert reference() is None and seen == [[1.0, 1.0]]


def test_copies():
    y = og.tensor([1.0, 2.0])
    shared, own = copy.copy(y), copy.deepcopy(y)
    y.add_(1)
    assert (shared.tolist(), own.tolist()) == ([2.0, 3.0], [1.0, 2.0])
    twice = copy.deepcopy([y, y])
    assert twice[0] is twice[1]


@pytest.mark.parametrize("dtype", [og.float32, og.bfloat16, og.bool, og.complex64, og.int16], ids=repr)
def test_pickling_keeps_elements_dtype_and_strides(dtype):
    y = og.tensor([[1, 0], [3, 4]]).to(dtype).T
    back = pickle.loads(pickle.dumps(y))
    assert (back.tolist(), back.dtype, back.shape, back.stride()) == (y.tolist(), dtype, y.shape, y.stride())
    assert pickle.loads(pickle.dumps(og.zeros(2, 0))).shape == (2, 0)


def test_subclasses_are_tensors():
    class Named(og.Tensor):
        def shout(self):
            return str(self).upper()

    named = Named([1, 2])
    assert named.shout() == "TENSOR([1., 2.])"
    named.name = "x"
    assert named.name == "x"
    assert named.add_(1) is named
    assert isinstance(named, og.Tensor) and (named + 1).tolist() == [3.0, 4.0]


def test_printing():
    assert repr(og.tensor([1.5])) == "tensor([1.5000])"
    assert "<pre>tensor" in og.zeros(2)._repr_html_()


def test_meta_tensors_have_no_elements():
    meta = og.empty(2, 3, device="meta")
    assert (meta + 1).shape == (2, 3)
    with pytest.raises(RuntimeError):
        meta.tolist()
