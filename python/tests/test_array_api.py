"""The namespace of the array API standard agrees with numpy's, and has what the registry can serve."""

import copy
import inspect
import itertools
import pickle

import numpy as np
import opgrid as og
import pytest
from opgrid.library import Library

xp = og.zeros(1).__array_namespace__()

FLOATS = [
    np.array([0.5, 1.25, 2.0, 3.75], dtype="float32"),
    np.array([[0.25, 1.5], [2.5, 0.125], [3.0, 3.0]], dtype="float64"),
    np.array(1.5, dtype="float32"),
    np.zeros((0, 3), dtype="float64"),
]
INTS = [np.array([3, 1, 2], dtype="int32"), np.array([[5, -7], [2, 2]], dtype="int64"), np.array([200, 7], dtype="uint8")]
BOOLS = [np.array([True, False, True]), np.array([[False, False], [True, False]])]
MATRICES = [x for x in FLOATS + INTS + BOOLS if x.ndim == 2 and x.size]
FILLED = [x for x in FLOATS + INTS + BOOLS if x.size]
CUBE = np.arange(24, dtype="float64").reshape(2, 3, 4)


def ours(x):
    if isinstance(x, np.ndarray):
        return og.from_numpy(x.copy())
    if isinstance(x, np.dtype):
        return getattr(xp, x.name)
    if isinstance(x, (list, tuple)):
        return type(x)(map(ours, x))
    return x


def same(found, expected):
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    expected = np.asarray(expected)
    assert tuple(found.shape) == expected.shape
    assert str(found.dtype).endswith(f".{expected.dtype}")
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


F = {name: [((x,), {}) for x in FLOATS] for name in "exp log sqrt tanh reciprocal square isnan isfinite isinf".split()}
UNARY = F | {name: [((x,), {}) for x in FLOATS + INTS[:2]] for name in "abs negative positive".split()}
UNARY |= {name: F["exp"] for name in "asinh atan cos cosh expm1 log10 log1p log2 signbit sin sinh tan".split()}
UNARY["acosh"] = [((np.asarray(abs(x) + 1),), {}) for x in FLOATS]
for _name in "acos asin atanh".split():
    UNARY[_name] = [((np.asarray(x / 100, dtype=x.dtype),), {}) for x in FLOATS]
UNARY |= {name: [((x,), {}) for x in FLOATS + INTS[:2]] for name in "ceil floor round sign trunc".split()}
UNARY["bitwise_invert"] = [((x,), {}) for x in INTS + BOOLS]
COMPLEX = np.array([1 + 2j, -0.5j, 3])
UNARY |= {name: [((COMPLEX,), {})] for name in "conj imag real".split()}
SPECIAL = np.array([np.inf, -np.inf, np.nan, 0.0])
for _name in ("isnan", "isfinite", "isinf"):
    UNARY[_name] = [*UNARY[_name], ((SPECIAL,), {})]
UNARY["sign"] = [*UNARY["sign"], ((SPECIAL,), {}), ((COMPLEX,), {})]
UNARY["round"] = [*UNARY["round"], ((COMPLEX * 1.3,), {})]
UNARY["isinf"] = [*UNARY["isinf"], ((np.array([complex(np.inf, np.nan), complex(np.nan, 0), complex(1, -np.inf)]),), {})]
UNARY["logical_not"] = [((x,), {}) for x in BOOLS]

SAME = [(x, x[..., ::-1].copy() if x.ndim else x) for x in FLOATS + INTS]
MIXED = [
    (FLOATS[0], np.array(2.0)),  # a dimensionless array counts as any other: float64
    (INTS[0], np.array([[9], [4]], dtype="int64")),
    (INTS[2], np.array([-3, 5], dtype="int8")),
    (FLOATS[1], 2.0),
    (3, INTS[0]),
    (2, FLOATS[0]),
]
BINARY = {
    name: [(pair, {}) for pair in SAME + MIXED]
    for name in (
        "add subtract multiply equal not_equal greater greater_equal less less_equal maximum minimum"
    ).split()
}
DIVIDED = [((x, y), {}) for x, y in SAME + MIXED if all(np.asarray(z).dtype.kind == "f" for z in (x, y))]
BINARY["divide"] = BINARY["pow"] = DIVIDED
BINARY |= {name: DIVIDED for name in "atan2 copysign hypot logaddexp nextafter".split()}
BINARY["remainder"] = [((INTS[0], 2), {}), ((FLOATS[0], 0.75), {}), ((-7, INTS[0]), {})]
INTEGERS = [((x, x[..., ::-1].copy()), {}) for x in INTS if x.ndim]
BINARY |= {f"bitwise_{name}": INTEGERS for name in ("and", "or", "xor")}
BINARY |= {f"bitwise_{name}_shift": [((INTS[0], 2), {}), ((INTS[0], np.array([1, 0, 3])), {})] for name in ("left", "right")}
BINARY["floor_divide"] = [((INTS[1], np.array([2, 3])), {}), ((FLOATS[0], 0.5), {}), ((-7, INTS[0]), {})]
BINARY |= {f"logical_{name}": [((x, x[..., ::-1].copy()), {}) for x in BOOLS] for name in ("and", "or", "xor")}


