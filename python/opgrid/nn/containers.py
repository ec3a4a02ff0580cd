"""Containers of modules: sequences, lists and dicts."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self, overload

from .module import Module, _indented


class _Listed(Module):
    """Modules named 0, 1, 2 and so on."""

    def _at(self, index: int) -> str:
        count, place = len(self), operator.index(index)
        if not -count <= place < count:
            raise IndexError(f"index {place} is out of range for {type(self).__name__} of {count} modules")
        return list(self._own("_modules"))[place]

    def _set_all(self, modules: Iterable[Module]) -> None:
        every = list(modules)
        self._own("_modules").clear()
        for place, module in enumerate(every):
            self.register_module(str(place), module)

    @overload
    def __getitem__(self, index: slice) -> Self: ...
    @overload
    def __getitem__(self, index: int) -> Any: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._part(list(self._own("_modules").items())[index])
        return self._own("_modules")[self._at(index)]

    def _part(self, named: list[tuple[str, Module]]) -> Self:
        part = type(self)()
        part._set_all(module for _, module in named)
        return part

    def __setitem__(self, index: int, module: Module) -> None:
        self.register_module(self._at(index), module)

    def __delitem__(self, index: int | slice) -> None:
        modules = list(self._own("_modules").values())
        if not isinstance(index, slice):
            self._at(index)
        del modules[index]
        self._set_all(modules)

    def __len__(self) -> int:
        return len(self._own("_modules"))

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._own("_modules").values()))

    def append(self, module: Module) -> Self:
        """Adds a module at the end."""
        self.register_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Adds modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Inserts a module before an index."""
        modules = list(self)
        modules.insert(index, module)
        self._set_all(modules)
        return self

    def pop(self, index: int = -1) -> Any:
        """Removes a module and returns it."""
        module = self[index]
        del self[index]
        return module


class Sequential(_Listed):
    """Modules that are called one after another: ``Sequential(a, b)(x)`` is ``b(a(x))``. A dict names them."""

    def __init__(self, *modules: Module | Mapping[str, Module]) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            named: Iterable[tuple[str, Any]] = modules[0].items()
        else:
            named = ((str(place), module) for place, module in enumerate(modules))
        for name, module in named:
            self.register_module(name, module)

    def _part(self, named: list[tuple[str, Module]]) -> Self:
        # Names stay the same, also in the state dict.
        part = type(self)()
        for name, module in named:
            part.register_module(name, module)
        return part

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input


class ModuleList(_Listed):
    """A list of modules. It has no ``forward``."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __iadd__(self, other: Iterable[Module]) -> Self:
        return self.extend(other)

    def __repr__(self) -> str:
        # Consecutive modules with the same text are shown once, with their count.
        blocks: list[tuple[int, int, str]] = []
        for place, module in enumerate(self):
            text = repr(module)
            if blocks and blocks[-1][2] == text:
                blocks[-1] = (blocks[-1][0], place, text)
            else:
                blocks.append((place, place, text))
        children = []
        for first, last, text in blocks:
            names = f"{first}" if first == last else f"{first}-{last}"
            times = "" if first == last else f"{last - first + 1} x "
            children.append(f"({names}): {times}{_indented(text)}")
        return self._framed([], children)


class ModuleDict(Module):
    """A dict of modules. It has no ``forward``."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._own("_modules")[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.register_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._own("_modules")[key]

    def __len__(self) -> int:
        return len(self._own("_modules"))

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._own("_modules")))

    def __contains__(self, key: object) -> bool:
        return key in self._own("_modules")

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._own("_modules").keys()

    def values(self) -> Iterable[Any]:
        """The modules."""
        return self._own("_modules").values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and modules."""
        return self._own("_modules").items()

    def update(self, modules: Mapping[str, Module]) -> None:
        """Adds modules by name."""
        for name, module in modules.items():
            self[name] = module

    def pop(self, key: str) -> Any:
        """Removes a module and returns it."""
        return self._own("_modules").pop(key)

    def clear(self) -> None:
        """Removes all modules."""
        self._own("_modules").clear()
