"""What is asked of dtypes, shapes, threads, printing and random numbers; expected values are those of torch 2.15."""

import copy
import pickle

import pytest

import opgrid as og


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        ("float32", "resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, smallest_normal=1.17549e-38"),
        ("float16", "resolution=0.001, min=-65504, max=65504, eps=0.000976562, smallest_normal=6.10352e-05"),
        ("float64", "resolution=1e-15, min=-1.79769e+308, max=1.79769e+308, eps=2.22045e-16, smallest_normal=2.22507e-308"),
        ("bfloat16", "resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, smallest_normal=1.17549e-38"),
        ("float8_e4m3fn", "resolution=1, min=-448, max=448, eps=0.125, smallest_normal=0.015625"),
    ],
)
def test_limits_of_floats(dtype, text):
    limits = og.finfo(getattr(og, dtype))
    tiny = text.split("smallest_normal=")[1]
    assert repr(limits) == f"finfo({text}, tiny={tiny}, dtype={dtype})"
    assert limits.dtype == dtype and limits.tiny == limits.smallest_normal


def test_limits_of_other_dtypes():
    assert og.finfo(og.complex64) == og.finfo(og.float32) == og.finfo()
    assert (og.iinfo(og.uint8).min, og.iinfo(og.int64).max, og.iinfo(og.uint64).max) == (0, 2**63 - 1, 2**64 - 1)
    assert repr(og.iinfo(og.uint8)) == "iinfo(min=0, max=255, dtype=uint8)"
    for refused in (lambda: og.finfo(og.int64), lambda: og.iinfo(og.float32), lambda: og.iinfo(og.bool)):
        with pytest.raises(TypeError):
            refused()
    with pytest.raises(TypeError, match="expected a dtype, found an object of class str"):
        og.finfo("float32")


def test_promotion():
    assert og.promote_types(og.int64, og.float16) is og.float16
    assert og.promote_types(og.uint8, og.int8) is og.int16
    assert og.can_cast(og.int32, og.float32) and not og.can_cast(og.float32, og.int32)
    assert og.result_type(og.ones(2, dtype=og.int8), 1.5) is og.float32
    assert og.result_type(og.ones(2, dtype=og.float64), og.tensor(1.0)) is og.float64
    assert og.result_type(1, 1.5) is og.float32
    with pytest.raises(RuntimeError):
        og.promote_types(og.uint64, og.int32)
    with pytest.raises(TypeError, match="found an object of class str"):
        og.result_type("a", 1)


def test_the_default_dtype():
    before = og.get_default_dtype()
    try:
        og.set_default_dtype(og.float64)
        assert og.tensor([1.5]).dtype is og.float64 and og.finfo().bits == 64
    finally:
        og.set_default_dtype(before)
    with pytest.raises(TypeError, match="floating-point"):
        og.set_default_dtype(og.int32)
    assert og.get_default_dtype() is og.float32


def test_shapes():
    assert og.broadcast_shapes((2, 1), (3,)) == og.Size([2, 3])
    assert og.broadcast_shapes() == og.Size([]) and og.broadcast_shapes((2, 0), 1) == og.Size([2, 0])
    assert og.broadcast_shapes((1,), (0,)) == og.Size([0]) and isinstance(og.broadcast_shapes(3), og.Size)
    with pytest.raises(RuntimeError, match=r"shape 1 is \(3,\), which does not broadcast with \(2,\)"):
        og.broadcast_shapes((2,), (3,))
    with pytest.raises(ValueError, match="expected sizes of 0 or more"):
        og.broadcast_shapes((-1,), (2,))
    indices = og.unravel_index(og.tensor([3, 5]), (2, 3))
    assert [index.tolist() for index in indices] == [[1, 1], [0, 2]]
    with pytest.raises(TypeError, match="integer dtype"):
        og.unravel_index(og.tensor([1.0]), (2,))


def test_data_and_objects():
    numpy = pytest.importorskip("numpy")
    array = numpy.zeros(2)
    og.as_tensor(array).add_(1)
    assert array.tolist() == [1.0, 1.0]
    x = og.tensor([1.0])
    assert og.as_tensor(x) is x and og.as_tensor([1, 2.5], dtype=og.float64).dtype is og.float64
    assert og.is_tensor(x) and not og.is_tensor(array)
    assert og.is_storage(x.untyped_storage()) if hasattr(x, "untyped_storage") else not og.is_storage(x)
    assert og.typename(3) == "int" and og.typename(x).endswith("Tensor")


def test_unique_elements():
    x = og.tensor([3, 1, 1, 2])
    assert og.unique(x).tolist() == x.unique().tolist() == [1, 2, 3]
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([1, 2, 3], [2, 0, 0, 1], [2, 1, 1])
    rows = og.tensor([[1, 2], [1, 2], [0, 1]])
    assert og.unique(rows, dim=0).tolist() == [[0, 1], [1, 2]]
    values, counts = og.unique_consecutive(x, return_counts=True)
    assert (values.tolist(), counts.tolist()) == ([3, 1, 2], [1, 2, 1])


