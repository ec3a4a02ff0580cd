"""Trees: taken apart, put together, mapped, and said as text."""

from collections import OrderedDict, defaultdict, deque, namedtuple

import opgrid as og
import pytest
from opgrid.utils import _pytree as pytree

Pair = namedtuple("Pair", "a b")

TREES = {
    "a leaf": 1,
    "nothing": None,
    "lists": [1, [2, []], 3],
    "tuples": (1, (2,), ()),
    "dicts": {"b": 1, "a": {"c": 2}},
    "ordered": OrderedDict(x=1, y=[2]),
    "defaults": defaultdict(list, {"q": 7}),
    "deque": deque([1, [2]], maxlen=3),
    "named": Pair(1, [2]),
}


@pytest.mark.parametrize("name", TREES)
def test_a_tree_is_put_together_again(name):
    tree = TREES[name]
    leaves, spec = pytree.tree_flatten(tree)
    again = pytree.tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree)
    assert spec == pytree.tree_structure(tree) and hash(spec) == hash(pytree.tree_structure(tree))
    assert spec.num_leaves == len(leaves) and pytree.tree_leaves(tree) == list(pytree.tree_iter(tree)) == leaves
    assert pytree.tree_map(lambda x: x, tree) == tree
    with_path, _ = pytree.tree_flatten_with_path(tree)
    assert [pytree.key_get(tree, path) for path, _ in with_path] == leaves
    if name not in ("defaults", "named"):
        assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec


def test_results_of_operators_are_nodes():
    largest = og.max(og.tensor([[1.0, 3.0]]), 1)
    doubled = pytree.tree_map(lambda x: x * 2, largest)
    assert type(doubled) is type(largest) and doubled.values.tolist() == [6.0] and doubled.indices.tolist() == [2]
    assert pytree.is_structseq(largest) and not pytree.is_namedtuple(largest) and pytree.is_namedtuple(Pair)


def test_text():
    spec = pytree.tree_structure({"a": [1, Pair(2, 3)], "b": 4})
    assert repr(spec) == (
        "TreeSpec(dict, ['a', 'b'], [TreeSpec(list, None, [*,\n"
        "    TreeSpec(namedtuple, <class 'test_pytree.Pair'>, [*,\n"
        "      *])]),\n"
        "  *])"
    )
    assert pytree.treespec_pprint(spec) == "{'a': [*, Pair(a=*, b=*)], 'b': *}"
    paths = [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path({"a": [1, Pair(2, 3)]})]
    assert paths == ["['a'][0]", "['a'][1].a", "['a'][1].b"]
    assert pytree.treespec_dumps(pytree.tree_structure([1])) == (
        '[1, {"type": "builtins.list", "context": "null", "children_spec": [{"type": null, "context": null, "children_spec": []}]}]'
    )


def test_maps():
    assert pytree.tree_map(lambda a, b: (a, b), [1, 2], [[1, 2], 3]) == [(1, [1, 2]), (2, 3)]
    assert pytree.tree_map(lambda a, b: a + b, {"b": 1, "a": 2}, {"a": 3, "b": 4}) == {"b": 5, "a": 5}
    assert pytree.tree_map_only(int, lambda x: x + 1, [1, "a", 2.0]) == [2, "a", 2.0]
    assert pytree.tree_map_only(int | float, lambda x: x + 1, [1, "a", 2.0]) == [2, "a", 3.0]
    assert pytree.tree_map_only(lambda x: x == 1, lambda x: x + 1, [1, 2]) == [2, 2]
    seen = []
    tree = [1, "a"]
    assert pytree.tree_map_only_(int, seen.append, tree) is tree and pytree.tree_map_(seen.append, tree) is tree
    assert seen == [1, 1, "a"]
    assert pytree.tree_map_with_path(lambda path, x: pytree.keystr(path) + str(x), {"a": [1]}) == {"a": ["['a'][0]1"]}
    assert pytree.tree_all(bool, [1, [2]]) and not pytree.tree_any(lambda x: x > 2, [1, [2]])
    assert pytree.tree_all_only(int, lambda x: x > 0, [1, "a"]) and not pytree.tree_any_only(str, lambda x: x == "b", [1, "a"])
    assert pytree.tree_leaves([[1, 2], 3], is_leaf=lambda x: x == [1, 2]) == [[1, 2], 3]
    assert pytree.arg_tree_leaves(1, [2], a=3) == [1, 2, 3]


def test_classes_of_users_are_nodes():
    class Point:
        def __init__(self, x, y, name):
            self.x, self.y, self.name = x, y, name

    tree = [Point(1, 2, "p")]
    assert pytree.tree_leaves(tree) == tree
    pytree.register_pytree_node(
        Point,
        lambda point: ([point.x, point.y], point.name),
        lambda children, name: Point(*children, name),
        serialized_type_name="test.Point",
        flatten_with_keys_fn=lambda point: ([(pytree.GetAttrKey("x"), point.x), (pytree.GetAttrKey("y"), point.y)], point.name),
    )
    try:
        (moved,) = pytree.tree_map(lambda x: x + 1, tree)
        assert (moved.x, moved.y, moved.name) == (2, 3, "p")
        assert pytree.keystr(pytree.tree_leaves_with_path(tree)[1][0]) == "[0].y"
        spec = pytree.tree_structure(tree)
        assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
        with pytest.raises(ValueError, match="already registered"):
            pytree.register_pytree_node(Point, lambda x: ([], None), lambda x, c: None)
    finally:
        del pytree.SUPPORTED_NODES[Point]


MISTAKES = {
    "has length 1 but the spec refers to a pytree that holds 2": lambda: pytree.tree_unflatten([1], pytree.tree_structure([1, 2])),
    "Node arity mismatch; expected 2, but got 1": lambda: pytree.tree_map(max, [1, 2], [1]),
    "Node type mismatch; expected <class 'list'>, but got <class 'tuple'>": lambda: pytree.tree_map(max, [1, 2], (1, 2)),
    "missing key.s.: {'a'}; extra key.s.: {'b'}": lambda: pytree.tree_map(max, {"a": 1}, {"b": 1}),
    "expected <class 'test_pytree.Pair'>": lambda: pytree.tree_map(max, Pair(1, 2), namedtuple("Other", "a b")(1, 2)),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_are_named(text):
    with pytest.raises(ValueError, match=text):
        MISTAKES[text]()


def test_what_is_no_structure():
    with pytest.raises(TypeError, match="instance of PyTreeSpec"):
        pytree.tree_unflatten([1], 3)
    with pytest.raises(NotImplementedError, match="without a serialized_type_name"):
        pytree.treespec_dumps(pytree.tree_structure(Pair(1, 2)))
    with pytest.raises(NotImplementedError, match="'test.Unknown'"):
        pytree.treespec_loads('[1, {"type": "test.Unknown", "context": "null", "children_spec": []}]')