def axes(*more, **keywords):
    """Calls with axes that are there."""
    cases = [((x,), {}) for x in FILLED]
    cases += [((x,), {"axis": axis, "keepdims": keep}) for x in MATRICES for axis in (0, -1, (0, 1), (1,)) for keep in (0, 1)]
    return [(args, {key: bool(value) if key == "keepdims" else value for key, value in given.items()}) for args, given in cases]


def of_kind(cases, kinds):
    return [case for case in cases if case[0][0].dtype.kind in kinds]


REDUCED = {
    "sum": [*of_kind(axes(), "fi"), ((CUBE,), {"axis": (0, 2)}), ((CUBE,), {"axis": ()}), ((INTS[0],), {"dtype": np.dtype("float64")}),
            ((FLOATS[3],), {"axis": 0})],
    "mean": [*of_kind(axes(), "f"), ((CUBE,), {"axis": (0, 2), "keepdims": True})],
    "max": of_kind(axes(), "fiu"), "min": of_kind(axes(), "fiu"), "all": axes(), "any": axes(),
    "count_nonzero": axes(),
    "var": [*of_kind(axes(), "f"), ((CUBE,), {"axis": 1, "correction": 1.0})],
    "std": [*of_kind(axes(), "f"), ((CUBE,), {"axis": (1, 2), "correction": 1})],
    "argmax": [((x,), given) for x in MATRICES[:2] for given in ({}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"keepdims": True})],
}  # fmt: skip

