"""Which classes are nodes of trees: their children, and how an object is made of other children."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..return_types import Results  # type: ignore[attr-defined]

Context = Any
"""What a node keeps beside its children."""
DumpableContext = Any
"""What JSON can hold of it."""
FlattenFn = Callable[[Any], tuple[list[Any], Context]]
UnflattenFn = Callable[[Iterable[Any], Context], Any]
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]


class SequenceKey(NamedTuple):
    """The place of a child in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, parent: Any) -> Any:
        """The child at this place."""
        return parent[self.idx]


class MappingKey(NamedTuple):
    """The key of a child in a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, parent: Any) -> Any:
        """The child with this key."""
        return parent[self.key]


class GetAttrKey(NamedTuple):
    """The attribute that a child is."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, parent: Any) -> Any:
        """The attribute."""
        return getattr(parent, self.name)


class NodeDef(NamedTuple):
    """How objects of a class are taken apart and put together, and what the class is called in files."""

    type: Any
    flatten_fn: FlattenFn
    unflatten_fn: UnflattenFn
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Context]] | None = None
    serialized_type_name: str | None = None
    to_dumpable_context: ToDumpableContextFn = lambda context: context
    from_dumpable_context: FromDumpableContextFn = lambda context: context

    def keys(self, tree: Any, children: list[Any]) -> list[Any]:
        """The places of the children of an object."""
        if self.flatten_with_keys_fn is None:
            raise ValueError(
                f"{self.type.__name__} was registered without flatten_with_keys_fn, which says what places of its children are called"
            )
        return [key for key, _ in self.flatten_with_keys_fn(tree)[0]]


SUPPORTED_NODES: dict[Any, NodeDef] = {}
"""The classes that are nodes. All other objects are leaves."""


def register_pytree_node(
    cls: Any,
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Context]] | None = None,
) -> None:
    """Makes objects of a class nodes of trees.

    ``flatten_fn(tree)`` returns the children and what else the object consists of, ``unflatten_fn(children, context)`` an object.
    ``flatten_with_keys_fn`` returns pairs of keys and children, for paths; functions for contexts and a name are for files.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"{cls}: to_dumpable_context and from_dumpable_context are given together, or neither is")
    conversions = (to_dumpable_context, from_dumpable_context) if to_dumpable_context and from_dumpable_context else ()
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn, serialized_type_name, *conversions)


def _mapping(kind: type, unflatten_fn: UnflattenFn, context: Callable[[Any], Context] = list) -> None:
    """Registers a class of mappings, whose context has the keys."""
    register_pytree_node(
        kind,
        lambda tree: (list(tree.values()), context(tree)),
        unflatten_fn,
        serialized_type_name=f"{kind.__module__}.{kind.__qualname__}",
        flatten_with_keys_fn=lambda tree: ([(MappingKey(key), value) for key, value in tree.items()], context(tree)),
    )


def _sequence(kind: Any, unflatten_fn: UnflattenFn, context: Callable[[Any], Context], name: str | None = None) -> None:
    """Registers a class of sequences."""
    register_pytree_node(
        kind,
        lambda tree: (list(tree), context(tree)),
        unflatten_fn,
        serialized_type_name=name or f"{kind.__module__}.{kind.__qualname__}",
        flatten_with_keys_fn=lambda tree: ([(SequenceKey(place), value) for place, value in enumerate(tree)], context(tree)),
    )


class namedtuple:
    """Stands for all classes of named tuples, whose context is the class."""


_sequence(tuple, lambda children, _: tuple(children), lambda _: None)
_sequence(list, lambda children, _: list(children), lambda _: None)
_sequence(deque, lambda children, maxlen: deque(children, maxlen=maxlen), lambda tree: tree.maxlen)
_mapping(dict, lambda children, keys: dict(zip(keys, children, strict=True)))
_mapping(OrderedDict, lambda children, keys: OrderedDict(zip(keys, children, strict=True)))
_mapping(
    defaultdict,
    lambda children, context: defaultdict(context[0], zip(context[1], children, strict=True)),
    lambda tree: [tree.default_factory, list(tree)],
)
register_pytree_node(
    namedtuple,
    lambda tree: (list(tree), type(tree)),
    lambda children, kind: kind(*children),
    flatten_with_keys_fn=lambda tree: ([(GetAttrKey(name), getattr(tree, name)) for name in tree._fields], type(tree)),
)


def is_structseq_class(cls: Any) -> bool:
    """Whether a class is one of the results with names that operators return, as ``opgrid.return_types.max``."""
    return isinstance(cls, type) and issubclass(cls, Results)


def is_structseq_instance(obj: object) -> bool:
    """Whether an object is a result with names, as ``og.max(x, 0)`` returns it."""
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether an object or a class is that of a result with names."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_class(cls: Any) -> bool:
    """Whether a class is one of named tuples."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields") and not is_structseq_class(cls)


def is_namedtuple_instance(obj: object) -> bool:
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: Any) -> bool:
    """Whether an object or a class is that of named tuples."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def node_type(tree: Any) -> Any:
    """The class under which an object is a node, and otherwise its own class."""
    kind = type(tree)
    if kind in SUPPORTED_NODES or not issubclass(kind, tuple):
        return kind
    if is_structseq_class(kind):
        # These classes are made when an operator first returns one.
        _sequence(kind, lambda children, _: kind(children), lambda _: None)
        return kind
    return namedtuple if is_namedtuple_class(kind) else kind
