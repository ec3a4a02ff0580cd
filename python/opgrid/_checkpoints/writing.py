"""Writing of checkpoints: pickles of plain values beside the storages of tensors, in an archive, as torch writes them.

Only what can be read again is written.
"""

from __future__ import annotations

import os
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import opgrid as og

from .. import _opgrid
from .._copies import _all_bytes, _state_of
from .._opgrid import TensorBase
from .._size import Size
from ..autograd import no_grad
from . import archive
from .values import STORAGES

_CLASSES = {dtype: name for name, dtype in STORAGES.items()}


class _Global:
    """A name of another library, which is written and never looked up."""

    def __init__(self, module: str, name: str) -> None:
        self.text = f"{module}\n{name}\n".encode()


def _torch(name: str) -> _Global:
    return _Global(*("torch." + name).rsplit(".", 1))


class _Reference:
    """What stands outside of the pickle."""

    def __init__(self, identifier: tuple[Any, ...]) -> None:
        self.identifier = identifier


class Pickler:
    """Writes one value. `storages` are the bytes of what it refers to, by key."""

    def __init__(self) -> None:
        self.storages: dict[str, Any] = {}
        self._out = bytearray(b"\x80\x02")
        self._memo: dict[Any, tuple[int, Any]] = {}
        self._known: dict[int, tuple[str, Any, Any]] = {}
        self._path: list[Any] = []

    def dumped(self, value: Any) -> bytes:
        """The pickle of a value."""
        self._write(value)
        return bytes(self._out + b".")

    def _write(self, value: Any) -> None:
        step = _STEPS.get(type(value))
        if step is None and isinstance(value, TensorBase):
            step = Pickler._tensor
        if step is None and isinstance(value, OrderedDict) and type(value).__module__.startswith("opgrid."):
            step = Pickler._ordered_dict
        if step is None:
            place = "".join(f"[{part!r}]" for part in self._path)
            raise TypeError(
                f"save(): found a value of class {type(value).__module__}.{type(value).__name__}{' at ' + place if place else ''}, "
                "expected tensors, numbers, texts, lists, tuples, sets and dicts of them; save the state_dict() of an object"
            )
        step(self, value)

    def _put(self, code: bytes, layout: str = "", *values: Any) -> None:
        self._out += code + struct.pack("<" + layout, *values)

    def _is_known(self, key: Any) -> bool:
        """Whether a value was written before; then a reference to it is written."""
        if key not in self._memo:
            return False
        index = self._memo[key][0]
        self._put(b"h", "B", index) if index < 256 else self._put(b"j", "I", index)
        return True

    def _remember(self, key: Any, value: Any) -> None:
        index = len(self._memo)
        # The value is kept, so that no other one gets its id.
        self._memo[key] = (index, value)
        self._put(b"q", "B", index) if index < 256 else self._put(b"r", "I", index)

    def _integer(self, value: int) -> None:
        if 0 <= value < 256:
            self._put(b"K", "B", value)
        elif 0 <= value < 65536:
            self._put(b"M", "H", value)
        elif -(2**31) <= value < 2**31:
            self._put(b"J", "i", value)
        else:
            raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
            if len(raw) > 255:
                raise TypeError(f"save(): found an integer of {value.bit_length()} bits, expected at most 2039")
            self._put(b"\x8a", "B", len(raw))
            self._out += raw

    def _text(self, value: str) -> None:
        if self._is_known(("text", value)):
            return
        raw = value.encode("utf-8", "surrogatepass")
        self._put(b"X", "I", len(raw))
        self._out += raw
        self._remember(("text", value), value)

    def _name(self, value: _Global) -> None:
        if not self._is_known(value.text):
            self._out += b"c" + value.text
            self._remember(value.text, value)

    def _call(self, function: _Global, *args: Any) -> None:
        self._write(function)
        self._write_tuple(args)
        self._put(b"R")

    def _write_tuple(self, values: Iterable[Any]) -> None:
        values = list(values)
        if not values:
            self._put(b")")
            return
        if len(values) > 3:
            self._put(b"(")
        for place, value in enumerate(values):
            self._at(place, value)
        self._put({1: b"\x85", 2: b"\x86", 3: b"\x87"}.get(len(values), b"t"))

    def _at(self, place: Any, value: Any) -> None:
        self._path.append(place)
        self._write(value)
        self._path.pop()

    def _tuple(self, value: tuple[Any, ...]) -> None:
        if self._is_known(id(value)):
            return
        self._write_tuple(value)
        self._remember(id(value), value)

    def _list(self, value: list[Any]) -> None:
        if self._is_known(id(value)):
            return
        self._put(b"]")
        self._remember(id(value), value)
        if value:
            self._put(b"(")
            for place, each in enumerate(value):
                self._at(place, each)
            self._put(b"e")

    def _items(self, value: dict[Any, Any]) -> None:
        if value:
            self._put(b"(")
            for key, each in value.items():
                self._write(key)
                self._at(key, each)
            self._put(b"u")

    def _dict(self, value: dict[Any, Any]) -> None:
        if self._is_known(id(value)):
            return
        self._put(b"}")
        self._remember(id(value), value)
        self._items(value)

    def _ordered_dict(self, value: OrderedDict[Any, Any]) -> None:
        if self._is_known(id(value)):
            return
        self._call(_Global("collections", "OrderedDict"))
        self._remember(id(value), value)
        self._items(value)
        if vars(value):
            self._write(vars(value))
            self._put(b"b")

    def _tensor(self, x: Any) -> None:
        if self._is_known(id(x)):
            return
        if x._is_wrapper or type(x) is not _opgrid.Tensor:
            raise TypeError(
                f"save(): found a tensor of class {type(x).__name__}; expected opgrid.Tensor; convert it with as_subclass"
            )
        if x.layout != og.strided or "q" in str(x.dtype).rsplit(".", 1)[-1][:2]:
            raise TypeError(
                f"save(): found a tensor of layout {x.layout} and dtype {x.dtype}; expected a dense one that is not quantized"
            )
        is_parameter = getattr(x, "_is_parameter", False)
        function, args = _rebuilding(self, x.detach(), x.requires_grad and not is_parameter)
        attributes = {name: value for name, value in (_state_of(x)[0] or {}).items() if not name.startswith("_")}
        if is_parameter:
            self._write(_torch("_utils._rebuild_parameter" + "_with_state" * bool(attributes)))
            self._put(b"(")
            self._call(function, *args)
            for each in (x.requires_grad, OrderedDict(), *([attributes] if attributes else [])):
                self._write(each)
            self._put(b"tR")
        elif attributes:
            self._call(_torch("_tensor._rebuild_from_type_v2"), function, _torch("Tensor"), args, attributes)
        else:
            self._call(function, *args)
        self._remember(id(x), x)

    def storage(self, x: Any) -> _Reference:
        """A reference to the memory of a tensor, which is kept once."""
        storage = x.untyped_storage()
        identity = storage._identity()
        if identity in self._known and self._known[identity][1] != x.dtype:
            raise RuntimeError(
                "save(): found tensors on the same memory as different dtypes, which torch's format has no way to say; clone one of them"
            )
        if identity not in self._known:
            key = str(len(self._known))
            # The storage is kept, so that no other one gets its number.
            self._known[identity] = (key, x.dtype, storage)
            self.storages[key] = _opgrid._bytes(_all_bytes(x.cpu() if x.device.type != "cpu" else x).view(og.uint8))
        name = _CLASSES.get(x.dtype)
        count = storage.nbytes() if name is None else storage.nbytes() // x.itemsize
        kind = _torch("storage.UntypedStorage") if name is None else _torch(name)
        return _Reference(("storage", kind, self._known[identity][0], str(x.device), count))

    def _reference(self, value: _Reference) -> None:
        self._write_tuple(value.identifier)
        self._put(b"Q")