d = np.dtype
MADE = {
    "arange": [((5,), {"dtype": d("int64")}), ((2, 9, 3), {}), ((5, 1, -2), {}), ((5, 1), {}), ((0.0, 1.0, 0.25), {"dtype": d("float32")})],
    "asarray": [(([[1, 2], [3, 4]],), {}), ((FLOATS[0],), {"copy": True}), ((INTS[0],), {"dtype": d("float64")})],
    "empty": [((0,), {"dtype": d("float32")}), (((3, 0),), {"dtype": d("int64")})],
    "empty_like": [((FLOATS[3],), {})],
    "eye": [((3,), {"dtype": d("float32")}), ((2, 4), {"k": 1, "dtype": d("int64")}), ((4, 2), {"k": -1, "dtype": d("bool")}),
            ((2,), {"k": 2**62, "dtype": d("int64")})],
    "full": [(((2, 3), 7), {}), ((2, True), {}), ((2, 1), {"dtype": d("float64")})],
    "full_like": [((INTS[0], 4), {}), ((INTS[0], 4), {"dtype": d("float64")})],
    "linspace": [((0.0, 1.0, 5), {"dtype": d("float64")}), ((0.0, 1.0, 5), {"dtype": d("float64"), "endpoint": False})],
    "ones": [(((2, 2),), {"dtype": d("float32")}), ((3,), {"dtype": d("uint8")})],
    "ones_like": [((x,), {}) for x in INTS],
    "zeros": [(((2, 2),), {"dtype": d("float32")}), (((),), {"dtype": d("bool")})],
    "zeros_like": [((x,), {}) for x in FLOATS],
    "meshgrid": [((INTS[0], FLOATS[0]), {}), ((INTS[0], FLOATS[0]), {"indexing": "ij"}), ((INTS[0],), {}), ((INTS[0], INTS[2], BOOLS[0]), {})],
    "tril": [((CUBE,), {"k": k}) for k in (-1, 0, 2)], "triu": [((CUBE,), {"k": k}) for k in (-1, 0, 2)],
    "from_dlpack": [((FLOATS[0],), {}), ((INTS[1],), {"copy": True})],
}  # fmt: skip
ROW = np.array([[1, 0, 1]])
SHAPED = {
    "broadcast_arrays": [((INTS[0], np.ones((2, 1))), {})],
    "broadcast_to": [((INTS[0], (2, 3)), {})],
    "concat": [(([INTS[0], FLOATS[1][:, 0]],), {}), (([CUBE, CUBE],), {"axis": -1}), (([INTS[1], CUBE],), {"axis": None})],
    "stack": [(([INTS[0], INTS[0]],), {"axis": -1})],
    "unstack": [((CUBE,), {"axis": 1}), ((CUBE,), {})],
    "expand_dims": [((CUBE,), {"axis": -1}), ((CUBE,), {"axis": (0, 2)}), ((CUBE,), {"axis": 0})],
    "squeeze": [((CUBE[:, :1, :1],), {"axis": (1, -1)}), ((CUBE[:1],), {"axis": 0})],
    "permute_dims": [((CUBE, (2, 0, 1)), {})],
    "moveaxis": [((CUBE, 0, -1), {}), ((CUBE, (0, 1), (2, 0)), {})],
    "reshape": [((CUBE, (4, -1)), {}), ((CUBE, (24,)), {"copy": True}), ((CUBE, (24,)), {"copy": False})],
    "take": [((CUBE, np.array([1, 0, -1], dtype="int32")), {"axis": 1}), ((INTS[0], np.array([2, -3])), {"axis": 0})],
    "take_along_axis": [((INTS[0][None], ROW - 2), {"axis": 1}), ((np.eye(3), ROW.astype("int8")), {"axis": -1})],
    "flip": [((CUBE,), {}), ((CUBE,), {"axis": (0, -1)}), ((CUBE,), {"axis": 1})],
    "roll": [((CUBE, 5), {}), ((CUBE, 1), {"axis": 1}), ((CUBE, (1, -2)), {"axis": (0, 2)})],
    "repeat": [((CUBE, 2), {}), ((CUBE, 2), {"axis": 1}), ((INTS[0], np.array([0, 2, 1])), {"axis": 0})],
    "tile": [((CUBE, (2, 1)), {}), ((INTS[0], (2, 2)), {})],
    "diff": [((CUBE,), {}), ((CUBE,), {"axis": 0}), ((INTS[0],), {"n": 2}), ((INTS[0],), {"prepend": INTS[0], "append": INTS[0]})],
    "where": [((BOOLS[0], INTS[0], np.array(2.0)), {}), ((BOOLS[0], INTS[0], 4), {}), ((BOOLS[1],), {})],
    "isin": [((INTS[1], np.array([2, 5])), {}), ((INTS[1], np.array([2, 5])), {"invert": True})],
    "clip": [((FLOATS[0], 1.0, 2.0), {}), ((INTS[1], 0, None), {}), ((INTS[0], None, np.array([1, 5, 2], dtype="int32")), {})],
    "matmul": [((FLOATS[1], FLOATS[1].T), {}), ((CUBE, CUBE[0].T.astype("float32")), {}), ((FLOATS[0], FLOATS[0]), {})],
    "matrix_transpose": [((CUBE,), {})],
    "einsum": [(("abc,cd->abd", CUBE, np.ones((4, 2), dtype="float32")), {}), (("ab->a", INTS[1]), {})],
    "transpose": [((CUBE,), {}), ((CUBE, (1, 0, -1)), {})],
    "tensordot": [((CUBE, CUBE.transpose(2, 1, 0)), {"axes": 1}), ((CUBE, CUBE), {"axes": ((0, 2), (0, 2))}), ((INTS[0], INTS[0]), {"axes": 0}),
                  ((INTS[0], INTS[0]), {"axes": 1})],
    "vecdot": [((CUBE, CUBE), {}), ((CUBE, CUBE[:, :1]), {"axis": 0})],
}  # fmt: skip
COMPLEX_VALUES = np.array([[2 + 1j, 1 + 5j], [2 + 0j, 1 + 5j], [2 + 1j, -1j]])
SEARCHED = {
    "argmin": [((CUBE,), {}), ((CUBE,), {"axis": 1}), ((CUBE,), {"keepdims": True})],
    "argsort": [((INTS[0],), {}), ((CUBE,), {"axis": 1})],
    "searchsorted": [((np.array([1.0, 2.0, 4.0]), np.array([[0.5, 2.0], [4.0, 9.0]])), {}),
                     ((np.array([1, 2, 2, 4]), np.array([2, 3])), {"side": "right"}),
                     ((np.array([2, 1, 4]), np.array([1, 3])), {"sorter": np.array([1, 0, 2], dtype="int32")}),
                     ((np.array([1.0, 2.0]), 2), {"side": "right"})],
    "sort": [((INTS[0],), {}), ((CUBE,), {"axis": 0})],
    "nonzero": [((INTS[1],), {}), ((BOOLS[1],), {})],
    "prod": [((CUBE,), {}), ((INTS[0],), {}), ((CUBE,), {"axis": (0, 1)}), ((CUBE,), {"axis": 1, "keepdims": True})],
    "cumulative_sum": [((INTS[0],), {}), ((CUBE,), {"axis": 1}), ((CUBE,), {"axis": -1, "include_initial": True})],
    "cumulative_prod": [((FLOATS[0],), {"include_initial": True})],
} | {f"unique_{what}": [((x,), {}) for x in (INTS[1], CUBE, BOOLS[1], np.array([2.0, np.nan, 1.0, np.nan, 2.0]), INTS[0][:0], COMPLEX_VALUES)]
     for what in ("all", "counts", "inverse", "values")}
