"""Unsigned integers of 16, 32 and 64 bits, whose results are numpy's."""

import itertools

import opgrid as og
import pytest

np = pytest.importorskip("numpy")

DTYPES = ("uint16", "uint32", "uint64")
SIGNED = ("int8", "int16", "int32", "int64")


def edges(dtype):
    top = np.iinfo(dtype).max
    return np.array([0, 1, 2, 7, top // 2, top // 2 + 1, top - 1, top], dtype=dtype)


def ours(x):
    return og.from_numpy(x.copy()) if isinstance(x, np.ndarray) else x


def check(found, expected):
    expected = np.asarray(expected)
    assert found.dtype is getattr(og, str(expected.dtype)) and tuple(found.shape) == expected.shape
    assert found.tolist() == expected.tolist()


BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor, "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "gcd": np.gcd, "lcm": np.lcm, "pow": np.power, "logical_and": np.logical_and, "logical_xor": np.logical_xor,
}  # fmt: skip
DIVISIONS = {"floor_divide": np.floor_divide, "remainder": np.remainder, "fmod": np.fmod}
UNARY = {
    "bitwise_not": np.bitwise_not, "neg": np.negative, "abs": np.abs, "sign": np.sign, "square": np.square,
    "logical_not": np.logical_not, "signbit": np.signbit, "floor": lambda x: x, "round": lambda x: x, "relu": lambda x: x,
}  # fmt: skip
REDUCTIONS = {
    "max": np.max, "min": np.min, "amax": np.max, "amin": np.min, "argmax": np.argmax, "argmin": np.argmin,
    "any": np.any, "all": np.all, "count_nonzero": np.count_nonzero,
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY | DIVISIONS)
def test_pairs(name, dtype):
    x = edges(dtype)
    y = x[x != 0] if name in DIVISIONS else x
    function = {"lcm": lambda a, b: a // np.gcd(a, b).clip(1) * b}.get(name, (BINARY | DIVISIONS)[name])
    check(getattr(og, name)(ours(x[:, None]), ours(y)), function(x[:, None], y))
    # Beside an integer of Python, or of another dtype and without dimensions, the dtype stays; other strides, and in place.
    three = og.tensor(3) if name in ("maximum", "minimum", "fmax", "fmin", "gcd", "lcm", "logical_and", "logical_xor") else 3
    check(getattr(og, name)(ours(x), three), function(x, x.dtype.type(3)))
    check(getattr(og, name)(ours(np.repeat(x, 2))[::2], ours(x).clamp(min=1)), function(x, x.clip(1)))
    inplace = ours(x)
    if function(x, x.clip(1)).dtype == x.dtype and hasattr(inplace, f"{name}_"):
        getattr(inplace, f"{name}_")(ours(x).clamp(min=1))
        check(inplace, function(x, x.clip(1)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_single_elements(name, dtype):
    check(getattr(og, name)(ours(edges(dtype))), UNARY[name](edges(dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_shifts_move_bits_and_no_sign(dtype):
    x, bits = edges(dtype), np.iinfo(dtype).bits
    for count in (0, 1, bits - 1, bits, bits + 1, 64, 100):
        check(og.bitwise_right_shift(ours(x), count), np.array([int(one) >> count for one in x], dtype=dtype))
        check(og.bitwise_left_shift(ours(x), count), np.array([(int(one) << count) % 2**bits for one in x], dtype=dtype))
    check(ours(x) >> ours(x), np.array([int(one) >> min(int(one), 64) for one in x], dtype=dtype))
    check(ours(x) << ours(x), np.array([(int(one) << min(int(one), 64)) % 2**bits for one in x], dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_division_by_zero_is_an_error(dtype):
    x = ours(edges(dtype))
    for function in (og.floor_divide, og.remainder, og.fmod):
        with pytest.raises(RuntimeError, match="zero"):
            function(x, 0)
    check((x / 0)[1:3].isinf(), np.array([True, True]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, dtype):
    x = edges(dtype)[[3, 7, 0, 6, 7, 1]]
    check(getattr(og, name)(ours(x)), REDUCTIONS[name](x))
    for dim in (0, 1):
        found = getattr(og, name)(ours(x.reshape(2, 3)), dim)
        found = found[0] if name in ("max", "min") else found
        check(found, REDUCTIONS[name](x.reshape(2, 3), axis=dim))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_and_products(dtype):
    x = edges(dtype)
    large = np.full(3000, np.iinfo(dtype).max, dtype=dtype)
    for array in (x, large, large.reshape(3, 1000).T):
        for name in ("sum", "prod"):
            # As torch, in int64; the bits are those of uint64.
            expected = getattr(np, name)(array, dtype="uint64")
            check(getattr(og, name)(ours(array)), expected.astype("int64"))
            for wide in DTYPES:
                check(getattr(og, name)(ours(array), dtype=getattr(og, wide)), getattr(np, name)(array, dtype=wide))
    check(ours(x).cumsum(0), np.cumsum(x, dtype="uint64").astype("int64"))
    check(ours(x).cumsum(0, dtype=og.uint64), np.cumsum(x, dtype="uint64"))
    check(ours(x[1:]).cumprod(0, dtype=getattr(og, dtype)), np.cumprod(x[1:], dtype=dtype))
    check(ours(x).cummax(0)[0], np.maximum.accumulate(x))
    check(ours(x[::-1].copy()).cummin(0)[0], np.minimum.accumulate(x[::-1]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_order_and_sets(dtype):
    x = edges(dtype)[[6, 0, 7, 3, 5, 4, 7, 1]]
    check(ours(x).sort()[0], np.sort(x))
    check(ours(x).sort(descending=True)[0], np.sort(x)[::-1])
    check(ours(x).argsort(stable=True), np.argsort(x, kind="stable"))
    check(ours(x).unique(), np.unique(x))
    check(og.searchsorted(ours(np.sort(x)), ours(x)), np.searchsorted(np.sort(x), x))
    check(og.searchsorted(ours(np.sort(x)), ours(x), right=True), np.searchsorted(np.sort(x), x, side="right"))
    check(og.isin(ours(x), ours(x[:3])), np.isin(x, x[:3]))
    check(ours(x).topk(2)[0], np.sort(x)[::-1][:2])
    check(ours(x).kthvalue(3)[0], np.sort(x)[2])
    check(ours(x).median(), np.sort(x)[3])


@pytest.mark.parametrize("dtype", DTYPES)
def test_indices_and_parts(dtype):
    x = edges(dtype).reshape(2, 4)
    t, index = ours(x), og.tensor([1, 0, 1])
    check(t[1, 2:], x[1, 2:])
    check(t[t > 3], x[x > 3])
    check(t[:, index], x[:, [1, 0, 1]])
    check(og.where(t > 3, t, 5), np.where(x > 3, x, np.array(5, dtype=dtype)))
    check(og.where(t > 3, t, t.flip(1)), np.where(x > 3, x, x[:, ::-1]))
    check(og.cat([t, t], 1), np.concatenate([x, x], axis=1))
    check(t.tril(), np.tril(x))
    check(t.masked_fill(t > 3, np.iinfo(dtype).max), np.where(x > 3, np.iinfo(dtype).max, x).astype(dtype))
    check(t.roll(1, 1), np.roll(x, 1, axis=1))
    check(t.gather(1, og.tensor([[3], [0]])), x[[[0], [1]], [[3], [0]]])
    check(t.index_select(1, index), x[:, [1, 0, 1]])
    check(t.nonzero(), np.argwhere(x))
    t[0, 1] = np.iinfo(dtype).max
    t[1] += 1
    x[0, 1] = np.iinfo(dtype).max
    x[1] += 1
    check(t, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_that_meet_are_combined(dtype):
    top = np.iinfo(dtype).max
    source = np.array([top, 2, top // 2 + 1], dtype=dtype)
    index, zeros = og.tensor([0, 0, 1]), ours(np.ones(2, dtype=dtype))
    check(zeros.scatter_add(0, index, ours(source)), np.array([2, top // 2 + 2], dtype=dtype))
    check(zeros.index_add(0, index, ours(source)), np.array([2, top // 2 + 2], dtype=dtype))
    check(zeros.index_add(0, index, ours(source), alpha=2), np.array([3, 1], dtype=dtype))
    check(zeros.index_put((index,), ours(source), accumulate=True), np.array([2, top // 2 + 2], dtype=dtype))
    for reduce, expected in (("amax", [top, top // 2 + 1]), ("amin", [1, 1]), ("prod", [top - 1, top // 2 + 1]), ("mean", [0, top // 4 + 1])):
        check(zeros.scatter_reduce(0, index, ours(source), reduce), np.array(expected, dtype=dtype))
    check(zeros.scatter_reduce(0, index, ours(source), "amin", include_self=False), np.array([2, top // 2 + 1], dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_matrices(dtype):
    a = np.resize(edges(dtype)[[7, 3, 5, 2, 6]], (3, 4))
    b = np.resize(edges(dtype)[[6, 4, 1, 7, 2, 3]], (4, 5))
    check(ours(a) @ ours(b), a @ b)
    check(og.addmm(ours(a @ b), ours(a), ours(b), beta=3, alpha=np.iinfo(dtype).max), (a @ b) * x_of(dtype, 3) - a @ b)
    check(ours(a)[0] @ ours(b), a[0] @ b)
    check(og.einsum("ij,jk->ik", [ours(a), ours(b)]), a @ b)
    large = np.resize(edges(dtype), (37, 70))
    check(ours(large) @ ours(large).T, large @ large.T)


def x_of(dtype, number):
    return np.dtype(dtype).type(number)


@pytest.mark.parametrize("dtype", DTYPES)
def test_conversions_and_texts(dtype):
    x = edges(dtype)
    for other in (*DTYPES, *SIGNED, "uint8", "bool", "float32", "float64"):
        check(ours(x).to(getattr(og, other)), x.astype(other))
    for other in SIGNED:
        low = np.array([np.iinfo(other).min, -1, 0, np.iinfo(other).max], dtype=other)
        check(ours(low).to(getattr(og, dtype)), low.astype(dtype))
    top = int(np.iinfo(dtype).max)
    assert str(top) in repr(ours(x)) and f"dtype=opgrid.{dtype}" in repr(ours(x)).replace("torch.", "opgrid.")
    number = ours(x)[-1]
    assert number.item() == int(number) == number.tolist() == top and type(number.item()) is int
    assert float(number) == float(top) and bool(number) and range(1)[0:number] == range(1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_python_up_to_the_largest(dtype):
    top = int(np.iinfo(dtype).max)
    kind = getattr(og, dtype)
    check(og.tensor([0, top], dtype=kind), np.array([0, top], dtype=dtype))
    check(og.full((2,), top, dtype=kind), np.full(2, top, dtype=dtype))
    check(og.zeros(2, dtype=kind).fill_(top), np.full(2, top, dtype=dtype))
    x = ours(edges(dtype))
    check(x == top, edges(dtype) == top)
    check(x + top, edges(dtype) - x_of(dtype, 1))
    check(x & top, edges(dtype))
    check(x.clamp(max=top), edges(dtype))
    check(x.clamp(min=top), np.full(8, top, dtype=dtype))
    check(x.clamp(-3, 7), edges(dtype).clip(0, 7))
    check(og.arange(top - 2, top, dtype=kind), np.array([top - 2, top - 1], dtype=dtype))
    x[0] = top
    assert x[0].item() == top
    for wrong in (top + 1, -1):
        with pytest.raises((RuntimeError, OverflowError, ValueError)):
            og.tensor([wrong], dtype=kind)
    with pytest.raises(RuntimeError, match="without overflow"):
        og.full((1,), 2**64 - 1)
    with pytest.raises(OverflowError):
        x + 2**64


def test_floats_take_large_integers():
    assert (og.tensor([1.0], dtype=og.float64) * (2**64 - 1)).item() == float(2**64 - 1)
    assert og.tensor([2**64 - 1, 0.5], dtype=og.float64).tolist() == [float(2**64 - 1), 0.5]
    assert og.full((1,), 2**63, dtype=og.float32).item() == 2.0**63


def test_makers():
    for dtype in DTYPES:
        kind = getattr(og, dtype)
        check(og.arange(5, dtype=kind), np.arange(5, dtype=dtype))
        check(og.ones(2, 2, dtype=kind), np.ones((2, 2), dtype=dtype))
        check(og.eye(2, dtype=kind), np.eye(2, dtype=dtype))
        check(og.linspace(0, 8, 3, dtype=kind), np.array([0, 4, 8], dtype=dtype))
        drawn = og.randint(3, 9, (1000,), dtype=kind)
        assert drawn.dtype is kind and drawn.min().item() == 3 and drawn.max().item() == 8
        info = og.iinfo(kind)
        assert (info.min, info.max, info.bits) == (0, np.iinfo(dtype).max, np.iinfo(dtype).bits)
    with pytest.raises(RuntimeError, match="out of bounds for uint16"):
        og.randint(0, 70000, (2,), dtype=og.uint16)


def test_dtypes_are_promoted_as_by_the_standard():
    names = ("uint8", *DTYPES, *SIGNED, "float32", "float64", "complex64", "complex128")
    for one, other in itertools.product(names, names):
        kinds = {np.dtype(one).kind, np.dtype(other).kind}
        if kinds == {"u", "i"} and "uint64" in (one, other):
            with pytest.raises(RuntimeError, match="convert one of them"):
                og.promote_types(getattr(og, one), getattr(og, other))
            continue
        if len(kinds - {"u", "i"}) == 0:
            assert og.promote_types(getattr(og, one), getattr(og, other)) is getattr(og, str(np.promote_types(one, other)))
    for dtype in DTYPES:
        kind = getattr(og, dtype)
        assert og.promote_types(kind, og.bool) is kind
        assert og.promote_types(kind, og.float16) is og.float16
        assert og.promote_types(kind, og.complex64) is og.complex64
    x = og.tensor([1, 2], dtype=og.uint16)
    check(x + og.tensor([1, 70000], dtype=og.uint32), np.array([2, 70002], dtype="uint32"))
    check(x - og.tensor([5, 5], dtype=og.int16), np.array([-4, -3], dtype="int32"))
    check(x + 1.5, np.array([2.5, 3.5], dtype="float32"))
    # A tensor without dimensions counts as little as a number, and is one of the dtype.
    check(x + og.tensor(70000), np.array([4465, 4466], dtype="uint16"))
    check(og.maximum(x, og.tensor(-1)), np.array([65535, 65535], dtype="uint16"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_files_and_exchange(dtype, tmp_path):
    x = edges(dtype)
    np.save(tmp_path / "x.npy", x)
    check(og.from_numpy(np.load(tmp_path / "x.npy")), x)
    og.save({"x": ours(x)}, tmp_path / "x.safetensors")
    check(og.load(tmp_path / "x.safetensors")["x"], x)
    check(og.from_dlpack(ours(x)), x)
    assert (np.from_dlpack(ours(x)) == x).all() and (ours(x).numpy() == x).all()


def test_the_array_namespace():
    xp = pytest.importorskip("opgrid.array_api")
    for dtype in ("uint8", *DTYPES):
        x = np.array([3, 250, 7], dtype=dtype)
        check(xp.sum(ours(x)), np.sum(x, dtype="uint64"))
        check(xp.prod(ours(x)), np.prod(x, dtype="uint64"))
        check(xp.cumulative_sum(ours(x)), np.cumsum(x, dtype="uint64"))
        check(xp.cumulative_prod(ours(x)), np.cumprod(x, dtype="uint64"))
        check(xp.sum(ours(x), dtype=xp.int64), np.sum(x, dtype="int64"))
        check(xp.max(ours(x)), x.max())
        check(xp.floor_divide(ours(x), 7), x // x_of(dtype, 7))
        check(xp.bitwise_right_shift(ours(x), 1), x >> x_of(dtype, 1))
        check(xp.unique_values(ours(x)), np.unique(x))
        check(xp.matmul(ours(x), ours(x)), x @ x)
        assert xp.isdtype(getattr(xp, dtype), "unsigned integer") and getattr(xp, dtype) in xp.__array_namespace_info__().dtypes().values()
    check(xp.add(ours(np.ones(2, dtype="uint32")), ours(np.ones(2, dtype="int8"))), np.array([2, 2], dtype="int64"))
    assert xp.can_cast(xp.uint32, xp.int64) and not xp.can_cast(xp.uint64, xp.int64) and not xp.can_cast(xp.int8, xp.uint64)
    with pytest.raises(TypeError, match="not promoted"):
        xp.result_type(xp.uint64, xp.int8)
