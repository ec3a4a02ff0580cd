"""`opgrid.testing`: what is close, and what messages say of what is not."""

import numpy as np
import opgrid as og
import pytest
from opgrid.testing import assert_close, make_tensor

nan, inf = float("nan"), float("inf")

CLOSE = {
    "equal": (og.tensor([1.0, 2.0]), og.tensor([1.0, 2.0])),
    "within float32": (og.tensor([1.0, 2.0]), og.tensor([1.0, 2.000001])),
    "infinite": (og.tensor([inf, -inf]), og.tensor([inf, -inf])),
    "numbers": (1.0, 1.0 + 1e-8),
    "integers": (3, 3),
    "complex": (1j, 1j),
    "nothing": (None, None),
    "booleans": (True, True),
    "arrays": (np.ones(3), np.ones(3)),
    "nested": ({"a": [1.0, (og.ones(2), None)]}, {"a": [1.0, (og.ones(2), None)]}),
    "no elements": (og.empty(0), og.empty(0)),
    "tuple and list": ((1.0,), [1.0]),
    "without elements": (og.ones(2, device="meta"), og.ones(2, device="meta")),
}

ALLOWED = {
    "NaN": (og.tensor([nan]), og.tensor([nan]), {"equal_nan": True}),
    "NaN as number": (nan, nan, {"equal_nan": True}),
    "tolerances": (og.tensor([1.0]), og.tensor([1.5]), {"rtol": 0.0, "atol": 0.5}),
    "dtypes": (og.tensor([1.0]), og.tensor([1.0], dtype=og.float64), {"check_dtype": False}),
    "types of numbers": (1, 1.0, {"check_dtype": False}),
}

# By torch 2.15.
MESSAGES = {
    "elements": (
        og.tensor([[1.0, 2.0], [3.0, 4.0]]),
        og.tensor([[1.0, 2.5], [3.0, 3.0]]),
        {},
        "Tensor-likes are not close!\n\nMismatched elements: 2 / 4 (50.0%)\n"
        "Greatest absolute difference: 1.0 at index (1, 1) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.3333333432674408 at index (1, 1) (up to 1.3e-06 allowed)",
    ),
    "integers": (
        og.tensor([1, 2, 5], dtype=og.uint8),
        og.tensor([1, 3, 9], dtype=og.uint8),
        {},
        "Tensor-likes are not equal!\n\nMismatched elements: 2 / 3 (66.7%)\nGreatest absolute difference: 4 at index (2,)\n"
        "Greatest relative difference: 0.4444444477558136 at index (2,)",
    ),
    "a tensor of one number": (
        og.tensor(1.5),
        og.tensor(2.5),
        {},
        "Scalars are not close!\n\nExpected 2.5 but got 1.5.\nAbsolute difference: 1.0 (up to 1e-05 allowed)\n"
        "Relative difference: 0.4 (up to 1.3e-06 allowed)",
    ),
    "numbers to be equal": (
        1,
        2,
        {},
        "Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\nRelative difference: 0.5",
    ),
    "shapes": (og.ones(2), og.ones(3), {}, "The values for attribute 'shape' do not match: opgrid.Size([2]) != opgrid.Size([3])."),
    "dtypes": (
        og.ones(2),
        og.ones(2).double(),
        {},
        "The values for attribute 'dtype' do not match: opgrid.float32 != opgrid.float64.",
    ),
    "devices": (og.ones(2, device="meta"), og.ones(2), {}, "The values for attribute 'device' do not match: meta != cpu."),
    "strides": (
        og.ones(2, 3),
        og.ones(3, 2).t(),
        {"check_stride": True},
        "The values for attribute 'stride()' do not match: (3, 1) != (1, 2).",
    ),
    "nothing": (None, 1, {}, "None mismatch: None is not 1"),
    "booleans": (True, False, {}, "Booleans mismatch: True is not False"),
    "types": (1, 1.0, {}, "The (d)types do not match: <class 'int'> != <class 'float'>."),
    "lengths": ([1.0], [1.0, 2.0], {}, "The length of the sequences mismatch: 1 != 2"),
    "keys": (
        {"a": 1, "b": 2},
        {"a": 1, "c": 2},
        {},
        "The keys of the mappings do not match:\nMissing keys in the actual mapping: ['c']\nAdditional keys in the actual mapping: ['b']",
    ),
    "a text of one's own": (1.0, 2.0, {"msg": "mine"}, "mine"),
    "a text around it": (None, 1, {"msg": lambda text: f"<{text}>"}, "<None mismatch: None is not 1>"),
}


@pytest.mark.parametrize("name", CLOSE)
def test_close(name):
    assert_close(*CLOSE[name])


@pytest.mark.parametrize("name", ALLOWED)
def test_close_by_options(name):
    actual, expected, options = ALLOWED[name]
    assert_close(actual, expected, **options)
    with pytest.raises(AssertionError):
        assert_close(actual, expected)


@pytest.mark.parametrize("name", MESSAGES)
def test_messages(name):
    actual, expected, options, text = MESSAGES[name]
    with pytest.raises(AssertionError) as caught:
        assert_close(actual, expected, **options)
    assert str(caught.value) == text


def test_a_message_says_where_in_a_collection():
    with pytest.raises(AssertionError, match=r"The failure occurred for item \['a'\]\[1\]\['b'\]$"):
        assert_close({"a": [1.0, {"b": og.ones(1)}]}, {"a": [1.0, {"b": og.zeros(1)}]})


def test_what_cannot_be_compared():
    for pair in (("a", "a"), ([1.0], og.ones(1)), (np.ones(1), og.ones(1)), (object(), object())):
        with pytest.raises(TypeError, match="No comparison pair was able to handle"):
            assert_close(*pair)
    # The structure comes first.
    with pytest.raises(TypeError, match=r"item \[1\]$"):
        assert_close([1.0, "a"], [2.0, "a"])
    with pytest.raises(ValueError, match="got no atol"):
        assert_close(1.0, 1.0, rtol=0.1)
    with pytest.raises(AttributeError, match="use assert_close"):
        from opgrid import testing

        testing.assert_allclose(1.0, 1.0)


@pytest.mark.parametrize("name", "float32 float64 float16 bfloat16 complex64 int8 uint8 int64 bool".split())
def test_random_tensors(name):
    dtype = getattr(og, name)
    x = make_tensor(20, 30, dtype=dtype, device="cpu")
    assert x.dtype == dtype and tuple(x.shape) == (20, 30) and x.is_contiguous() and not x.requires_grad
    if not dtype.is_complex and name != "bool":
        assert x.min() >= (0 if name == "uint8" else -9) and x.max() <= 9
        assert make_tensor((50,), dtype=dtype, device="cpu", low=2, high=4).min() >= 2
    assert not make_tensor(20, 30, dtype=dtype, device="cpu", noncontiguous=True).is_contiguous()
    assert (make_tensor(100, dtype=dtype, device="cpu", low=0, high=2, exclude_zero=True) != 0).all()


def test_random_tensors_that_cannot_be():
    with pytest.raises(ValueError, match="must be less than"):
        make_tensor(2, dtype=og.float32, device="cpu", low=1, high=0)
    with pytest.raises(ValueError, match="has those from 0 to 256"):
        make_tensor(2, dtype=og.uint8, device="cpu", low=300, high=400)
    with pytest.raises(ValueError, match="has no gradients"):
        make_tensor(2, dtype=og.int64, device="cpu", requires_grad=True)
    assert make_tensor(2, dtype=og.float32, device="cpu", requires_grad=True).requires_grad