CASES = UNARY | BINARY | REDUCED | MADE | SHAPED | SEARCHED
DTYPES = {"__array_namespace_info__", "astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type", "broadcast_shapes"}


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_function_agrees_with_numpy(name):
    # The order of numpy's unique values is any.
    others = {"var": np.var, "std": np.std, "unique_values": lambda x: np.unique(x, equal_nan=False)}
    reference = others.get(name) or getattr(np, name)
    for args, given in CASES[name]:
        as_numpy = {"ddof" if key == "correction" else key: value for key, value in given.items()}
        expected = reference(*args, **as_numpy)
        found = getattr(xp, name)(*map(ours, args), **{key: ours(value) for key, value in given.items()})
        same(found, expected)


def test_every_name_that_is_there_is_compared():
    functions = {name for name in dir(xp) if callable(getattr(xp, name)) and not isinstance(getattr(xp, name), (og.dtype, type))}
    assert functions == set(CASES) | DTYPES
    assert {"e", "inf", "nan", "newaxis", "pi", "float32", "bool"} <= set(dir(xp))
    assert (xp.pi, xp.e, xp.newaxis) == (np.pi, np.e, None)
    assert xp.isnan(xp.asarray(xp.nan)).item()


SQUARE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 5.0]])
STACK = np.stack([SQUARE, SQUARE @ SQUARE])
TALL = np.arange(1.0, 25.0).reshape(2, 4, 3) ** 1.5
WAVES = np.array([[0.5, 1.0, -2.0, 3.0, 1.5], [2.0, 0.0, 1.0, -1.0, 4.0]])
LINALG = {name: [((STACK,), {}), ((SQUARE.astype("float32"),), {})]
          for name in "cholesky det eigvals eigvalsh inv slogdet svdvals matrix_transpose".split()} | {
    "cross": [((TALL, TALL[0] + 1), {}), ((SQUARE, SQUARE.T), {"axis": -2})],
    "diagonal": [((TALL,), {}), ((TALL,), {"offset": -1})],
    "matmul": [((STACK, SQUARE), {})],
    "matrix_norm": [((TALL,), {"ord": ord}) for ord in (1, -1, 2, -2, "nuc", np.inf, -np.inf)] + [((TALL,), {"keepdims": True})],
    "matrix_power": [((STACK, n), {}) for n in (-2, 0, 1, 5)],
    "matrix_rank": [((TALL,), {}), ((TALL,), {"rtol": np.array([0.5, 1e-9])})],
    "outer": [((FLOATS[0], INTS[0].astype("float32")), {})],
    "pinv": [((TALL,), {}), ((TALL,), {"rtol": np.array([0.5, 1e-9])})],
    "solve": [((STACK, TALL[:, :3]), {}), ((STACK, np.array([1.0, 2.0, 3.0])), {}), ((STACK, SQUARE[:, :2]), {})],
    "tensordot": [((TALL, TALL), {"axes": ((1, 2), (1, 2))})],
    "trace": [((TALL,), {}), ((TALL,), {"offset": 1}), ((np.arange(8).reshape(2, 2, 2),), {})],
    "vecdot": [((TALL, TALL), {})],
    "vector_norm": [((TALL,), {}), ((TALL,), {"axis": (0, 2), "ord": 3}), ((TALL,), {"axis": 1, "keepdims": True, "ord": np.inf})],
}  # fmt: skip
FFT = {name: [((WAVES,), {}), ((WAVES,), {"n": 8, "axis": 0}), ((WAVES,), {"norm": "ortho"})]
       for name in "fft ifft rfft irfft hfft ihfft".split()} | {
    name: [((WAVES,), {}), ((WAVES,), {"s": (2, 8), "axes": (0, 1), "norm": "forward"})] for name in "fftn ifftn rfftn irfftn".split()
} | {
    "fftfreq": [((5,), {"d": 0.5}), ((4,), {})],
    "rfftfreq": [((5,), {"d": 0.5}), ((4,), {})],
    "fftshift": [((WAVES,), {}), ((WAVES,), {"axes": 1})],
    "ifftshift": [((WAVES,), {}), ((WAVES,), {"axes": (0, 1)})],
}  # fmt: skip
EXTENSIONS = {("linalg", name): cases for name, cases in LINALG.items()} | {("fft", name): cases for name, cases in FFT.items()}


@pytest.mark.parametrize("name", sorted(EXTENSIONS))
def test_a_function_of_an_extension_agrees_with_numpy(name):
    extension, function = name
    for args, given in EXTENSIONS[name]:
        expected = getattr(getattr(np, extension), function)(*args, **given)
        found = getattr(getattr(xp, extension), function)(*map(ours, args), **{key: ours(value) for key, value in given.items()})
        expected = expected if isinstance(expected, tuple) else (expected,)
        found = found if isinstance(found, tuple) else (found,)
        for one, other in zip(found, expected, strict=True):
            assert tuple(one.shape) == other.shape
            # Eigenvalues have no order.
            in_order = np.sort if function == "eigvals" else np.asarray
            np.testing.assert_allclose(in_order(one.numpy()), in_order(other), rtol=2e-5, atol=1e-6)


