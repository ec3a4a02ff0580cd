"""Functions composed of operators: shapes, data, unique elements."""

from __future__ import annotations

from . import _opgrid
from ._size import Size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> _opgrid.Tensor:
    """The data as a tensor, without a copy where the memory can be shared: of tensors, and of numpy's arrays."""
    if isinstance(data, (bytes, bytearray, memoryview)):
        # Numbers one by one, as in torch; `asarray` shares the bytes.
        return _opgrid.tensor(data, dtype=dtype, device=device)
    return _opgrid.asarray(data, dtype=dtype, device=device)


def is_tensor(obj: Any, /) -> bool:
    """Whether the object is a tensor."""
    return isinstance(obj, _opgrid.TensorBase)


def is_storage(obj: Any, /) -> bool:
    """Whether the object is the memory of tensors."""
    return isinstance(obj, _opgrid.Storage)


def typename(obj: Any, /) -> str:
    """The name of the object's class, of those of Python without a module."""
    kind = type(obj)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that all of these broadcast to; a number is the shape of one dimension."""
    result: list[int] = []
    for number, shape in enumerate(shapes):
        sizes = [shape] if isinstance(shape, int) else [int(size) for size in shape]
        if any(size < 0 for size in sizes):
            raise ValueError(f"broadcast_shapes(): shape {number} is {tuple(sizes)}, expected sizes of 0 or more")
        result = [1] * (len(sizes) - len(result)) + result
        for place, size in enumerate(reversed(sizes), start=1):
            if result[-place] not in (1, size) and size != 1:
                raise RuntimeError(
                    f"broadcast_shapes(): shape {number} is {tuple(sizes)}, which does not broadcast with {tuple(result)}: "
                    f"{size} against {result[-place]} in dimension {-place}"
                )
            result[-place] = size if result[-place] == 1 else result[-place]
    return Size(result)


def einsum(equation: Any, *tensors: Any, path: Any = None) -> Any:
    """The sum of products that the equation names, as in ``einsum("ij,jk->ik", a, b)``, of tensors one by one or in a list.

    In place of letters, dimensions may have numbers below 52, in a list behind each tensor and one for the result:
    ``einsum(a, [0, 1], b, [1, 2], [0, 2])``.
    """
    if not isinstance(equation, str):
        equation, tensors = _by_letters(equation, *tensors)
    return _opgrid.function("einsum")(equation, *tensors, path=path)


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _by_letters(*given: Any) -> tuple[str, tuple[Any, ...]]:
    """The equation and the tensors of a call by numbers of dimensions."""
    pairs = len(given) // 2
    tensors, lists = given[: 2 * pairs : 2], given[1 : 2 * pairs : 2] + given[2 * pairs :]
    if not pairs or not all(isinstance(numbers, (list, tuple)) for numbers in lists):
        raise ValueError("einsum(): expected an equation, or tensors each with a list of the numbers of its dimensions behind it")
    texts = ["".join("..." if number is Ellipsis else _letter(number) for number in numbers) for numbers in lists]
    return ",".join(texts[:pairs]) + "->" * (len(texts) > pairs) + "".join(texts[pairs:]), tensors


def _letter(number: int) -> str:
    if not 0 <= number < len(_LETTERS):
        raise ValueError(f"einsum(): found the dimension number {number}, expected one from 0 to {len(_LETTERS) - 1}")
    return _LETTERS[number]


def stft(
    input: _opgrid.Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: _opgrid.Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> _opgrid.Tensor:
    """The short-time Fourier transform of signals. They are padded by half of ``n_fft`` at both ends, unless ``center`` is ``False``.
    (The overload of ``opgrid.ops.aten.stft`` without ``center`` never pads.)"""
    found: _opgrid.Tensor = _opgrid.function("stft")(
        input,
        n_fft,
        hop_length,
        win_length,
        window,
        center=center,
        pad_mode=pad_mode,
        normalized=normalized,
        onesided=onesided,
        return_complex=return_complex,
        align_to_window=align_to_window,
    )
    return found


def unique(
    input: _opgrid.Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different elements, or slices along a dimension; with them, if asked, where each is found, and how often."""
    if dim is None:
        found = _opgrid.packet("aten::_unique2")(input, sorted, return_inverse, return_counts)
    else:
        found = _opgrid.packet("aten::unique_dim")(input, dim, sorted, return_inverse, return_counts)
    return _asked(found, return_inverse, return_counts)


def unique_consecutive(
    input: _opgrid.Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or slices along a dimension, that differ from the one before; with them, if asked, where each is found,
    and how often."""
    found = _opgrid.packet("aten::unique_consecutive")(input, return_inverse, return_counts, dim)
    return _asked(found, return_inverse, return_counts)


def _asked(found: Any, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = found
    asked = [values] + [inverse] * return_inverse + [counts] * return_counts
    return tuple(asked) if len(asked) > 1 else values


def unravel_index(indices: _opgrid.Tensor, shape: Any) -> tuple[_opgrid.Tensor, ...]:
    """The indices of each dimension, of indices into a tensor of that shape in row-major order."""
    sizes = [shape] if isinstance(shape, int) else [int(size) for size in shape]
    if indices.dtype.is_floating_point or indices.dtype.is_complex or indices.dtype == _opgrid.bool:
        raise TypeError(f"unravel_index(): expected indices of an integer dtype, found {indices.dtype}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"unravel_index(): expected sizes of 0 or more, found {tuple(sizes)}")
    found = []
    rest: Any = indices
    for size in reversed(sizes):
        found.append(rest % size)
        rest = rest // size
    return tuple(reversed(found))
