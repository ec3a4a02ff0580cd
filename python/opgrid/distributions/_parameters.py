"""Parameters of distributions: broadcasting, probabilities and log-odds, attributes that are computed when they are first read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, Generic, Self, TypeVar, overload

import opgrid as og

from .._opgrid import Tensor, TensorBase

_Value = TypeVar("_Value")

EULER = 0.57721566490153286060
"""Euler's constant, the mean of the standard Gumbel distribution."""


def is_number(value: Any) -> bool:
    """Whether a parameter is a number of Python."""
    return isinstance(value, (int, float, bool))


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of one shape.

    Numbers get the dtype and the device of the first tensor, or the default dtype if all of the values are numbers.
    """
    for value in values:
        if not isinstance(value, TensorBase) and not is_number(value):
            raise ValueError(f"broadcast_all(): expected numbers and tensors, found {type(value).__name__}")
    like = next((value for value in values if isinstance(value, TensorBase)), None)
    dtype, device = (og.get_default_dtype(), None) if like is None else (like.dtype, like.device)
    tensors: list[Any] = [value if isinstance(value, TensorBase) else og.tensor(value, dtype=dtype, device=device) for value in values]
    return tuple(og.broadcast_tensors(tensors))


def shown(value: Any) -> str:
    """The text of a number or a tensor: that of the number for a tensor without dimensions."""
    return str(value.item() if isinstance(value, TensorBase) and value.dim() == 0 else value)


def standard_normal(shape: Sequence[int], like: Tensor) -> Tensor:
    """Numbers of the standard normal distribution, with the dtype and the device of a tensor."""
    return og.empty(shape, dtype=like.dtype, device=like.device).normal_()


def standard_uniform(shape: Sequence[int], like: Tensor) -> Tensor:
    """Numbers from 0 to 1, with the dtype and the device of a tensor."""
    return og.rand(shape, dtype=like.dtype, device=like.device)


def sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last ``dim`` dimensions."""
    return value.reshape((*value.shape[: value.dim() - dim], -1)).sum(-1) if dim else value


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities, moved away from 0 and 1 by the epsilon of their dtype."""
    eps = og.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of log-odds, or of log-probabilities up to a constant along the last dimension."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log-odds of probabilities, or log-probabilities along the last dimension."""
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


def given_one(owner: object, **options: Any) -> str:
    """The name of the parameter that was given, of those that exclude each other."""
    given = [name for name, value in options.items() if value is not None]
    if len(given) != 1:
        choices = ", ".join(f"`{name}`" for name in options)
        found = " and ".join(f"`{name}`" for name in given) or "none"
        raise ValueError(f"{type(owner).__name__}: expected exactly one of {choices}, found {found}")
    return given[0]


class lazy_property(Generic[_Value]):
    """A property that is computed when it is first read, with gradients, and is an attribute from then on."""

    def __init__(self, wrapped: Callable[[Any], _Value]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: Any = None) -> _Value: ...

    def __get__(self, instance: object | None, owner: Any = None) -> Self | _Value:
        if instance is None:
            return self
        with og.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def _lower_mask(size: int, diagonal: int, device: Any) -> Tensor:
    """Which elements of a square matrix are on the diagonal or below it."""
    return og.ones(size, size, dtype=og.bool, device=device).tril(diagonal)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on a diagonal and below it, row by row: ``(…, D, D)`` to ``(…, N)``."""
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(f"tril_matrix_to_vec(): `diag` is {diag}, expected {-size} to {size - 1} for matrices of {size} columns")
    return mat[..., _lower_mask(size, diag, mat.device)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Square matrices with the elements on a diagonal and below it, given row by row: ``(…, N)`` to ``(…, D, D)``."""
    count, size = vec.shape[-1], max(1, -diag)
    while (filled := int(_lower_mask(size, diag, None).sum())) < count:
        size += 1
    if filled != count:
        raise ValueError(f"vec_to_tril_matrix(): the last dimension has {count} elements, which fill no triangle of a square matrix")
    mat = vec.new_zeros((*vec.shape[:-1], size, size))
    mat[..., _lower_mask(size, diag, vec.device)] = vec
    return mat
