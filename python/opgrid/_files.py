"""Tensors in files: ``.npy`` (one), ``.npz`` and ``.safetensors`` (several by name)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import _opgrid

Tensors = _opgrid.Tensor | Mapping[str, _opgrid.Tensor]


def save(tensors: Tensors, path: str | os.PathLike[str]) -> None:
    """Writes a tensor, or several by name, to a file; the end of its name says in which format."""
    if isinstance(tensors, _opgrid.TensorBase):
        _opgrid.write_file(os.fspath(path), [("", tensors)])
        return
    if not isinstance(tensors, Mapping):
        raise TypeError(f"save(): expected a tensor or a dict of tensors by name, found {type(tensors).__name__}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, _opgrid.TensorBase):
            raise TypeError(f"save(): expected a tensor for {name!r}, found {type(tensor).__name__}")
    _opgrid.write_file(os.fspath(path), list(tensors.items()))


class _Loaded(dict[str, _opgrid.Tensor]):
    """Tensors by name. Asking for one that was left out raises an error that says why."""

    _left_out: dict[str, str]

    def __missing__(self, name: str) -> _opgrid.Tensor:
        raise KeyError(self._left_out.get(name, name))


def load(path: str | os.PathLike[str]) -> Any:
    """Reads a file: the tensor of an ``.npy``, a dict of tensors by name of others.

    An ``.npz`` may hold texts, objects and other files beside arrays. They are left out.
    """
    tensors, left_out = _opgrid.read_file(os.fspath(path))
    if len(tensors) == 1 and tensors[0][0] == "":
        return tensors[0][1]
    if not left_out:
        return dict(tensors)
    loaded = _Loaded(tensors)
    loaded._left_out = dict(left_out)
    return loaded