def _rebuilding(pickler: Pickler, x: Any, requires_grad: bool) -> tuple[_Global, tuple[Any, ...]]:
    """The function of torch that makes a tensor anew, and its arguments."""
    sizes, strides = tuple(map(int, x.shape)), tuple(map(int, x.stride()))
    if x.is_meta:
        return _torch("_utils._rebuild_meta_tensor_no_storage"), (x.dtype, sizes, strides, requires_grad)
    args: tuple[Any, ...] = (pickler.storage(x), int(x.storage_offset()), sizes, strides, requires_grad, OrderedDict())
    if x.dtype in _CLASSES:
        return _torch("_utils._rebuild_tensor_v2"), args
    return _torch("_utils._rebuild_tensor_v3"), (*args, x.dtype)


def _calls(function: _Global, arguments: Callable[[Any], tuple[Any, ...]]) -> Callable[[Pickler, Any], None]:
    return lambda pickler, value: pickler._call(function, *arguments(value))


_STEPS: dict[type, Callable[[Pickler, Any], None]] = {
    type(None): lambda p, value: p._put(b"N"),
    bool: lambda p, value: p._put(b"\x88" if value else b"\x89"),
    int: Pickler._integer,
    float: lambda p, value: p._put(b"G" + struct.pack(">d", value)),
    str: Pickler._text,
    tuple: Pickler._tuple,
    list: Pickler._list,
    dict: Pickler._dict,
    OrderedDict: Pickler._ordered_dict,
    _Global: Pickler._name,
    _Reference: Pickler._reference,
    complex: _calls(_Global("__builtin__", "complex"), lambda value: (value.real, value.imag)),
    bytes: _calls(_Global("_codecs", "encode"), lambda value: (value.decode("latin1"), "latin1")),
    bytearray: _calls(_Global("__builtin__", "bytearray"), lambda value: (bytes(value),)),
    set: _calls(_Global("__builtin__", "set"), lambda value: (list(value),)),
    Counter: _calls(_Global("collections", "Counter"), lambda value: (dict(value),)),
    Size: _calls(_torch("Size"), lambda value: (tuple(value),)),
    _opgrid.device: _calls(_torch("device"), lambda value: (value.type,) if value.index is None else (value.type, value.index)),
    _opgrid.layout: _calls(_torch("serialization._get_layout"), lambda value: ("torch." + str(value).rsplit(".", 1)[-1],)),
    _opgrid.dtype: lambda p, value: p._name(_torch(str(value).rsplit(".", 1)[-1])),
}


def save(value: Any, file: Any) -> None:
    """Writes a checkpoint to a path or to a file that is open for bytes."""
    is_path = isinstance(file, (str, os.PathLike))
    if not is_path and not hasattr(file, "write"):
        raise TypeError(f"save(): expected a path or an open file, found {type(file).__name__}")
    pickler = Pickler()
    with no_grad(), _opgrid.exclude("Python"):
        dumped = pickler.dumped(value)
    folder = os.path.splitext(os.path.basename(os.fspath(file)))[0] if is_path else "archive"
    writer = archive.Writer(file, folder or "archive")
    writer.write("data.pkl", dumped)
    writer.write("byteorder", b"little")
    for key, data in pickler.storages.items():
        writer.write(f"data/{key}", data)
    writer.write("version", b"3\n")
    writer.close()
