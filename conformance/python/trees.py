"""Compares opgrid.utils._pytree with torch.utils._pytree."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any

import opgrid.utils._pytree
import torch.utils._pytree
from beside import Comparison

Pair = namedtuple("Pair", "a b")

TREES: dict[str, Any] = {
    "leaf": 1,
    "nothing": None,
    "lists": [1, [2, []], 3],
    "tuples": (1, (2,), ()),
    "dicts": {"b": 1, "a": {"c": 2}},
    "ordered": OrderedDict(x=1, y=[2]),
    "defaults": defaultdict(list, {"q": 7}),
    "deque": deque([1, [2]], maxlen=3),
    "named": Pair(1, [2]),
    "all": {"a": [1, (2, Pair(3, 4))], "b": OrderedDict(x=deque([5]))},
}

OF_TREES: dict[str, Callable[[Any, Any], Any]] = {
    "leaves": lambda t, tree: t.tree_leaves(tree),
    "structure": lambda t, tree: repr(t.tree_structure(tree)),
    "pretty": lambda t, tree: t.treespec_pprint(t.tree_structure(tree)),
    "counts": lambda t, tree: [getattr(t.tree_structure(tree), name) for name in ("num_nodes", "num_leaves", "num_children")],
    "again": lambda t, tree: repr(t.tree_unflatten(*t.tree_flatten(tree))),
    "doubled": lambda t, tree: repr(t.tree_map(lambda x: (x, x), tree)),
    "numbers": lambda t, tree: repr(t.tree_map_only(int, lambda x: x + 1, tree)),
    "paths": lambda t, tree: [t.keystr(path) for path, _ in t.tree_leaves_with_path(tree)],
    "by paths": lambda t, tree: repr(t.tree_map_with_path(lambda path, x: t.keystr(path), tree)),
    "JSON": lambda t, tree: t.treespec_dumps(t.tree_structure(tree)),
    "of JSON": lambda t, tree: repr(t.treespec_loads(t.treespec_dumps(t.tree_structure(tree)))),
    "is leaf": lambda t, tree: t.tree_is_leaf(tree),
    "all": lambda t, tree: t.tree_all(lambda x: x is None or x > 0, tree),
    "any": lambda t, tree: t.tree_any_only(int, lambda x: x > 2, tree),
    "lists are leaves": lambda t, tree: repr(t.tree_leaves(tree, is_leaf=lambda x: isinstance(x, list))),
}

OTHERS: dict[str, Callable[[Any], Any]] = {
    "several trees": lambda t: t.tree_map(lambda a, b: (a, b), [1, 2], [[1, 2], 3]),
    "order of keys": lambda t: t.tree_map(lambda a, b: (a, b), {"b": 1, "a": 2}, {"a": 3, "b": 4}),
    "order of keys in structures": lambda t: t.tree_structure({"b": 1, "a": 2}) == t.tree_structure({"a": 1, "b": 2}),
    "arguments": lambda t: t.arg_tree_leaves(1, [2], a=3),
    "another length": lambda t: t.tree_map(max, [1, 2], [1]),
    "another class": lambda t: t.tree_map(max, [1, 2], (1, 2)),
    "other keys": lambda t: t.tree_map(max, {"a": 1}, {"b": 1}),
    "another maxlen": lambda t: t.tree_map(max, deque([1], maxlen=3), deque([1])),
    "too few leaves": lambda t: t.tree_unflatten([1], t.tree_structure([1, 2])),
    "no structure": lambda t: t.tree_unflatten([1], 3),
    "registered twice": lambda t: t.register_pytree_node(list, lambda x: (x, None), lambda x, context: x),
}

WANTED: dict[str, str] = {
    f"defaults: {what}": "torch writes the class of default values as text of its own; ours has to be given a conversion"
    for what in ("JSON", "of JSON")
}


def run(show: str | None = None) -> int:
    """Compares all, and returns the exit status."""
    compare = Comparison("trees", (torch.utils._pytree, opgrid.utils._pytree), WANTED, show)
    for title, tree in TREES.items():
        for fact, ask in OF_TREES.items():
            compare(f"{title}: {fact}", lambda t: ask(t, tree))
    for title, program in OTHERS.items():
        compare(title, program)
    for name in torch.utils._pytree.__all__:
        compare(f"name {name}", lambda t: hasattr(t, name))
    return compare.status()
