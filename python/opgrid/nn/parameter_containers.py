"""Containers of parameters: lists and dicts."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import Any, NoReturn, Self

from .._opgrid import TensorBase
from .module import Module
from .parameter import Parameter


def _described(key: Any, value: Any, dtype_of: Any) -> str:
    """The line of ``repr`` for an element."""
    if not isinstance(value, TensorBase):
        return f"  ({key}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(size) for size in value.shape)
    return f"  ({key}): {kind} containing: [{dtype_of(value)} of size {size}]"


class _Container(Module):
    """Elements as attributes, of which tensors become parameters. It has no ``forward``."""

    def _put(self, name: str, value: Any) -> None:
        if isinstance(value, TensorBase) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{type(self).__name__} should not be called.")


class ParameterList(_Container):
    """A list of parameters. Tensors become parameters; other objects are kept as they are."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _at(self, index: Any) -> str:
        place = operator.index(index)
        if not -len(self) <= place < len(self):
            raise IndexError(f"index {place} is out of range for ParameterList of {len(self)} elements")
        return str(place % len(self))

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(self[place] for place in range(*index.indices(len(self))))
        return getattr(self, self._at(index))

    def __setitem__(self, index: int, value: Any) -> None:
        self._put(self._at(index), value)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value: Any) -> Self:
        """Adds an element at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Adds elements at the end."""
        if not isinstance(values, Iterable) or isinstance(values, TensorBase):
            raise TypeError(f"ParameterList.extend: expected an iterable of parameters, found {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(_described(place, value, lambda x: x.dtype) for place, value in enumerate(self))


class ParameterDict(_Container):
    """A dict of parameters. Tensors become parameters; other objects are kept as they are."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"ParameterDict: expected keys of class str, found {type(key).__name__}")
        self._keys[key] = None
        self._put(key, value)

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Another dict of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The element of a key, which is added if it is missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Removes all elements."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Removes an element and returns it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Removes the last element and returns it with its key."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The element of a key, or ``default`` if there is none."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dict with one value for all keys."""
        return ParameterDict([(key, default) for key in keys])

    def keys(self) -> KeysView[str]:
        """The keys."""
        return self._keys.keys()

    def values(self) -> Iterable[Any]:
        """The elements."""
        return (self[key] for key in self._keys)

    def items(self) -> Iterable[tuple[str, Any]]:
        """Keys and elements."""
        return ((key, self[key]) for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Adds elements of a mapping or of pairs. Keys of a plain dict are sorted, as in torch."""
        if not isinstance(parameters, (Iterable, ParameterDict)):
            raise TypeError(f"ParameterDict.update: expected a mapping or pairs, found {type(parameters).__name__}")
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs: Iterable[Any] = parameters.items()
        else:
            pairs = sorted(parameters.items()) if isinstance(parameters, Mapping) else parameters
        for place, pair in enumerate(pairs):
            if not isinstance(pair, Iterable):
                raise TypeError(f"ParameterDict.update: element {place} is of class {type(pair).__name__}, expected a pair")
            found = list(pair)
            if len(found) != 2:
                raise ValueError(f"ParameterDict.update: element {place} has {len(found)} parts, expected a pair")
            self[found[0]] = found[1]

    def __or__(self, other: ParameterDict) -> ParameterDict:
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        joined = other.copy()
        joined.update(self)
        return joined

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return "\n".join(_described(key, value, lambda x: x.type()) for key, value in self.items())
