"""Structures of trees, also as JSON."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Any

from ._pytree_nodes import SUPPORTED_NODES, Context, node_type

class TreeSpec:
    """The structure of a tree: the class of a node, what it keeps beside its children, and the structures of these."""

    __slots__ = ("_children", "context", "num_leaves", "num_nodes", "type")

    type: Any
    context: Context
    num_nodes: int
    num_leaves: int

    def __init__(self, type: Any, context: Context, children_specs: Iterable[TreeSpec]) -> None:
        self.type, self.context, self._children = type, context, list(children_specs)
        self.num_nodes = 1 + sum(child.num_nodes for child in self._children)
        self.num_leaves = 1 if type is None else sum(child.num_leaves for child in self._children)

    @property
    def num_children(self) -> int:
        """The number of children."""
        return len(self._children)

    def is_leaf(self) -> bool:
        """Whether the tree is a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The structures of the children."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """The structure of one child."""
        return self._children[index]

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of a tree that stand where this structure has leaves."""
        parts: list[Any] = []
        self._collect(tree, parts)
        return parts

    def _collect(self, tree: Any, parts: list[Any]) -> None:
        if self.is_leaf():
            parts.append(tree)
            return
        kind = node_type(tree)
        if kind is not self.type:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind!r}.")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if isinstance(tree, dict):
            # The order of keys is that of this structure.
            keys = self.context[1] if kind is defaultdict else self.context
            if keys != list(tree) and set(keys) != set(tree):
                missing, extra = set(keys) - set(tree), set(tree) - set(keys)
                raise ValueError(f"Node keys mismatch; missing key(s): {missing}; extra key(s): {extra}.")
            children = [tree[key] for key in keys]
        elif len(children) != len(self._children):
            raise ValueError(f"Node arity mismatch; expected {len(self._children)}, but got {len(children)}.")
        elif context != self.context and kind is not deque:  # which may have another limit
            raise ValueError(f"Node context mismatch for node type {kind!r}; expected {self.context!r}, but got {context!r}.")
        for child, part in zip(self._children, children, strict=True):
            child._collect(part, parts)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with other leaves."""
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers to a pytree that holds "
                f"{self.num_leaves} items ({self})."
            )
        return self._build(iter(given))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.is_leaf():
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn([child._build(leaves) for child in self._children], self.context)

    def _parts(self) -> tuple[Any, Any, list[TreeSpec]]:
        return self.type, self.context, self._children

    def __eq__(self, other: object) -> bool:
        return self._parts() == other._parts() if isinstance(other, TreeSpec) else NotImplemented

    def __hash__(self) -> int:
        # What a node keeps may have no hash.
        return hash((self.type, tuple(self._children)))

    def __repr__(self) -> str:
        return self._text(2)

    def _text(self, indent: int) -> str:
        if self.is_leaf():
            return "*"
        children = f",\n{' ' * indent}".join(child._text(indent + 2) for child in self._children)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"


PyTreeSpec = TreeSpec


def LeafSpec() -> TreeSpec:
    """The structure of a leaf."""
    return TreeSpec(None, None, [])


_PROTOCOL = 1


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as JSON. Classes need a ``serialized_type_name``, which those of Python have."""
    if protocol not in (None, _PROTOCOL):
        raise ValueError(f"treespec_dumps(): the protocol is {protocol}, expected {_PROTOCOL}")
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"treespec_dumps(): expected a TreeSpec, found {type(treespec).__name__}")
    return json.dumps([_PROTOCOL, _to_schema(treespec)])


def _to_schema(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    node = SUPPORTED_NODES[spec.type]
    if node.serialized_type_name is None:
        raise NotImplementedError(f"treespec_dumps(): {spec.type.__name__} was registered without a serialized_type_name")
    context = json.dumps(node.to_dumpable_context(spec.context))
    return {"type": node.serialized_type_name, "context": context, "children_spec": [_to_schema(child) for child in spec.children()]}


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure of a text of `treespec_dumps`."""
    protocol, schema = json.loads(serialized)
    if protocol != _PROTOCOL:
        raise ValueError(f"treespec_loads(): the protocol is {protocol}, expected {_PROTOCOL}")
    return _from_schema(schema)


def _from_schema(schema: dict[str, Any]) -> TreeSpec:
    name = schema["type"]
    if name is None:
        return LeafSpec()
    node = next((node for node in SUPPORTED_NODES.values() if node.serialized_type_name == name), None)
    if node is None:
        raise NotImplementedError(f"treespec_loads(): no node is registered under the name {name!r}; call register_pytree_node()")
    context = node.from_dumpable_context(json.loads(schema["context"]))
    return TreeSpec(node.type, context, [_from_schema(child) for child in schema["children_spec"]])