def test_random_numbers():
    og.manual_seed(5)
    assert og.initial_seed() == 5
    state = og.get_rng_state()
    first = og.rand(3).tolist()
    og.set_rng_state(state)
    assert og.rand(3).tolist() == first
    assert og.seed() == og.initial_seed() and og.rand(3).tolist() != first
    generator = og.Generator()
    assert generator.initial_seed() == 67280421310721
    assert generator.manual_seed(5) is generator
    assert og.rand(3, generator=generator).tolist() == first
    kept = og.Generator("cpu").set_state(generator.get_state())
    assert og.rand(2, generator=kept).tolist() == og.rand(2, generator=generator).tolist()
    assert generator.seed() == generator.initial_seed()
    with pytest.raises(RuntimeError, match="expected the cpu"):
        og.Generator("meta")


def test_settings():
    threads = og.get_num_threads()
    try:
        og.set_num_threads(1)
        assert og.get_num_threads() == 1
    finally:
        og.set_num_threads(threads)
    for wrong in (0, -1):
        with pytest.raises(RuntimeError, match="expected a positive number"):
            og.set_num_threads(wrong)
    before = og.get_printoptions()
    try:
        og.set_printoptions(precision=2)
        assert repr(og.tensor([1.23456])) == "tensor([1.23])"
        og.set_printoptions(profile="full", threshold=float("inf"))
        assert "..." not in repr(og.arange(2000))
        og.set_printoptions(profile="default")
        assert "..." in repr(og.arange(2000))
        with pytest.raises(ValueError, match="profile"):
            og.set_printoptions(profile="long")
    finally:
        og.set_printoptions(**before)
    assert og.get_printoptions() == before


def test_lists_of_tensors_are_tuples():
    x = og.tensor([[1.0, 0.0], [0.0, 2.0]])
    assert type(og.split(x, 1)) is tuple and type(x.unbind()) is tuple and type(og.ops.aten.unbind.int(x)) is list
    assert [places.tolist() for places in og.where(x)] == [[0, 1], [0, 1]] and x[og.where(x)].tolist() == [1.0, 2.0]
    first, second = og.meshgrid([og.tensor([1, 2]), og.tensor([3])], indexing="ij")
    assert first.shape == second.shape == (2, 1)


def test_operators_over_lists():
    tensors = [og.tensor([1.0, 2.0]), og.tensor([3.0])]
    assert og._foreach_add_(tensors, 1) is tensors
    assert [x.tolist() for x in tensors] == [[2.0, 3.0], [4.0]]
    assert og.ops.aten._foreach_mul_.ScalarList(tensors, [2, 0.5]) is None
    assert [x.tolist() for x in tensors] == [[4.0, 6.0], [2.0]]
    roots = og._foreach_sqrt([og.tensor([4.0, 9.0]), og.tensor(16)])
    assert isinstance(roots, tuple) and [x.tolist() for x in roots] == [[2.0, 3.0], 4.0]
    assert [x.tolist() for x in og._foreach_pow(2, tensors)] == [[16.0, 64.0], [4.0]]
    assert [x.tolist() for x in og._foreach_add(self=tensors, other=tensors, alpha=2)] == [[12.0, 18.0], [6.0]]
    assert og._foreach_zero_(self=tensors) is tensors
    packed = og._foreach_addcmul(tensors, roots, roots, og.tensor([1.0, 0.5]))
    assert [x.tolist() for x in packed] == [[4.0, 9.0], [8.0]]
    for call, message in [
        (lambda: og._foreach_abs([]), "`self` is an empty list"),
        (lambda: og._foreach_add(tensors, tensors[:1]), "`other` has 1 tensors, expected 2"),
        (lambda: og._foreach_add(tensors, [1.0]), "`scalars` has 1 numbers, expected 2"),
        (lambda: og._foreach_mul(tensors, og.tensor([2.0])), r"`other` has sizes \[1\], expected \[\]"),
        (lambda: og._foreach_add([og.ones(2), og.ones(2)], [og.ones(2), og.ones(3)]), "tensor 1: "),
    ]:
        with pytest.raises(RuntimeError, match=message):
            call()
    x = og.ones(2, requires_grad=True)
    sum(y.sum() for y in og._foreach_mul([x, x], [3.0, 4.0])).backward()
    assert x.grad.tolist() == [7.0, 7.0]


def test_copies_of_views():
    x = og.arange(6).view(2, 3)
    copy = og.permute_copy(x, (1, 0))
    x.zero_()
    assert copy.tolist() == [[0, 3], [1, 4], [2, 5]] and copy.is_contiguous()
    outputs = [og.empty(0, dtype=og.int64) for _ in range(2)]
    og.split_copy(copy, 2, out=outputs)
    assert [y.tolist() for y in outputs] == [[[0, 3], [1, 4]], [[2, 5]]]


