"""How workers send batches: as pickles, with large tensors in memory that both processes see."""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import pickle
import shutil
import tempfile
from io import BytesIO
from multiprocessing.reduction import ForkingPickler
from typing import Any

import opgrid as og

from ... import _opgrid

_SHARED = "/dev/shm"
_LEAST_BYTES = 1 << 16


def shared_folder() -> str | None:
    """A new folder for files that lie in memory; ``None`` where the system has none, so that pickles hold all tensors."""
    with contextlib.suppress(OSError):
        return tempfile.mkdtemp(prefix="opgrid-loader-", dir=_SHARED)
    return None


def remove_folder(folder: str | None) -> None:
    """Removes the folder with what nobody has read. What was read stays as long as its tensors."""
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


class _Pickler(ForkingPickler):
    """Pickles values; large tensors are written to files of a folder, of which the pickle has the names."""

    def __init__(self, file: BytesIO, folder: str) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._folder = folder

    def reducer_override(self, value: Any) -> Any:
        if type(value) is not og.Tensor or value.device.type != "cpu" or value.numel() * value.itemsize < _LEAST_BYTES:
            return NotImplemented
        if value.requires_grad or not value.is_contiguous():
            return NotImplemented
        path = os.path.join(self._folder, f"{os.getpid()}-{next(_numbers)}")
        try:
            # A full memory is an error of the write here, and would be a signal if the file were mapped.
            with open(path, "wb", buffering=0) as file:
                row = value.reshape(-1).view(og.uint8)
                if file.write(_opgrid._bytes(row)) == row.numel():
                    return mapped, (path, value.dtype, tuple(value.shape))
        except OSError:
            pass
        with contextlib.suppress(OSError):
            os.unlink(path)
        return NotImplemented


_numbers = itertools.count()


def mapped(path: str, dtype: Any, sizes: tuple[int, ...]) -> Any:
    """The tensor of a file, which is removed; its memory stays as long as the tensor."""
    with open(path, "r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    os.unlink(path)
    return og.frombuffer(memory, dtype=og.uint8).view(dtype).reshape(sizes)


def packed(value: Any, folder: str | None) -> bytes:
    """A value as bytes."""
    if folder is None:
        return bytes(ForkingPickler.dumps(value))
    file = BytesIO()
    _Pickler(file, folder).dump(value)
    return file.getvalue()


def unpacked(sent: Any) -> Any:
    """The value of what a worker sent; threads send values as they are."""
    return pickle.loads(sent) if isinstance(sent, bytes) else sent
