"""Tensors in files: ``.npy`` (one), ``.npz`` and ``.safetensors`` (several by name), and checkpoints as torch writes them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import _opgrid, errors

_OF_TENSORS = (".npy", ".npz", ".safetensors")


def _is_of_tensors(file: Any) -> bool:
    """Whether the end of a path says that the file has tensors only."""
    return isinstance(file, (str, os.PathLike)) and os.fspath(file).lower().endswith(_OF_TENSORS)


def save(
    obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2, _use_new_zipfile_serialization: bool = True
) -> None:
    """Writes tensors, or a checkpoint, to a file.

    A path that ends with ``.npy`` takes one tensor, and ``.npz`` and ``.safetensors`` a dict of tensors by name. All other paths,
    and open files, get a checkpoint in torch's format, which ``torch.load`` reads: tensors, parameters, numbers, texts, lists,
    tuples, sets and dicts. Tensors that share memory share it when they are read. The other arguments are those of ``torch.save``,
    and change nothing.

    >>> import io
    >>> import opgrid as og
    >>> file = io.BytesIO()
    >>> og.save({"weight": og.ones(2), "epoch": 3}, file)
    >>> og.load(io.BytesIO(file.getvalue()))
    {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    if not _is_of_tensors(f):
        from ._checkpoints import save as save_checkpoint

        save_checkpoint(obj, f)
    elif isinstance(obj, _opgrid.Tensor):
        _opgrid.write_file(os.fspath(f), [("", obj)])
    elif not isinstance(obj, Mapping):
        raise TypeError(f"save(): expected a tensor or a dict of tensors by name, found {type(obj).__name__}")
    else:
        named: list[tuple[str, Any]] = list(obj.items())
        for name, tensor in named:
            if not isinstance(tensor, _opgrid.TensorBase):
                raise TypeError(f"save(): expected a tensor for {name!r}, found {type(tensor).__name__}")
        _opgrid.write_file(os.fspath(f), named)


class _Loaded(dict[str, _opgrid.Tensor]):
    """Tensors by name. Asking for one that was left out raises an error that says why."""

    _left_out: dict[str, str]

    def __missing__(self, name: str) -> _opgrid.Tensor:
        raise KeyError(self._left_out.get(name, name))


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None, mmap: bool | None = None
) -> Any:
    """Reads a file: the tensor of an ``.npy``, a dict of tensors by name of ``.npz`` and ``.safetensors``, and else a checkpoint
    that `save` or ``torch.save`` wrote.

    An ``.npz`` may hold texts, objects and other files beside arrays. They are left out.

    Checkpoints may come from anyone: nothing in them runs, whatever ``weights_only`` is, and what is no plain value is refused with
    ``pickle.UnpicklingError``. ``map_location`` says on which device storages are: a device, a dict from device to device, or a
    function of a storage and the name of its device. ``mmap`` maps storages of a path into memory instead of reading them.
    """
    if not _is_of_tensors(f):
        from ._checkpoints import load as load_checkpoint

        try:
            return load_checkpoint(f, map_location, bool(mmap))
        except FileNotFoundError as error:
            raise errors.MissingFileError(f"load(): {error}") from error
    tensors, left_out = _opgrid.read_file(os.fspath(f))
    if len(tensors) == 1 and tensors[0][0] == "":
        return tensors[0][1]
    if not left_out:
        return dict(tensors)
    loaded = _Loaded(tensors)
    loaded._left_out = dict(left_out)
    return loaded
