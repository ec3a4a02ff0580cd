"""Records of a zip archive whose entries are stored as they are, which is how torch writes checkpoints.

Reading trusts nothing: every size and offset is checked against the file before it is used, entries may neither overlap nor
have one name, and no entry is decompressed, so that no more memory is needed than the file has bytes.
"""

from __future__ import annotations

import struct
import zipfile
from typing import Any, NamedTuple

_END, _END64, _LOCATOR64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_ENTRY, _LOCAL = b"PK\x01\x02", b"PK\x03\x04"
_LONGEST_COMMENT = 0xFFFF
_ALIGNMENT = 64


class _Entry(NamedTuple):
    name: str
    offset: int
    size: int


def records(data: memoryview) -> dict[str, memoryview]:
    """The entries of an archive by name, without the folder that all of them are in.

    Raises ``RuntimeError`` for an archive that is broken, or has anything that a checkpoint does not need.
    """
    start, size, count = _directory(data)
    entries = _entries(data, start, size, count)
    ranges = []
    found: dict[str, memoryview] = {}
    for entry in entries:
        begin = _begin_of_data(data, entry)
        if begin + entry.size > start:
            raise _broken(f"entry {entry.name!r} has {entry.size} bytes at {begin}, and the directory begins at {start}")
        ranges.append((entry.offset, begin + entry.size, entry.name))
        found[entry.name] = data[begin : begin + entry.size]
    ranges.sort()
    for (_, end, name), (begin, _, other) in zip(ranges, ranges[1:], strict=False):
        if begin < end:
            raise _broken(f"entries {name!r} and {other!r} overlap")
    return _without_folder(found)


def _broken(text: str) -> RuntimeError:
    return RuntimeError(f"load(): invalid archive: {text}")


def _numbers(layout: str, data: memoryview, offset: int) -> tuple[int, ...]:
    """Little-endian numbers at an offset."""
    size = struct.calcsize("<" + layout)
    if offset < 0 or offset + size > len(data):
        raise _broken(f"found {len(data)} bytes, expected {size} more at {offset}")
    return struct.unpack_from("<" + layout, data, offset)


def _directory(data: memoryview) -> tuple[int, int, int]:
    """Offset, size and number of entries of the directory, by the record at the end of the file."""
    tail_begin = max(0, len(data) - 22 - _LONGEST_COMMENT)
    tail = bytes(data[tail_begin:])
    place = tail.rfind(_END)
    if place < 0:
        raise _broken("found no directory, expected one at the end; the file may be truncated")
    end = tail_begin + place
    disk, start_disk, here, count, size, start, comment = _numbers("4x4H2IH", data, end)
    if end + 22 + comment != len(data):
        raise _broken("the end of the directory is not at the end of the file")
    if 0xFFFF in (here, count) or 0xFFFFFFFF in (size, start):
        if bytes(data[max(0, end - 20) : end][:4]) != _LOCATOR64:
            raise _broken("found no locator of the directory with large sizes")
        (end,) = _numbers("8xQ4x", data, end - 20)
        if bytes(data[end : end + 4]) != _END64:
            raise _broken("found no directory with large sizes")
        disk, start_disk, here, count, size, start = _numbers("16xIIQQQQ", data, end)
    if disk or start_disk or here != count:
        raise _broken("the archive has several parts")
    if start + size > end or count * 46 > size:
        raise _broken(f"a directory of {count} entries and {size} bytes at {start} is not in the file")
    return start, size, count


def _entries(data: memoryview, start: int, size: int, count: int) -> list[_Entry]:
    entries = []
    names = set()
    place = start
    for _ in range(count):
        if bytes(data[place : place + 4]) != _ENTRY:
            raise _broken(f"found no entry of the directory at {place}")
        flags, method, packed, unpacked, name_size, extra_size, comment_size, offset = _numbers("8xHH8xIIHHH8xI", data, place)
        end = place + 46 + name_size + extra_size + comment_size
        if end > start + size:
            raise _broken("an entry of the directory ends behind it")
        name = _name(bytes(data[place + 46 : place + 46 + name_size]))
        if flags & 1:
            raise _broken(f"entry {name!r} is encrypted")
        extra = data[place + 46 + name_size : place + 46 + name_size + extra_size]
        packed, unpacked, offset = _large_sizes(extra, packed, unpacked, offset)
        if method != 0 or packed != unpacked:
            raise _broken(f"entry {name!r} is compressed, expected it stored; write it without compression")
        if name in names:
            raise _broken(f"found several entries {name!r}")
        names.add(name)
        entries.append(_Entry(name, offset, unpacked))
        place = end
    return entries


def _name(raw: bytes) -> str:
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        raise _broken(f"the name {raw!r} is not in UTF-8") from None
    if name.startswith("/") or "\\" in name or "\0" in name or ":" in name or ".." in name.split("/"):
        raise _broken(f"entry {name!r} has a name that leads out of the archive")
    return name


def _large_sizes(extra: memoryview, packed: int, unpacked: int, offset: int) -> tuple[int, int, int]:
    """Sizes and offset, from the extra field where they do not fit."""
    values = [unpacked, packed, offset]
    if 0xFFFFFFFF not in values:
        return packed, unpacked, offset
    place = 0
    while place + 4 <= len(extra):
        kind, size = _numbers("HH", extra, place)
        if kind == 1:
            field = extra[place + 4 : place + 4 + size]
            wide = [number for number, value in enumerate(values) if value == 0xFFFFFFFF]
            for order, number in enumerate(wide):
                (values[number],) = _numbers("Q", field, 8 * order)
            break
        place += 4 + size
    return values[1], values[0], values[2]


def _begin_of_data(data: memoryview, entry: _Entry) -> int:
    """Where the bytes of an entry begin, behind its own header."""
    if bytes(data[entry.offset : entry.offset + 4]) != _LOCAL:
        raise _broken(f"found no header of entry {entry.name!r} at {entry.offset}")
    flags, method, name_size, extra_size = _numbers("6xHH16xHH", data, entry.offset)
    name = bytes(data[entry.offset + 30 : entry.offset + 30 + name_size])
    if name != entry.name.encode() or method != 0 or flags & 1:
        raise _broken(f"the header of entry {entry.name!r} differs from the directory")
    return entry.offset + 30 + name_size + extra_size


def _without_folder(found: dict[str, memoryview]) -> dict[str, memoryview]:
    folders = {name.split("/", 1)[0] for name in found}
    if len(folders) != 1 or any("/" not in name for name in found):
        raise _broken(f"found entries in {len(folders)} folders, expected one folder, as torch.save writes it")
    return {name.split("/", 1)[1]: data for name, data in found.items()}


class Writer:
    """Writes records into an archive, each at a multiple of 64 bytes, so that a file can be mapped into memory."""

    def __init__(self, file: Any, folder: str) -> None:
        self._archive = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self._folder = folder

    def write(self, name: str, data: bytes) -> None:
        """Adds a record."""
        info = zipfile.ZipInfo(f"{self._folder}/{name}", date_time=(1980, 1, 1, 0, 0, 0))
        before = self._archive.start_dir + 30 + len(info.filename.encode()) + 4
        padding = -before % _ALIGNMENT
        info.extra = struct.pack("<2sH", b"FB", padding) + b"Z" * padding
        self._archive.writestr(info, data)

    def close(self) -> None:
        """Writes the directory."""
        self._archive.close()
