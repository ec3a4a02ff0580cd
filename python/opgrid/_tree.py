"""Nested values: tuples, named tuples, lists and dicts, whose leaves are all else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Tree", "flatten", "broadcast"]


class Tree:
    """How a value is nested."""

    def __init__(self, value: Any, leaves: list[Any]) -> None:
        """Appends the leaves of the value."""
        self._below: list[Tree] = []
        self._keys: list[Any] = []
        self._make: Callable[[list[Any]], Any] | None
        self.kind: str
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            self._make, self.kind, items = lambda all: type(value)(*all), type(value).__name__, list(value)
        elif isinstance(value, tuple):
            self._make, self.kind, items = tuple, "tuple", list(value)
        elif isinstance(value, list):
            self._make, self.kind, items = list, "list", value
        elif isinstance(value, dict):
            keys = list(value)
            self._make, self.kind, items = lambda all: type(value)(zip(keys, all)), "dict", list(value.values())
            self._keys = keys
        elif value is None:
            self._make, self.kind, items = lambda all: None, "None", []
        else:
            self._make, self.kind, items = None, "leaf", []
            leaves.append(value)
        self._below = [Tree(item, leaves) for item in items]

    def nest(self, leaves: Iterator[Any]) -> Any:
        """The leaves, nested so."""
        if self._make is None:
            return next(leaves)
        return self._make([tree.nest(leaves) for tree in self._below])

    def spread(self, value: Any, into: list[Any], where: str) -> None:
        """Appends one item for each leaf: of a value that is nested so, or for all leaves below where it is not nested."""
        if not isinstance(value, (tuple, list, dict)) or self._make is None:
            into.extend([value] * self.count())
            return
        items = list(value.values()) if isinstance(value, dict) else list(value)
        if len(items) != len(self._below):
            raise ValueError(f"{where}: found {len(items)} items for a {self.kind} of {len(self._below)}, expected one for each")
        if isinstance(value, dict):
            items = [value[key] for key in self._keys]
        for item, tree in zip(items, self._below):
            tree.spread(item, into, where)

    def count(self) -> int:
        """How many leaves there are."""
        return 1 if self._make is None else sum(tree.count() for tree in self._below)


def flatten(value: Any) -> tuple[list[Any], Tree]:
    """The leaves of a value, and how it is nested."""
    leaves: list[Any] = []
    tree = Tree(value, leaves)
    return leaves, tree


def broadcast(value: Any, tree: Tree, where: str) -> list[Any]:
    """One item for each leaf of the tree."""
    items: list[Any] = []
    tree.spread(value, items, where)
    return items
