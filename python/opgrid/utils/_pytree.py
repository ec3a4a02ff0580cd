"""Trees of lists, tuples, dicts and classes of users: flattened to a list of leaves and their structure, and put together again.

>>> from opgrid.utils import _pytree as pytree
>>> leaves, structure = pytree.tree_flatten({"a": [1, 2], "b": 3})
>>> leaves
[1, 2, 3]
>>> pytree.tree_unflatten([10, 20, 30], structure)
{'a': [10, 20], 'b': 30}
>>> pytree.tree_map(lambda x: x + 1, (1, [2]))
(2, [3])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import UnionType
from typing import Any

from ._pytree_nodes import (
    SUPPORTED_NODES,
    Context,
    DumpableContext,
    FlattenFn,
    FromDumpableContextFn,
    GetAttrKey,
    MappingKey,
    NodeDef,
    SequenceKey,
    ToDumpableContextFn,
    UnflattenFn,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    node_type,
    register_pytree_node,
)
from ._pytree_spec import LeafSpec, PyTreeSpec, TreeSpec, treespec_dumps, treespec_loads

__all__ = [
    "SUPPORTED_NODES",
    "Context",
    "DumpableContext",
    "FlattenFn",
    "FromDumpableContextFn",
    "GetAttrKey",
    "LeafSpec",
    "MappingKey",
    "NodeDef",
    "PyTree",
    "PyTreeSpec",
    "SequenceKey",
    "ToDumpableContextFn",
    "TreeSpec",
    "UnflattenFn",
    "arg_tree_leaves",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]

PyTree = Any
_IsLeaf = Callable[[Any], bool] | None
_Types = type | tuple[type, ...] | UnionType
_Path = tuple[Any, ...]


def tree_is_leaf(tree: PyTree, is_leaf: _IsLeaf = None) -> bool:
    """Whether a tree is a leaf: what `is_leaf` says is one, and every object whose class is no node."""
    return (is_leaf is not None and is_leaf(tree)) or node_type(tree) not in SUPPORTED_NODES


def _flatten(tree: PyTree, leaves: list[Any], is_leaf: _IsLeaf) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return LeafSpec()
    kind = node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_flatten(tree: PyTree, is_leaf: _IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree from left to right, and its structure."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of a structure with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: _IsLeaf = None) -> Iterator[Any]:
    """The leaves of a tree, one by one."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
    else:
        for child in SUPPORTED_NODES[node_type(tree)].flatten_fn(tree)[0]:
            yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: _IsLeaf = None) -> list[Any]:
    """The leaves of a tree."""
    return list(tree_iter(tree, is_leaf))


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of the arguments of a call."""
    return tree_leaves((args, kwargs))


def tree_structure(tree: PyTree, is_leaf: _IsLeaf = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: _IsLeaf = None) -> PyTree:
    """The tree of the results of a function of each leaf, and of the parts of other trees at the same place."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *(spec.flatten_up_to(rest) for rest in rests)))


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: _IsLeaf = None) -> PyTree:
    """Calls a function with each leaf, and returns the tree."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _predicate(types: _Types | Callable[[Any], bool]) -> Callable[[Any], bool]:
    if isinstance(types, (type, tuple, UnionType)):
        return lambda leaf: isinstance(leaf, types)
    return types


def tree_map_only(
    type_or_types_or_pred: _Types | Callable[[Any], bool], /, func: Callable[[Any], Any], tree: PyTree, is_leaf: _IsLeaf = None
) -> PyTree:
    """The tree with the results of a function in place of the leaves of some types, or of those that a function chooses."""
    chosen = _predicate(type_or_types_or_pred)
    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: _Types | Callable[[Any], bool], /, func: Callable[[Any], Any], tree: PyTree, is_leaf: _IsLeaf = None
) -> PyTree:
    """Calls a function with the leaves of some types, and returns the tree."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: _IsLeaf = None) -> bool:
    """Whether something is true of all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: _IsLeaf = None) -> bool:
    """Whether something is true of a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: _Types, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: _IsLeaf = None) -> bool:
    """Whether something is true of all leaves of some types."""
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(type_or_types: _Types, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: _IsLeaf = None) -> bool:
    """Whether something is true of a leaf of some types."""
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def _with_path(tree: PyTree, path: _Path, is_leaf: _IsLeaf) -> Iterator[tuple[_Path, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    node = SUPPORTED_NODES[node_type(tree)]
    children = node.flatten_fn(tree)[0]
    for key, child in zip(node.keys(tree, children), children, strict=True):
        yield from _with_path(child, (*path, key), is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: _IsLeaf = None) -> list[tuple[_Path, Any]]:
    """The leaves of a tree, each with the keys that lead to it."""
    return list(_with_path(tree, (), is_leaf))


def tree_flatten_with_path(tree: PyTree, is_leaf: _IsLeaf = None) -> tuple[list[tuple[_Path, Any]], TreeSpec]:
    """The leaves of a tree, each with the keys that lead to it, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: _IsLeaf = None) -> PyTree:
    """The tree of the results of a function of the path of each leaf, the leaf, and the parts of other trees at that place."""
    with_path, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [path for path, _ in with_path], [leaf for _, leaf in with_path]
    return spec.unflatten(map(func, paths, leaves, *(spec.flatten_up_to(rest) for rest in rests)))


def keystr(kp: _Path) -> str:
    """The text of a path, as ``['a'][0].b``."""
    return "".join(str(key) for key in kp)


def key_get(obj: Any, kp: _Path) -> Any:
    """The part of a tree that a path leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


class _Star:
    """The text of a leaf."""

    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The structure as a tree with stars for leaves."""
    return repr(treespec.unflatten([_Star()] * treespec.num_leaves))
