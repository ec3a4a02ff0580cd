"""A machine for pickles that can only make plain data.

Pickles are programs: they name functions and call them. This machine calls nothing but the functions of a table that it is
given, changes nothing but containers that it has made itself, and makes no container whose size is not paid for by bytes of
the pickle.
"""

from __future__ import annotations

import pickle
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

from .._opgrid import device, dtype, layout
from .._size import Size

_LONGEST_KEY = 1000
_PLAIN = frozenset([str, int, float, complex, bool, bytes, type(None), dtype, device, layout])


class Allowed:
    """A function that pickles may call. It is called with the machine and the arguments."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function


def refused(text: str) -> pickle.UnpicklingError:
    """The error for what is not read."""
    return pickle.UnpicklingError(f"load(): {text}")


class Unpickler:
    """Reads one pickle of ``data``, from ``position`` on; afterwards ``position`` is behind it.

    ``find(module, name)`` gives what a name stands for: an `Allowed`, or a value. ``persistent(id)`` gives what stands
    outside of the pickle. ``room`` is how many bytes tensors may take beside their storages.
    """

    def __init__(
        self,
        data: memoryview,
        find: Callable[[str, str], Any],
        persistent: Callable[[Any], Any],
        position: int = 0,
        room: int = 0,
    ) -> None:
        self.position = position
        self._data = data
        self._find = find
        self._persistent = persistent
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._credit = 2 * len(data) + 1000
        self._room = room

    def load(self) -> Any:
        """The value of the pickle."""
        while True:
            code = self._take(1)
            if code == b".":
                if len(self._stack) != 1 or self._marks:
                    raise refused("the pickle ends with an incomplete value")
                return self._stack.pop()
            step = _STEPS.get(code)
            if step is None:
                raise refused(
                    f"found instruction {code!r} at {self.position - 1}, which pickles of tensors and containers do not need"
                )
            step(self)

    def spend(self, count: int) -> None:
        """Pays for elements that are copied. A pickle that copies more than it has bytes is refused."""
        self._credit -= count
        if self._credit < 0:
            raise refused("the pickle makes containers that are much larger than itself")

    def allocate(self, size: int) -> None:
        """Pays for the bytes of a tensor that has memory of its own, beside that of the storages."""
        self._room -= size
        if self._room < 0:
            raise refused("the tensors that are copied, since they are conjugate or negative, are much larger than the file")

    def checked_key(self, key: Any) -> Any:
        """A key of a dict, or an element of a set: a plain value, or a small tuple of these.

        The hash of nested tuples that occur in each other often takes forever.
        """
        waiting, seen = [key], 0
        while waiting:
            one = waiting.pop()
            seen += 1
            if type(one) in (tuple, Size) and seen < _LONGEST_KEY:
                waiting.extend(one)
            elif type(one) not in _PLAIN or seen + len(waiting) >= _LONGEST_KEY:
                raise refused(f"found a key of class {type(key).__name__}, expected text, a number, or a small tuple of these")
        return key

    def _take(self, size: int) -> bytes:
        end = self.position + size
        if size < 0 or end > len(self._data):
            raise refused(f"the pickle is truncated: found {len(self._data) - self.position} bytes, expected {size}")
        taken = bytes(self._data[self.position : end])
        self.position = end
        return taken

    def _number(self, layout: str) -> Any:
        return struct.unpack(layout, self._take(struct.calcsize(layout)))[0]

    def _line(self) -> str:
        window = bytes(self._data[self.position : self.position + 1000])
        end = window.find(b"\n")
        if end < 0:
            raise refused("found a name without an end")
        return self._text(self._take(end + 1)[:-1])

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise refused("found text that is not in UTF-8") from None

    def push(self, value: Any) -> None:
        """Puts a value on the stack."""
        self._stack.append(value)

    def _pop(self) -> Any:
        if len(self._stack) <= (self._marks[-1] if self._marks else 0):
            raise refused("the pickle takes a value that is not there")
        return self._stack.pop()

    def _top(self) -> Any:
        value = self._pop()
        self._stack.append(value)
        return value

    def _since_mark(self) -> list[Any]:
        if not self._marks:
            raise refused("the pickle takes values that are not there")
        begin = self._marks.pop()
        values = self._stack[begin:]
        del self._stack[begin:]
        return values

    def _tuple(self, size: int) -> None:
        values = [self._pop() for _ in range(size)]
        self.push(tuple(reversed(values)))

    def _extend(self, values: list[Any]) -> None:
        target = self._top()
        if type(target) is not list:
            raise refused(f"the pickle appends to a value of class {type(target).__name__}, expected a list")
        target.extend(values)

    def _set_items(self, values: list[Any]) -> None:
        target = self._top()
        if type(target) not in (dict, OrderedDict, Counter) or len(values) % 2:
            raise refused(f"the pickle sets items of a value of class {type(target).__name__}, expected a dict")
        for key, value in zip(values[::2], values[1::2], strict=True):
            target[self.checked_key(key)] = value

    def _set_item(self) -> None:
        value, key = self._pop(), self._pop()
        self._set_items([key, value])

    def _add_items(self, values: list[Any]) -> None:
        target = self._top()
        if type(target) is not set:
            raise refused(f"the pickle adds to a value of class {type(target).__name__}, expected a set")
        target.update(self.checked_key(value) for value in values)

    def _call(self) -> None:
        arguments, function = self._pop(), self._pop()
        if not isinstance(function, Allowed) or type(arguments) is not tuple:
            raise refused(f"the pickle calls a value of class {type(function).__name__}")
        try:
            self.push(function.function(self, *arguments))
        except pickle.UnpicklingError:
            raise
        except Exception as error:
            # Wrong arguments are no more than a broken file, whatever they did.
            raise refused(f"{function.name} does not take these arguments: {error}") from error

    def _build(self) -> None:
        """Attributes of a dict: ``_metadata`` of state dicts."""
        state, target = self._pop(), self._top()
        if type(target) is not OrderedDict or type(state) is not dict:
            raise refused(f"the pickle sets attributes of a value of class {type(target).__name__}")
        for name in state:
            if type(name) is not str or hasattr(OrderedDict, name):
                raise refused(f"the pickle sets attribute {name!r} of a dict")
        vars(target).update(state)

    def _global(self, module: str, name: str) -> None:
        self.push(self._find(module, name))

    def _stack_global(self) -> None:
        name, module = self._pop(), self._pop()
        if type(name) is not str or type(module) is not str:
            raise refused("the pickle names a function by what is no text")
        self._global(module, name)

    def _remember(self, index: int) -> None:
        self._memo[index] = self._top()

    def _recall(self, index: int) -> None:
        if index not in self._memo:
            raise refused(f"the pickle refers to value {index}, which is not there")
        self.push(self._memo[index])

    def _protocol(self) -> None:
        found = self._number("<B")
        if found > 5:
            raise refused(f"found protocol {found} of pickles, expected at most 5")


def _pushes(read: Callable[[Unpickler], Any]) -> Callable[[Unpickler], None]:
    return lambda m: m.push(read(m))


def _long(m: Unpickler, layout: str) -> int:
    size = m._number(layout)
    if size > 1024:
        raise refused(f"found an integer of {size} bytes, expected at most 1024")
    return int.from_bytes(m._take(size), "little", signed=True)


_STEPS: dict[bytes, Callable[[Unpickler], Any]] = {
    b"\x80": lambda m: m._protocol(),
    b"\x95": lambda m: m._take(8),
    b"(": lambda m: m._marks.append(len(m._stack)),
    b"0": lambda m: m._pop(),
    b"1": lambda m: m._since_mark(),
    b"N": _pushes(lambda m: None),
    b"\x88": _pushes(lambda m: True),
    b"\x89": _pushes(lambda m: False),
    b"K": _pushes(lambda m: m._number("<B")),
    b"M": _pushes(lambda m: m._number("<H")),
    b"J": _pushes(lambda m: m._number("<i")),
    b"\x8a": _pushes(lambda m: _long(m, "<B")),
    b"\x8b": _pushes(lambda m: _long(m, "<i")),
    b"G": _pushes(lambda m: m._number(">d")),
    b"X": _pushes(lambda m: m._text(m._take(m._number("<I")))),
    b"\x8c": _pushes(lambda m: m._text(m._take(m._number("<B")))),
    b"\x8d": _pushes(lambda m: m._text(m._take(m._number("<Q")))),
    b"U": _pushes(lambda m: m._text(m._take(m._number("<B")))),
    b"T": _pushes(lambda m: m._text(m._take(m._number("<i")))),
    b"C": _pushes(lambda m: m._take(m._number("<B"))),
    b"B": _pushes(lambda m: m._take(m._number("<I"))),
    b"\x8e": _pushes(lambda m: m._take(m._number("<Q"))),
    b")": _pushes(lambda m: ()),
    b"\x85": lambda m: m._tuple(1),
    b"\x86": lambda m: m._tuple(2),
    b"\x87": lambda m: m._tuple(3),
    b"t": _pushes(lambda m: tuple(m._since_mark())),
    b"]": _pushes(lambda m: []),
    b"l": _pushes(lambda m: m._since_mark()),
    b"a": lambda m: m._extend([m._pop()]),
    b"e": lambda m: m._extend(m._since_mark()),
    b"}": _pushes(lambda m: {}),
    b"s": lambda m: m._set_item(),
    b"u": lambda m: m._set_items(m._since_mark()),
    b"\x8f": _pushes(lambda m: set()),
    b"\x90": lambda m: m._add_items(m._since_mark()),
    b"q": lambda m: m._remember(m._number("<B")),
    b"r": lambda m: m._remember(m._number("<I")),
    b"\x94": lambda m: m._remember(len(m._memo)),
    b"h": lambda m: m._recall(m._number("<B")),
    b"j": lambda m: m._recall(m._number("<I")),
    b"c": lambda m: m._global(m._line(), m._line()),
    b"\x93": lambda m: m._stack_global(),
    b"R": lambda m: m._call(),
    b"b": lambda m: m._build(),
    b"Q": lambda m: m.push(m._persistent(m._pop())),
}
"""The instructions that are followed. All others, such as those that make objects of classes, are refused."""
