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
    _opgrid.write_file(os.fspath(path), list(tensors.items()))


def load(path: str | os.PathLike[str]) -> Any:
    """Reads a file: the tensor of an ``.npy``, a dict of tensors by name of others."""
    tensors = _opgrid.read_file(os.fspath(path))
    return tensors[0][1] if len(tensors) == 1 and tensors[0][0] == "" else dict(tensors)