def test_factorizations_multiply_to_the_matrix():
    values, vectors = xp.linalg.eigh(ours(STACK))
    same(vectors * values[..., None, :] @ xp.matrix_transpose(vectors), STACK)
    q, r = xp.linalg.qr(ours(TALL))
    same(q @ r, TALL)
    assert xp.linalg.qr(ours(TALL), mode="complete").Q.shape == (2, 4, 4)
    u, s, vh = xp.linalg.svd(ours(TALL), full_matrices=False)
    same(u * s[..., None, :] @ vh, TALL)
    values, vectors = xp.linalg.eig(ours(STACK))
    np.testing.assert_allclose((ours(STACK).to(values.dtype) @ vectors).numpy(), (vectors * values[..., None, :]).numpy(), atol=1e-9)
    assert xp.linalg.eigh(ours(SQUARE)).eigenvalues.shape == (3,)


def test_every_name_of_an_extension_is_compared():
    for extension in ("linalg", "fft"):
        factored = {"eig", "eigh", "qr", "svd"} if extension == "linalg" else set()
        assert set(dir(getattr(xp, extension))) == {name for of, name in EXTENSIONS if of == extension} | factored


def test_the_namespace_is_imported_by_its_name():
    import opgrid.array_api

    assert opgrid.array_api is xp
    from opgrid.array_api import fft, linalg

    assert (linalg, fft) == (xp.linalg, xp.fft)


def test_positions_are_those_of_the_standard():
    assert str(inspect.signature(xp.sum)).startswith("(x: 'Any', /, *, axis")
    assert xp.sum.__name__ == "sum"
    with pytest.raises(TypeError):
        xp.sum(x=og.ones(2))


@pytest.mark.parametrize("version", [None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"])
def test_versions_that_are_known(version):
    assert og.ones(2).__array_namespace__(api_version=version) is xp


def test_a_version_that_is_not_known():
    with pytest.raises(ValueError, match=r"unknown version '2019.06' .* known are 2021.12, .*2025.12"):
        og.ones(2).__array_namespace__(api_version="2019.06")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("foo", "no `foo`; its names are those of the array API standard 2025.12"),
        ("append", "no `append`; its names are those"),
    ],
)
def test_names_that_are_not_there(name, text):
    with pytest.raises(AttributeError, match=text):
        getattr(xp, name)
    assert name not in dir(xp)


LATER = {
    "hypot": ("hypot(Tensor self, Tensor other) -> Tensor", np.hypot, [((FLOATS[0], FLOATS[0]), {})]),
    "remainder": ("remainder.Tensor(Tensor self, Tensor other) -> Tensor", np.remainder, [((INTS[0], 2), {})]),
    "argmin": (
        "argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
        lambda x, dim=None, keepdim=False: np.argmin(x, axis=dim, keepdims=keepdim),
        [((CUBE,), {}), ((CUBE,), {"axis": 1}), ((CUBE,), {"keepdims": True})],
    ),
    "nonzero": ("nonzero(Tensor self) -> Tensor", np.argwhere, [((INTS[1],), {}), ((BOOLS[1],), {})]),
    "prod": (
        "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        lambda x, dim, keepdim=False, dtype=None: np.prod(x, axis=dim, keepdims=keepdim),
        [((CUBE,), {}), ((INTS[0],), {}), ((CUBE,), {"axis": (0, 1)}), ((CUBE,), {"axis": 1, "keepdims": True})],
    ),
    "cumulative_sum": (
        "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
        lambda x, dim, dtype=None: np.cumsum(x, axis=dim),
        [((INTS[0],), {}), ((CUBE,), {"axis": 1}), ((CUBE,), {"axis": -1, "include_initial": True})],
    ),
    "cumulative_prod": (
        "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
        lambda x, dim, dtype=None: np.cumprod(x, axis=dim),
        [((FLOATS[0],), {"include_initial": True})],
    ),
}


@pytest.mark.parametrize("name", sorted(LATER))
def test_a_name_appears_with_its_operators_and_goes_with_them(name):
    schema, kernel, cases = LATER[name]
    operator = schema.partition("(")[0]
    if f"aten::{operator}" in og._opgrid.operator_names("aten"):
        operator = None
    with Library("aten", "FRAGMENT") as library:
        if operator is not None:
            assert not hasattr(xp, name)
            library.define(schema)
            library.impl(
                operator,
                lambda *args, **given: og.from_numpy(
                    np.array(kernel(*(x.numpy() if isinstance(x, og.Tensor) else x for x in args), **given))
                ),
                "CPU",
            )
        for args, given in cases:
            same(getattr(xp, name)(*map(ours, args), **given), getattr(np, name)(*args, **given))
    assert hasattr(xp, name) is (operator is None)


