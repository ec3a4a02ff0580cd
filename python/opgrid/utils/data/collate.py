"""Batches from examples: tensors stacked, containers entered."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import opgrid as og

from ..._opgrid import TensorBase

Function = Callable[..., Any]


def default_convert(data: Any) -> Any:
    """The data with arrays of numpy as tensors, in dicts, lists and tuples too; all else as it is.

    Tuples become lists, named ones stay.
    """
    if isinstance(data, TensorBase):
        return data
    if _is_of_numpy(data):
        return data if _holds_objects(data) else og.as_tensor(data)
    if isinstance(data, Mapping):
        return _like(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(each) for each in data))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like(data, [default_convert(each) for each in data])
    return data


def default_collate(batch: Sequence[Any]) -> Any:
    """A batch of examples as one: tensors and arrays stacked along a new first dimension, numbers as a tensor, texts as a list.

    Dicts, lists and tuples are entered; their values are batches. Floats are in double precision.

    >>> from opgrid.utils.data import default_collate
    >>> default_collate([{"a": 1, "b": (2.0, "x")}, {"a": 3, "b": (4.0, "y")}])
    {'a': tensor([1, 3]), 'b': [tensor([2., 4.], dtype=opgrid.float64), ('x', 'y')]}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Sequence[Any], *, collate_fn_map: Mapping[Any, Function] | None = None) -> Any:
    """As `default_collate`, with functions of one's own for classes, or tuples of classes.

    They are called as ``function(batch, collate_fn_map=collate_fn_map)``.
    """
    first = batch[0]
    functions = collate_fn_map or {}
    function = functions.get(type(first))
    if function is None:
        function = next((each for kind, each in functions.items() if isinstance(first, kind)), None)
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)

    def again(examples: Sequence[Any]) -> Any:
        return collate(examples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _like(first, {key: again([example[key] for example in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(again(examples) for examples in zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        if any(len(example) != len(first) for example in batch):
            raise RuntimeError(f"each element in list of batch should be of equal size, found {[len(each) for each in batch]}")
        return _like(first, [again(examples) for examples in zip(*batch, strict=True)])
    raise TypeError(f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}")


def _like(original: Any, values: Any) -> Any:
    """The values in a container like the original, with its attributes; in a plain one where that cannot be made."""
    if isinstance(original, tuple):
        return values
    try:
        copied: Any
        if isinstance(original, MutableMapping):
            copied = copy.copy(original)
            copied.update(values)
            return copied
        if isinstance(original, MutableSequence):
            copied = copy.copy(original)
            for place, value in enumerate(values):
                copied[place] = value
            return copied
        return type(original)(values)
    except TypeError:
        return values


def _is_of_numpy(data: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(data, (numpy.ndarray, numpy.generic)) and not isinstance(data, (str, bytes))


def _holds_objects(array: Any) -> bool:
    return array.dtype.kind in "SUO"


def _tensors(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    return og.stack(list(batch), 0)


def _arrays(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    if _holds_objects(batch[0]):
        raise TypeError(
            f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {batch[0].dtype}"
        )
    if batch[0].ndim == 0:
        return og.as_tensor(sys.modules["numpy"].asarray(batch))
    return collate([og.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def _floats(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    return og.tensor(list(batch), dtype=og.float64)


def _integers(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    return og.tensor(list(batch))


def _texts(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    return batch


class _OfNumpy(type):
    """Stands for the classes of numpy, which is not imported for its own sake."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return _is_of_numpy(instance)


class _Array(metaclass=_OfNumpy):
    """An array, or a number, of numpy."""


default_collate_fn_map: dict[Any, Function] = {
    TensorBase: _tensors,
    _Array: _arrays,
    float: _floats,
    int: _integers,
    str: _texts,
    bytes: _texts,
}
"""What `default_collate` does with examples of some classes."""
