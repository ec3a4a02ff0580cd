"""Comparison of tensors, numbers and collections of these, with messages that say what differs, how much, and where."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import opgrid as og

from .._opgrid import Tensor, TensorBase

_TOLERANCES = {
    og.float16: (1e-3, 1e-5),
    og.bfloat16: (1.6e-2, 1e-5),
    og.float32: (1.3e-6, 1e-5),
    og.float64: (1e-7, 1e-7),
    og.complex64: (1.3e-6, 1e-5),
    og.complex128: (1e-7, 1e-7),
}
"""The relative and the absolute tolerance of each dtype. Others are compared for equality."""

_NUMBERS = {int: og.int64, float: og.float64, complex: og.complex128}

_Place = tuple[Any, ...]


@dataclass
class _Options:
    """How values are compared."""

    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool

    def tolerances(self, *dtypes: Any) -> tuple[float, float]:
        """The relative and the absolute tolerance: those that were given, or the greatest of the dtypes."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        of_dtypes = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
        return max(rtol for rtol, _ in of_dtypes), max(atol for _, atol in of_dtypes)


class _Mismatch(Exception):
    """What is wrong with a pair of values: the class of the exception, the text, and where the pair was found."""

    def __init__(self, kind: type[Exception], text: str, place: _Place = ()) -> None:
        super().__init__(text)
        self.kind, self.text, self.place = kind, text, place

    def to_error(self, msg: str | Callable[[str], str] | None) -> Exception:
        """The exception for the caller, with the caller's text in place of ours or around it."""
        if isinstance(msg, str) and self.kind is AssertionError:
            return self.kind(msg)
        where = "".join(f"[{item!r}]" for item in self.place)
        text = f"{self.text}\n\nThe failure occurred for item {where}" if where else self.text
        return self.kind(msg(text) if callable(msg) and self.kind is AssertionError else text)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raises an ``AssertionError`` unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    Values are tensors, arrays of numpy, numbers, ``None``, and sequences and mappings of these. Tolerances are those of the dtype
    (float32: 1.3e-6 and 1e-5, float64: 1e-7 both, float16: 1e-3 and 1e-5, bfloat16: 1.6e-2 and 1e-5, integers: 0), or both
    are given. NaN is equal to nothing, unless ``equal_nan``. Shapes have to be equal; of devices, dtypes, layouts and strides,
    those have to be that are to be checked. ``msg`` is a text in place of the one that is generated, or a function of it.

    Other types raise a ``TypeError``, and one tolerance alone a ``ValueError``.
    """
    options = _Options(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    try:
        if (rtol is None) != (atol is None):
            missing = "rtol" if rtol is None else "atol"
            raise _Mismatch(ValueError, f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
        # The structure is compared first: all pairs have to be of types that can be compared.
        for compare, place in list(_pairs(actual, expected, options, ())):
            try:
                compare()
            except _Mismatch as mismatch:
                mismatch.place = place
                raise
    except _Mismatch as mismatch:
        raise mismatch.to_error(msg) from None


def _pairs(actual: Any, expected: Any, options: _Options, place: _Place) -> Iterator[tuple[Callable[[], None], _Place]]:
    """The comparison of every pair of values in two collections, and where it is."""
    if all(isinstance(value, Sequence) and not isinstance(value, str) for value in (actual, expected)):
        if len(actual) != len(expected):
            raise _Mismatch(AssertionError, f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", place)
        for index, pair in enumerate(zip(actual, expected, strict=True)):
            yield from _pairs(*pair, options, (*place, index))
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing, additional = expected.keys() - actual.keys(), actual.keys() - expected.keys()
        if missing or additional:
            lines = [
                "The keys of the mappings do not match:",
                f"Missing keys in the actual mapping: {sorted(missing, key=str)}",
                f"Additional keys in the actual mapping: {sorted(additional, key=str)}",
            ]
            raise _Mismatch(AssertionError, "\n".join(lines), place)
        for key in expected:
            yield from _pairs(actual[key], expected[key], options, (*place, key))
    else:
        yield _comparison(actual, expected, options, place), place


def _comparison(actual: Any, expected: Any, options: _Options, place: _Place) -> Callable[[], None]:
    """The comparison of two values by their types."""
    pair = (actual, expected)
    if actual is None or expected is None:
        return lambda: _compare_identity("None", *pair)
    if all(_is_bool(value) for value in pair):
        return lambda: _compare_identity("Booleans", *(bool(value) for value in pair))
    if all(_is_number(value) for value in pair):
        return lambda: _compare_numbers(*pair, options)
    if isinstance(actual, type(expected)) or isinstance(expected, type(actual)):
        if options.allow_subclasses or type(actual) is type(expected):
            try:
                tensors: list[Any] = [value if isinstance(value, TensorBase) else og.as_tensor(value) for value in pair]
            except Exception:
                tensors = []
            if tensors:
                return lambda: _compare_tensors(tensors[0], tensors[1], options)
    raise _Mismatch(
        TypeError,
        f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}: expected two tensors, arrays, "
        f"numbers, or collections of these",
        place,
    )


def _numpy_types(*names: str) -> tuple[Any, ...]:
    """Classes of numpy, if it is imported: there are no objects of them otherwise."""
    import sys

    numpy = sys.modules.get("numpy")
    return () if numpy is None else tuple(getattr(numpy, name) for name in names)


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, *_numpy_types("bool_")))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex, *_numpy_types("number")))


def _compare_identity(what: str, actual: Any, expected: Any) -> None:
    """``None`` and booleans have to be the same object."""
    if actual is not expected:
        raise _Mismatch(AssertionError, f"{what} mismatch: {actual} is not {expected}")


def _compare_numbers(actual: Any, expected: Any, options: _Options) -> None:
    if options.check_dtype and type(actual) is not type(expected):
        raise _Mismatch(AssertionError, f"The (d)types do not match: {type(actual)} != {type(expected)}.")
    actual, expected = (value.item() if isinstance(value, _numpy_types("number")) else value for value in (actual, expected))
    dtypes = [next(dtype for kind, dtype in _NUMBERS.items() if isinstance(value, kind)) for value in (actual, expected)]
    rtol, atol = options.tolerances(*dtypes)
    if actual == expected or (options.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return
    difference = abs(actual - expected)
    if not (cmath.isfinite(expected) and cmath.isfinite(difference) and difference <= atol + rtol * abs(expected)):
        raise _Mismatch(AssertionError, _text_of_numbers(actual, expected, rtol, atol))


def _compare_tensors(actual: Tensor, expected: Tensor, options: _Options) -> None:
    attributes: list[tuple[bool, str, Callable[[Tensor], Any]]] = [
        (True, "shape", lambda x: x.shape),
        (options.check_layout, "layout", lambda x: x.layout),
        (options.check_stride, "stride()", lambda x: x.stride()),
        (options.check_device, "device", lambda x: x.device),
        (options.check_dtype, "dtype", lambda x: x.dtype),
    ]
    for is_checked, name, attribute in attributes:
        found, wanted = attribute(actual), attribute(expected)
        if is_checked and found != wanted:
            raise _Mismatch(AssertionError, f"The values for attribute {name!r} do not match: {found} != {wanted}.")
    if "meta" in (actual.device.type, expected.device.type):
        # There are no elements.
        return
    rtol, atol = options.tolerances(actual.dtype, expected.dtype)
    dtype = og.promote_types(actual.dtype, expected.dtype)
    actual, expected = (x.detach().to("cpu").to(dtype) for x in (actual, expected))
    matches = og.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if matches.all():
        return
    if actual.dim() == 0:
        raise _Mismatch(AssertionError, _text_of_numbers(actual.item(), expected.item(), rtol, atol))
    raise _Mismatch(AssertionError, _text_of_tensors(actual, expected, matches, rtol, atol))


def _text(what: str, facts: list[str], differences: list[tuple[str, Any, float]], rtol: float, atol: float) -> str:
    """A text of facts and of differences, each with its tolerance unless values have to be equal."""
    is_equality = rtol == 0 and atol == 0
    lines = [f"{name}: {value}" + ("" if is_equality else f" (up to {tolerance} allowed)") for name, value, tolerance in differences]
    return "\n".join([f"{what} are not {'equal' if is_equality else 'close'}!", "", *facts, *lines])


def _text_of_numbers(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    absolute = abs(actual - expected)
    relative = absolute / abs(expected) if expected != 0 else float("inf")
    differences = [("Absolute difference", absolute, atol), ("Relative difference", relative, rtol)]
    return _text("Scalars", [f"Expected {expected} but got {actual}."], differences, rtol, atol)


def _text_of_tensors(actual: Tensor, expected: Tensor, matches: Tensor, rtol: float, atol: float) -> str:
    if not actual.is_floating_point() and not actual.is_complex():
        # Differences of small integers would wrap around.
        actual, expected = actual.long(), expected.long()
    mismatched = ~matches.flatten()
    absolute = (actual - expected).abs().flatten().masked_fill(matches.flatten(), 0)
    relative = (absolute / expected.abs().flatten()).masked_fill(matches.flatten(), 0)

    def greatest(differences: Tensor) -> str:
        place = int(differences.argmax())
        index = tuple(int(i) for i in og.unravel_index(og.tensor(place), matches.shape))
        return f"{differences[place].item()} at index {index}"

    count, total = int(mismatched.sum()), matches.numel()
    differences = [("Greatest absolute difference", greatest(absolute), atol), ("Greatest relative difference", greatest(relative), rtol)]
    return _text("Tensor-likes", [f"Mismatched elements: {count} / {total} ({count / total:.1%})"], differences, rtol, atol)