def test_sorting_appears_with_its_operator():
    def kernel(x, *, stable=None, dim=-1, descending=False):
        x = x.numpy()
        order = np.argsort(-x if descending else x, axis=dim, stable=True)
        return og.from_numpy(np.take_along_axis(x, order, dim)), og.from_numpy(order)

    if "aten::sort.stable" in og._opgrid.operator_names("aten"):
        same(xp.argsort(ours(INTS[1])), np.argsort(INTS[1], stable=True))
        return
    with Library("aten", "FRAGMENT") as library:
        library.define(
            "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)"
        )
        library.impl("sort.stable", kernel, "CPU")
        same(xp.sort(ours(INTS[1]), axis=0), np.sort(INTS[1], axis=0))
        same(xp.argsort(ours(INTS[0]), descending=True), np.array([0, 2, 1]))


DTYPE_NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("a", DTYPE_NAMES)
def test_dtypes_are_promoted_as_the_standard_says(a):
    for b in DTYPE_NAMES:
        kinds = {np.dtype(a).kind, np.dtype(b).kind}
        if kinds & {"i", "u"} and kinds & {"f", "c"} or "b" in kinds and len(kinds) > 1:
            continue
        if np.promote_types(a, b).kind == "f" and not kinds & {"f", "c"}:
            with pytest.raises(TypeError, match="not promoted to a common dtype"):
                xp.result_type(getattr(xp, a), getattr(xp, b))
            continue
        found = xp.result_type(getattr(xp, a), getattr(xp, b))
        assert found == getattr(xp, np.result_type(a, b).name)
        assert xp.can_cast(getattr(xp, a), getattr(xp, b)) is np.can_cast(a, b)


def test_numbers_take_the_dtype_of_the_array():
    assert xp.result_type(xp.ones(2, dtype=xp.uint8), 3) == xp.uint8
    assert xp.result_type(xp.float32, 3) == xp.float32
    assert xp.result_type(xp.float64, 3j) == xp.complex128
    assert xp.result_type(xp.int32, 1.5) == xp.float32
    assert xp.result_type(xp.int8, "float64") == xp.float64
    with pytest.raises(ValueError, match="at least one array or dtype"):
        xp.result_type(1, 2)
    with pytest.raises(RuntimeError, match="uint8"):
        xp.add(xp.ones(2, dtype=xp.uint8), 300)


@pytest.mark.parametrize("name", DTYPE_NAMES)
def test_what_dtypes_are(name):
    dtype = getattr(xp, name)
    for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"):
        assert xp.isdtype(dtype, kind) is np.isdtype(np.dtype(name), kind)
    assert xp.isdtype(dtype, (dtype, "bool"))
    if np.dtype(name).kind in "iu":
        found, expected = xp.iinfo(dtype), np.iinfo(name)
        assert (found.bits, found.min, found.max) == (expected.bits, expected.min, expected.max)
    elif np.dtype(name).kind in "fc":
        found, expected = xp.finfo(dtype), np.finfo(name)
        assert (found.bits, found.eps, found.max, found.min) == (expected.bits, expected.eps, expected.max, expected.min)
        assert found.smallest_normal == expected.smallest_normal
    else:
        for info in (xp.iinfo, xp.finfo):
            with pytest.raises(ValueError, match="found .*bool"):
                info(dtype)


def test_astype_copies_unless_told():
    x = xp.ones(3)
    assert xp.astype(x, xp.float32, copy=False) is x
    assert xp.astype(x, xp.float32).data_ptr() != x.data_ptr()
    assert xp.astype(x, xp.int64).tolist() == [1, 1, 1]
    assert xp.asarray(x).data_ptr() == x.data_ptr() != xp.asarray(x, copy=True).data_ptr()


COMPLEX = np.array([[1 + 2j, 3j], [-1.5, 0.25 - 1j]])


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("add", (COMPLEX, 1.5)),
        ("multiply", (COMPLEX, COMPLEX.astype("complex64"))),
        ("subtract", (COMPLEX, np.ones((2, 2)))),
        ("equal", (COMPLEX, COMPLEX)),
        ("matmul", (COMPLEX, COMPLEX)),
        ("sum", (COMPLEX,)),
        ("matrix_transpose", (COMPLEX,)),
        ("flip", (COMPLEX,)),
        ("where", (COMPLEX == 3j, COMPLEX, 1.0)),
    ],
)
def test_complex_arrays_agree_with_numpy(name, args):
    same(getattr(xp, name)(*map(ours, args)), getattr(np, name)(*args))


def test_arrays_go_to_devices():
    x = og.ones(2)
    assert x.to_device("cpu") is x
    assert x.to_device(og.device("meta")).device == og.device("meta")
    with pytest.raises(ValueError, match="omit `stream`, found 3"):
        x.to_device("cpu", stream=3)


