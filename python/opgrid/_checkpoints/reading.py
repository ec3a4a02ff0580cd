"""Reading of checkpoints: the archives that torch writes today, and the files that it wrote before version 1.6."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from typing import Any

import opgrid as og

from .. import _opgrid
from ..autograd import no_grad
from . import archive
from .unpickler import Unpickler, refused
from .values import Memory, StorageClass, find

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001

Place = Callable[[Any, str], Any]


def load(file: Any, map_location: Any = None, mapped: bool = False) -> Any:
    """Reads a checkpoint from a path or a file. ``mapped`` maps the storages of a path instead of copying them.

    Raises ``pickle.UnpicklingError`` for values that are refused, ``RuntimeError`` for archives that are broken, ``EOFError`` for
    an empty file.
    """
    data, mapping = _bytes_of(file, mapped)
    if not len(data):
        raise EOFError("load(): the file is empty")
    place = _placing(map_location)
    with no_grad(), _opgrid.exclude("Python"):
        if bytes(data[:4]) == b"PK\x03\x04":
            return _load_archive(data, place, mapping)
        if mapped:
            raise RuntimeError(
                "load(): mmap can only be used with files that torch.save(_use_new_zipfile_serialization=True) wrote"
            )
        return _load_legacy(data, place)


def _bytes_of(file: Any, mapped: bool) -> tuple[memoryview, mmap.mmap | None]:
    """The bytes of a file, and the mapping that storages can lie in: writes to it do not change the file."""
    if not isinstance(file, (str, os.PathLike)):
        if mapped:
            raise ValueError("load(): mmap needs the path of a file, found an open one")
        if not hasattr(file, "read"):
            raise TypeError(f"load(): expected a path or an open file, found {type(file).__name__}")
        content = file.read()
        if not isinstance(content, (bytes, bytearray)):
            raise TypeError(f"load(): expected a file of bytes, found one of {type(content).__name__}; open it with 'rb'")
        return memoryview(content), None
    with open(file, "rb") as opened:
        if os.fstat(opened.fileno()).st_size == 0:
            return memoryview(b""), None
        access = mmap.ACCESS_COPY if mapped else mmap.ACCESS_READ
        mapping = mmap.mmap(opened.fileno(), 0, access=access)
    return memoryview(mapping), mapping if mapped else None


def _placing(map_location: Any) -> Place:
    """What moves a row of bytes to where it belongs."""

    def at(row: Any, device: Any) -> Any:
        device = _opgrid.device(device) if isinstance(device, str) else device
        if device.type == "cpu":
            return row
        try:
            return row.to(device)
        except NotImplementedError as error:
            raise RuntimeError(
                f"load(): a storage was saved from device {device}, which is not there; pass map_location='cpu'"
            ) from error

    if map_location is None:
        return at
    if isinstance(map_location, (str, _opgrid.device)):
        return lambda row, location: at(row, map_location)
    if isinstance(map_location, dict):
        return lambda row, location: at(row, map_location.get(location, location))
    if not callable(map_location):
        raise TypeError(
            f"load(): map_location should be a device, a text, a dict or a function, found {type(map_location).__name__}"
        )

    def asked(row: Any, location: str) -> Any:
        found = map_location(row.untyped_storage(), location)
        return at(row, location if found is None else found.device)

    return asked


def _described(identifier: Any, length: int) -> tuple[Any, str, str, int]:
    """Class, key, location and number of elements of a storage, out of its identifier."""
    if type(identifier) is not tuple or len(identifier) != length or identifier[0] != "storage":
        raise refused("found a reference that is no storage")
    kind, key, location, count = identifier[1:5]
    if (
        not isinstance(kind, StorageClass)
        or type(key) is not str
        or type(location) is not str
        or type(count) is not int
        or count < 0
    ):
        raise refused(f"found a storage with key {key!r}, location {location!r} and {count!r} elements")
    return kind.dtype, key, location, count


def _load_archive(data: memoryview, place: Place, mapping: mmap.mmap | None) -> Any:
    records = archive.records(data)
    if "constants.pkl" in records:
        raise RuntimeError("load(): found a program of TorchScript, expected a checkpoint; save the state_dict() of the module")
    if "data.pkl" not in records:
        raise RuntimeError(
            f"load(): found an archive without data.pkl, with {sorted(records)[:5]}; expected one that torch.save wrote"
        )
    if bytes(records.get("byteorder", b"little")) != b"little":
        raise RuntimeError("load(): found a file of a big-endian machine, expected one of a little-endian machine")
    rows: dict[str, Any] = {}

    def persistent(identifier: Any) -> Memory:
        dtype, key, location, count = _described(identifier, 5)
        record = records.get(f"data/{key}")
        size = count * (1 if dtype is None else dtype.itemsize)
        if record is None:
            raise refused(f"storage {key!r} is not in the archive")
        if not 0 <= len(record) - size < (1 if dtype is None else dtype.itemsize):
            raise refused(f"storage {key!r} has {len(record)} bytes, expected {size} for {count} elements")
        if key not in rows:
            rows[key] = place(_row(record, data, mapping), location)
        return Memory(rows[key], dtype)

    return Unpickler(records["data.pkl"], find, persistent, room=4 * len(data)).load()


def _row(record: memoryview, data: memoryview, mapping: mmap.mmap | None) -> Any:
    """The bytes as a tensor: of a mapping in place, if elements of any dtype can begin there."""
    if mapping is not None and len(record):
        offset = _offset(record, data)
        if offset % 16 == 0:
            return og.frombuffer(mapping, dtype=og.uint8, count=len(record), offset=offset)
    return _opgrid._rebuild(bytes(record), og.uint8, _opgrid.device("cpu"), [len(record)], [1])


def _offset(part: memoryview, whole: memoryview) -> int:
    """Where a part of a memory begins."""
    return int(og.frombuffer(part, dtype=og.uint8).data_ptr() - og.frombuffer(whole, dtype=og.uint8).data_ptr())


def _load_legacy(data: memoryview, place: Place) -> Any:
    """Four pickles, a list of keys, and the storages: each a number of elements in 8 bytes, and the elements."""
    if bytes(data[257:262]) == b"ustar":
        raise RuntimeError("load(): found a tar archive, as torch wrote before version 0.2; load and save it with torch")
    position = 0

    def plain(identifier: Any) -> Any:
        raise refused("found a reference outside of the pickle")

    head = []
    for _ in range(3):
        reader = Unpickler(data, find, plain, position)
        head.append(reader.load())
        position = reader.position
        if head[0] != _MAGIC:
            raise refused("the file does not begin as a checkpoint of torch; expected an archive or a magic number")
    if head[1] != _PROTOCOL:
        raise refused(f"found protocol {head[1]!r} of files, expected {_PROTOCOL}")
    if type(head[2]) is not dict or head[2].get("little_endian") is not True:
        raise refused("found a file of a big-endian machine, expected one of a little-endian machine")
    rows: dict[str, tuple[Any, int, Any]] = {}
    room = len(data) - position

    def persistent(identifier: Any) -> Memory:
        nonlocal room
        dtype, key, location, count = _described(identifier, 6)
        if dtype is None or identifier[5] is not None:
            raise refused(f"storage {key!r} is a view of another one, as torch wrote before version 1.0")
        if key not in rows:
            size = count * dtype.itemsize
            room -= size
            if room < 0:
                raise refused(f"storage {key!r} has {count} elements, and the file has too few bytes")
            rows[key] = (place(og.zeros(size, dtype=og.uint8), location), count, dtype)
        row, known, kind = rows[key]
        if (known, kind) != (count, dtype):
            raise refused(f"storage {key!r} occurs with {known} and with {count} elements")
        return Memory(row, dtype)

    # The storages come behind the value. It is read once to know them, and made when they are filled, since some tensors copy.
    reader = Unpickler(data, find, persistent, position, 4 * len(data))
    reader.load()
    keys_reader = Unpickler(data, find, plain, reader.position)
    keys = keys_reader.load()
    _fill(rows, keys, data, keys_reader.position)
    return Unpickler(data, find, persistent, position, 4 * len(data)).load()


def _fill(rows: dict[str, tuple[Any, int, Any]], keys: Any, data: memoryview, position: int) -> None:
    """Reads the storages in the order of the keys."""
    if type(keys) is not list or sorted(map(str, keys)) != sorted(rows):
        raise refused("the list of storages differs from those that tensors have")
    for key in keys:
        row, count, _ = rows[key]
        begin, end = position + 8, position + 8 + row.numel()
        if end > len(data) or int.from_bytes(data[position:begin], "little") != count:
            raise refused(f"storage {key!r} is truncated, or has another number of elements")
        if row.numel():
            row.copy_(_row(data[begin:end], data, None))
        position = end
