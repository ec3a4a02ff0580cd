"""Memory shared with numpy and by DLPack, and files."""

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
    with pytest.raises(og.OpgridError, match=r"found 18446744073709551615, expected at most .*to_vec"):
        tensor[2].item()
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
        (numpy.array([1], dtype=">f4"), TypeError),
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
        with pytest.raises(BufferError, match="somebody has taken it"):
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
        og.save(og.zeros(1), tmp_path / "x.txt")
    with pytest.raises(TypeError):
        og.save([1], path)