ARRAYS = [np.array(2**40), np.array([1, 2, 3], dtype="int8"), np.array(1.5), np.array([[2.0], [4.0]], dtype="float32")]


@pytest.mark.parametrize("sign", "+ - * / // % ** < <= == != > >=".split())
def test_infix_operators_promote_without_regard_to_shapes(sign):
    for x, y in itertools.product(ARRAYS, repeat=2):
        if (x.dtype.kind == "f") == (y.dtype.kind == "f") and (x.dtype.kind == "f" or sign not in ("/", "**")):
            same(eval(f"x {sign} y", {"x": ours_as_array(x), "y": ours_as_array(y)}), eval(f"x {sign} y", {"x": x, "y": y}))
    x = ARRAYS[3]
    same(eval(f"x {sign} 2", {"x": ours_as_array(x)}), eval(f"x {sign} 2", {"x": x}))
    same(eval(f"3 {sign} x", {"x": ours_as_array(x)}), eval(f"3 {sign} x", {"x": x}))


@pytest.mark.parametrize("sign", "& | ^ << >>".split())
def test_infix_operators_on_bits_do_too(sign):
    x, y = ARRAYS[:2]
    same(eval(f"x {sign} y", {"x": ours_as_array(x), "y": ours_as_array(y)}), eval(f"x {sign} y", {"x": x, "y": y}))
    same(eval(f"2 {sign} y", {"y": ours_as_array(y)}), eval(f"2 {sign} y", {"y": y}))


def ours_as_array(x):
    return xp.asarray(ours(x))


def test_results_are_arrays_and_tensors():
    x = og.ones(2, 3)
    for result in (xp.sum(x), x - xp.mean(x, axis=0), xp.linalg.qr(x).Q, xp.meshgrid(xp.arange(2))[0], xp.asarray(x)[0], *xp.ones(2)):
        assert type(result) is xp.Array and isinstance(result, og.Tensor)
    assert xp.asarray(x).data_ptr() == x.data_ptr()
    assert type(x + 1) is og.Tensor
    assert xp.asarray(x).size == 6 and hash(xp.asarray(x)) is not None
    assert copy.deepcopy(xp.asarray(x)).sum().item() == 6.0
    assert type(pickle.loads(pickle.dumps(xp.asarray(x)))) is xp.Array
    for several in (xp.meshgrid, xp.broadcast_arrays):
        assert type(several(xp.arange(2), xp.arange(2))) is tuple


@pytest.mark.parametrize("sign", "< <= == != > >=".split())
def test_numbers_beyond_the_dtype_are_compared(sign):
    x = np.array([1, 200], dtype="uint8")
    for number in (-1, 300, 2**70):
        for text in (f"x {sign} {number}", f"{number} {sign} x"):
            same(eval(text, {"x": ours_as_array(x)}), eval(text, {"x": x}))


def test_arrays_beside_other_objects():
    x = xp.asarray([1.0, 2.0])
    with pytest.raises(TypeError):
        x + "text"
    assert (x == "text") is False and (x != None) is True  # noqa: E711
    assert xp.result_type(x, np.int64(3)) == xp.float32
    assert (x + np.float32(1.5)).tolist() == [2.5, 3.5]