def test_several_results_have_names():
    x = og.tensor([[1.0, 3.0], [4.0, 2.0]])
    found = og.max(x, 1)
    assert isinstance(found, tuple) and type(found) is og.return_types.max
    assert found.values.tolist() == [3.0, 4.0] and found[1] is found.indices
    values, indices = x.topk(1)
    assert values.tolist() == [[3.0], [4.0]] and x.sort(dim=1).indices.tolist() == [[0, 1], [1, 0]]
    assert repr(og.min(og.tensor([2, 1]), 0)) == "opgrid.return_types.min(\nvalues=tensor(1),\nindices=tensor(1))"
    again = pickle.loads(pickle.dumps(found))
    assert type(again) is type(found) and again.indices.tolist() == [1, 0]
    copied = copy.deepcopy(found)
    assert copied.values is not found.values and copied.values.tolist() == [3.0, 4.0]
    assert og.aminmax(x).max.item() == 4.0
    # Overloads give plain tuples, and so do operators whose results have no names.
    assert type(og.ops.aten.max.dim(x, 1)) is tuple and type(og.var_mean(x)) is tuple

    class Own(og.Tensor):
        pass

    found = Own([[1.0, 2.0]]).max(dim=1)
    assert type(found) is og.return_types.max and type(found.values) is Own


def test_parts_of_signals_are_padded_unless_told():
    x, window = og.arange(12.0), og.tensor([0.5, 1.0, 2.0, 1.5])
    padded = og.nn.functional.pad(x[None], (2, 2), mode="reflect")[0]
    expected = og.stft(padded, 4, 2, window=window, center=False, return_complex=True)
    assert expected.shape == (3, 7)
    for found in (og.stft(x, 4, 2, None, window, return_complex=True), x.stft(4, 2, window=window, return_complex=True)):
        assert og.equal(found, expected)
    assert og.stft(x, 4, 2, window=window, center=False, return_complex=True).shape == (3, 5)
    assert og.allclose(og.istft(expected, 4, 2, window=window), x, atol=1e-5)


def test_segments_are_reduced():
    x = og.tensor([[1.0, 2.0], [3.0, 5.0], [-1.0, 4.0]], dtype=og.float64)
    lengths = og.tensor([2, 0, 1])
    assert og.segment_reduce(x, "sum", lengths=lengths).tolist() == [[4.0, 7.0], [0.0, 0.0], [-1.0, 4.0]]
    assert og.segment_reduce(x, "max", offsets=og.tensor([0, 2, 2, 3]), initial=2).tolist() == [[3.0, 5.0], [2.0, 2.0], [2.0, 4.0]]
    means = og.segment_reduce(x, "mean", lengths=lengths)
    assert means[0].tolist() == [2.0, 3.5] and means[1].isnan().all()
    rows = og.segment_reduce(x.T.contiguous(), "prod", lengths=og.tensor([[1, 2], [3, 0]]), axis=1)
    assert rows.tolist() == [[1.0, -3.0], [40.0, 1.0]]
    for wrong in ({"lengths": og.tensor([2, 2])}, {}, {"lengths": og.tensor([4, -1])}, {"lengths": lengths, "axis": 1}):
        with pytest.raises(RuntimeError, match="expected"):
            og.segment_reduce(x, "sum", **wrong)
    with pytest.raises(RuntimeError, match="mean"):
        og.segment_reduce(x, "median", lengths=lengths)


def test_distances_say_how_they_are_computed():
    x, y = og.tensor([[0.0, 0.0], [3.0, 4.0]]), og.tensor([[0.0, 0.0]])
    for mode in ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
        assert og.cdist(x, y, compute_mode=mode).tolist() == [[0.0], [5.0]]
    with pytest.raises(ValueError, match="use_mm_for_euclid_dist_if_necessary"):
        og.cdist(x, y, compute_mode="fast")


def test_states_of_streams_are_bytes_of_torchs_layout():
    generator = og.Generator().manual_seed(5)
    state = generator.get_state()
    assert state.dtype == og.uint8 and state.shape == (5056,)
    # torch.manual_seed(5); torch.rand(3); torch.randn(3, dtype=torch.float64)
    og.rand(3, generator=generator), og.randn(3, dtype=og.float64, generator=generator)
    drawn = generator.get_state()
    assert drawn[:17].tolist() == [5, 0, 0, 0, 0, 0, 0, 0, 102, 2, 0, 0, 1, 0, 0, 0, 11]
    expected = og.randn(5, generator=generator)
    assert og.equal(og.randn(5, generator=og.Generator().set_state(drawn)), expected)
    assert og.equal(og.rand(3, generator=generator.set_state(state)), og.rand(3, generator=og.Generator().manual_seed(5)))
    assert og.equal(generator.clone_state().get_state(), generator.get_state())


def test_what_is_no_state_of_a_stream_is_refused():
    generator = og.Generator()
    with pytest.raises(TypeError, match="uint8"):
        generator.set_state(og.zeros(5056))
    for wrong in (og.zeros(7, dtype=og.uint8), og.zeros(5056, dtype=og.uint8)):
        with pytest.raises(RuntimeError):
            og.set_rng_state(wrong)
