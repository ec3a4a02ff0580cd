"""Overloads and packets are one object each, wherever they come from, and follow their operator's name."""

import copy
import pickle

import opgrid as og
import pytest
from opgrid import Tensor, library
from opgrid.library import Library

MM = og.ops.aten.mm.default


def in_a_mode(call):
    seen = []

    class Mode(og.DispatchMode):
        def __opgrid_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Mode():
        call()
    return seen


def in_a_class(call):
    seen = []

    class Wrapped(Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_dispatch__(func, types, args, kwargs)

    call(og.ones(2, 2).as_subclass(Wrapped))
    return seen


def in_a_fallback(call):
    seen = []
    key = og.DispatchKey("TESTING_ONLY_GenericMode")

    def fallback(op, *args, **kwargs):
        seen.append(op)
        with og.exclude(key):
            return op(*args, **kwargs)

    with Library("_", "IMPL") as lib:
        lib.fallback(fallback, key)
        with og.include(key):
            call()
    return seen


SOURCES = {
    "packet": lambda: [og.ops.aten.mm.default],
    "attribute of another packet object": lambda: [og._opgrid.packet("aten::mm").default],
    "name": lambda: [og._opgrid.overload_named("aten::mm")],
    "overloads of the function": lambda: og._opgrid.function_overloads("mm", False)[:1],
    "overloads of the method": lambda: og._opgrid.function_overloads("mm", True)[:1],
    "packet of the overload": lambda: [MM.overloadpacket.default],
    "mode": lambda: in_a_mode(lambda: og.mm(og.ones(2, 2), og.ones(2, 2))),
    "class of tensors": lambda: in_a_class(lambda x: og.mm(x, x)),
    "fallback": lambda: in_a_fallback(lambda: og.ops.aten.mm(og.ones(2, 2), og.ones(2, 2))),
    "held kernel": lambda: [library.get_kernel("aten::mm", "CPU").op],
    "copy": lambda: [copy.copy(MM)],
    "deep copy": lambda: [copy.deepcopy([MM])[0]],
    **{f"pickle {p}": lambda p=p: [pickle.loads(pickle.dumps(MM, p))] for p in range(pickle.HIGHEST_PROTOCOL + 1)},
}


@pytest.mark.parametrize("source", SOURCES)
def test_an_overload_is_one_object(source):
    found = [op for op in SOURCES[source]() if op.name() == "aten::mm"]
    assert found and all(op is MM for op in found)
    assert {MM: 1}[found[0]] == 1 and found[0] == MM and repr(found[0]) == "<OpOverload(op='aten.mm', overload='default')>"


def test_a_packet_is_one_object():
    packet = og.ops.aten.add
    others = [og._opgrid.packet("aten::add"), packet.Tensor.overloadpacket, copy.copy(packet), copy.deepcopy(packet)]
    others += [pickle.loads(pickle.dumps(packet, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    assert all(other is packet for other in others)
    assert packet.Tensor != packet.Scalar and packet != og.ops.aten.mul and len({packet, *others}) == 1
    assert repr(packet) == "<OpOverloadPacket(op='aten.add')>" and str(packet) == "aten.add"


def test_functions_and_methods_that_classes_are_told_of_are_those_of_the_package():
    seen = []

    class Watched(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    x = og.ones(2).as_subclass(Watched)
    og.add(x, 1), x.add(1), x + 1, x == x, -x, 1 - x
    expected = [og.add, Tensor.add, Tensor.add, Tensor.eq, Tensor.neg, Tensor.rsub]
    assert len(seen) == len(expected) and all(a is b for a, b in zip(seen, expected))


@pytest.mark.parametrize("function", [og.add, og.ones, og.mm, Tensor.add, Tensor.add_, Tensor.sum])
def test_functions_and_methods_survive_pickles(function):
    assert copy.copy(function) is function and copy.deepcopy([function])[0] is function
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(function, protocol)) is function


def test_objects_follow_their_operators_name():
    kernels = Library("identity_ops", "IMPL")
    first = Library("identity_ops", "DEF")
    first.define("f(Tensor x) -> Tensor")
    kernels.impl("f", lambda x, *rest, **named: x * 2 + len(rest) + 10 * len(named), "CPU")
    packet, overload = og.ops.identity_ops.f, og.ops.identity_ops.f.default
    x = og.ones(1)
    assert packet(x).item() == overload(x).item() == 2
    first._destroy()
    for call in (packet, overload):
        with pytest.raises((RuntimeError, AttributeError)):
            call(x)
    for schema, args, kwargs, result in [
        ("f(Tensor x, int y) -> Tensor", (3,), {}, 3),
        ("f(Tensor x, int y=1, *, int z) -> Tensor", (), {"z": 3}, 12),
        ("f(Tensor x, int a=1, int b=2, int c=3) -> Tensor", (1, 2, 4), {}, 5),
        ("f(Tensor x) -> Tensor", (), {}, 2),
    ]:
        with Library("identity_ops", "DEF") as again:
            again.define(schema)
            assert packet(x, *args, **kwargs).item() == result and overload(x, *args, **kwargs).item() == result
            assert overload is og.ops.identity_ops.f.default and packet is overload.overloadpacket
            assert str(overload._schema) == f"identity_ops::{schema}"
            with pytest.raises((RuntimeError, TypeError)):
                overload(x, *args, 1, 2, 3, 4)
    kernels._destroy()
    assert not overload.is_registered()


def test_an_operator_that_is_defined_anew_while_its_arguments_are_read():
    first = Library("identity_race", "DEF")
    first.define("f(Tensor x, int y) -> Tensor")
    kernels = Library("identity_race", "IMPL")
    kernels.impl("f", lambda *args: args[0], "CPU")
    made = []

    class Redefines:
        def __index__(self):
            if not made:
                first._destroy()
                made.append(Library("identity_race", "DEF"))
                made[0].define("f(Tensor x, int y, int z, int w) -> Tensor")
            return 1

    with pytest.raises((RuntimeError, TypeError)):
        og.ops.identity_race.f(og.ones(1), Redefines())
    assert og.ops.identity_race.f(og.ones(1), 1, 2, 3).item() == 1
    made[0]._destroy()
    kernels._destroy()