KEYS = [
    np.s_[::-1], np.s_[::-2], np.s_[3:0:-1], np.s_[0:3:-1], np.s_[..., ::-1], np.s_[1, ::-1], np.s_[::-1, None, -1:0:-2], np.s_[None, ::-1, ..., 1],
    np.s_[-1:-4:-2, 1:3], np.s_[::-1, np.array([2, 0])],
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_slices_go_backwards(key):
    x = np.arange(24).reshape(4, 6)
    own = xp.asarray(x, copy=True)
    key_of_own = tuple(ours(one) for one in key) if isinstance(key, tuple) else key
    same(own[key_of_own], x[key])
    value = np.arange(x[key].size).reshape(x[key].shape) + 100
    x[key], own[key_of_own] = value, ours(value)
    same(own, x)
    own[key_of_own], x[key] = 7, 7
    same(own, x)
    with pytest.raises(ValueError, match="greater than zero"):
        og.ones(3)[::-1]


def test_masks_without_elements_select_nothing():
    x = xp.ones((2, 3))
    for shape, expected in [((0,), (0, 3)), ((2, 0), (0,)), ((0, 0), (0,)), ((2, 3), (6,))]:
        mask = xp.ones(shape, dtype=xp.bool)
        assert tuple(x[mask].shape) == expected
        x[mask] = 1.0
    assert tuple(x[xp.asarray(True)].shape) == (1, 2, 3)
    for shape in ((3,), (2, 1), (2, 3, 0)):
        with pytest.raises(IndexError):
            x[xp.ones(shape, dtype=xp.bool)]


def test_data_is_copied_if_told():
    memory = np.ones(3)
    assert xp.asarray(memory, copy=True).data_ptr() != xp.asarray(memory).data_ptr() == memory.ctypes.data
    x = xp.from_dlpack(memory, copy=True)
    x[0] = 5.0
    assert memory[0] == 1.0 and xp.from_dlpack(memory, device="cpu", copy=False).data_ptr() == memory.ctypes.data
    assert xp.from_dlpack(memory, device="meta").device == og.device("meta")
    with pytest.raises(BufferError, match="copy=False"):
        xp.from_dlpack(memory, device="meta", copy=False)


def test_dtypes_that_do_not_convert_are_not_converted():
    assert xp.can_cast(xp.uint64, xp.int64) is False
    assert xp.can_cast(xp.asarray([1.0]), xp.float64) is True


def test_what_the_namespace_says_of_itself():
    info = xp.__array_namespace_info__()
    assert info.default_device() == og.zeros(1).device
    assert type(info.devices()) is tuple and info.default_device() in info.devices()
    assert info.default_dtypes()["real floating"] == xp.zeros(1).dtype
    assert info.default_dtypes()["integral"] == xp.asarray(1).dtype == info.default_dtypes()["indexing"]
    assert set(info.dtypes()) == set(DTYPE_NAMES)
    assert set(info.dtypes(kind="signed integer")) == {"int8", "int16", "int32", "int64"}
    assert info.capabilities()["data-dependent shapes"] is hasattr(xp, "nonzero")
    x = xp.arange(3)
    assert x[x > 0].tolist() == [1, 2] and info.capabilities()["boolean indexing"]
    assert xp.__array_api_version__ == "2025.12"
    assert xp.broadcast_shapes((2, 1), (3,), ()) == (2, 3)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: xp.add(1, 2), TypeError, "add(): expected at least one array"),
        (lambda: xp.exp([1.0]), TypeError, "exp(): expected an array, found list"),
        (lambda: xp.sum(og.ones(2), axis=1), IndexError, "sum(): there is no axis 1"),
        (lambda: xp.max(og.ones(2), axis=(0, -1)), ValueError, "contains a dimension twice"),
        (lambda: xp.squeeze(og.ones(2), 0), ValueError, "axis 0 has 2 elements"),
        (lambda: xp.broadcast_to(og.ones(2), (3,)), ValueError, "does not broadcast with (2,)"),
        (lambda: xp.broadcast_to(og.ones(2, 2), (2,)), ValueError, "does not broadcast to (2,)"),
        (lambda: xp.take(og.ones(2, 2), og.tensor([0])), ValueError, "`axis` is needed"),
        (lambda: xp.isdtype(xp.bool, "float"), ValueError, "unknown kind 'float'"),
        (lambda: xp.isdtype(np.dtype("bool"), "bool"), TypeError, "expected a dtype of opgrid, found dtype('bool')"),
        (lambda: xp.matrix_transpose(og.ones(2)), ValueError, "two dimensions or more"),
        (lambda: xp.searchsorted(og.ones(2), og.ones(1), side="both"), ValueError, "unknown side 'both'"),
        (lambda: xp.linalg.qr(og.ones(2, 2), mode="r"), ValueError, "expected 'reduced' or 'complete'"),
        (lambda: xp.linalg.cross(og.ones(3), og.ones(2, 3), axis=0), ValueError, "does not count from the end"),
        (lambda: xp.fft.fft(xp.arange(3)), TypeError, "fft(): expected real floating-point or complex numbers"),
        (lambda: xp.tril(og.ones(2)), ValueError, "expected a matrix"),
        (lambda: xp.meshgrid(og.ones(2), indexing="yx"), ValueError, "'xy' or 'ij'"),
        (lambda: xp.arange(1, 2, 0), ValueError, "`step` must not be 0"),
        (lambda: xp.asarray([1], copy=False), ValueError, "omit copy=False"),
        (lambda: xp.asarray(og.ones(1), dtype=xp.int64, copy=False), ValueError, "omit copy=False"),
        (lambda: xp.astype(xp.asarray(1j), xp.float32), TypeError, "take `real`, `imag` or `abs` first"),
        (lambda: xp.take(xp.arange(3), xp.asarray([-4])), IndexError, "-1"),
        (lambda: xp.tensordot(og.ones(2), og.ones(3), axes=1), ValueError, "different sizes"),
        (lambda: xp.vecdot(og.ones(2, 3), og.ones(1)), ValueError, "3 elements in one array and 1 in the other"),
        (lambda: xp.repeat(og.ones(2), [1, 2, 3]), ValueError, "3 counts do not match 2 elements"),
        (lambda: xp.expand_dims(og.ones(2), 3), IndexError, "axis 3"),
    ],
)
def test_bad_input_is_one_clear_error(call, kind, text):
    with pytest.raises(kind) as raised:
        call()
    assert text in str(raised.value)
