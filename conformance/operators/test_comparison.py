"""The comparison itself: what it has to notice, and what it has to let pass.

`cargo xtask conformance operators` runs them before the samples; so does pytest with torch's interpreter.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import compare
import convert
import deliberate
import opgrid
import record
import scope
import torch
from compare import Answer, Leaf, Tolerance
from record import Call


def call(overload: str, *args: object, **kwargs: object) -> Call:
    return Call(overload, convert.freeze(args, kwargs))


def kinds(theirs: torch.Tensor, ours: torch.Tensor) -> list[str]:
    def answer(tensor: torch.Tensor) -> Answer:
        dtype = convert.dtype_name(tensor.dtype)
        return Answer(Leaf(dtype, tuple(tensor.shape), tensor.stride(), tensor, None, frozenset()))

    return [difference.kind for difference in compare.differences(answer(theirs), answer(ours), Tolerance(), values=True)]


def test_each_property_of_a_result_is_compared() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, float("nan")]])
    assert kinds(x, x.clone()) == []
    assert kinds(x, x + torch.tensor([1.0, 0.0])) == ["value"]
    assert kinds(x, torch.nan_to_num(x)) == ["value"]
    assert kinds(x, x.double()) == ["dtype"]
    assert kinds(x, x.t().contiguous().t()) == ["stride"]
    assert kinds(x[:1], x[:1].t().contiguous().t()) == []
    assert kinds(x, x.flatten()) == ["size"]


def test_every_corruption_is_noticed() -> None:
    calls = [
        call("add.Tensor", torch.randn(2, 3), torch.randn(3)),
        call("mul_.Tensor", torch.randn(4), 3),
        call("view", torch.randn(2, 3), [6]),
        call("sum.dim_IntList", torch.ones(2, 3, dtype=torch.int64), [0]),
        call("eq.Tensor", torch.tensor([1, 2]), torch.tensor([1, 3])),
    ]
    for one, kind in itertools.product(calls, compare.BREAKS):
        assert compare.outcome(one, Tolerance(), meta=True).state == "passed", one
        broken = compare.outcome(one, Tolerance(), meta=False, corruption=compare.corrupted(kind))
        assert broken.state in ("differs", "skipped"), (one, kind)
        assert broken.state == "differs" or kind == "stride", (one, kind)


def test_what_is_nearer_to_the_exact_result_is_wanted() -> None:
    x = torch.tensor([1.0, 2.0], dtype=torch.bfloat16)
    one = call("add.Tensor", x, torch.tensor([0.0, 0.0], dtype=torch.bfloat16))
    exact = compare.answer_of_torch(one)
    off = replace(exact, value=replace(exact.value, values=x * 1.5))
    assert compare.nearer(one, off, exact, Tolerance())
    assert not compare.nearer(one, exact, off, Tolerance())


def test_rounding_of_complex_convolutions_has_a_bound() -> None:
    x, weight = torch.randn(1, 2, 5, 5, dtype=torch.complex64), torch.randn(3, 2, 3, 3, dtype=torch.complex64)
    one = call("conv2d", x, weight)
    found = compare.outcome(one, Tolerance(), meta=False)
    assert deliberate.within_rounding(one, found)
    assert found.ours is not None
    off = replace(found.ours, value=replace(found.ours.value, values=found.ours.value.values * 1.001))
    assert not deliberate.within_rounding(one, replace(found, ours=off))


def test_multiples_of_lists_are_rounded_once() -> None:
    x, y = (torch.randn(11, 11).to(torch.float16) for _ in range(2))
    one = record.Call("_foreach_add.List", convert.freeze([[x], [y]], {"alpha": 3.14}))
    found = compare.outcome(one, Tolerance(), meta=False)
    assert deliberate.rounds_once(one, found)
    assert found.ours is not None
    off = replace(found.ours, value=[replace(found.ours.value[0], values=(x + y * 3.14) * 1.01)])
    assert not deliberate.rounds_once(one, replace(found, ours=off))


def test_arguments_lie_alike_on_both_sides() -> None:
    base = torch.arange(12.0).reshape(3, 4)
    given = [base.t()[1:], base[:, ::2], base, torch.zeros(1).expand(2, 3), torch.ones(2, 0), torch.tensor(True)]
    frozen = convert.freeze([*given, given[0]], {})
    theirs, ours = convert.for_torch(frozen), convert.for_opgrid(frozen)
    assert len(theirs.tensors) == len(ours.tensors) == len(given)
    assert ours.args[0] is ours.args[-1] and theirs.args[0] is theirs.args[-1]
    for original, left, right in zip(given, theirs.tensors, ours.tensors, strict=True):
        assert original.stride() == left.stride() == tuple(right.stride())
        assert original.storage_offset() == left.storage_offset() == right.storage_offset()
        assert torch.equal(left, convert.as_torch(right))
        assert not left.numel() or left.data_ptr() not in (original.data_ptr(), right.data_ptr())
    assert ours.tensors[0].untyped_storage()._address() == ours.tensors[2].untyped_storage()._address()


def test_refusals_are_compared_by_class() -> None:
    assert compare.same_class(RuntimeError(), opgrid.errors.OperatorError())
    assert compare.same_class(IndexError(), opgrid.errors.OutOfRangeError())
    assert not compare.same_class(IndexError(), opgrid.errors.ArgumentError())
    assert compare.same_class(NotImplementedError(), opgrid.errors.OperatorError())


def test_composites_and_what_they_are_made_of_are_recorded() -> None:
    recorder = record.Recorder(scope.holds, 10)
    weight, bias = torch.randn(4, 3), torch.randn(4)
    record.record(recorder, lambda: torch.nn.functional.linear(weight[:2], weight, bias))
    names = [one.overload for one in recorder.calls]
    assert names[:3] == ["slice.Tensor", "linear", "t"] and "addmm" in names, names
    recorder = record.Recorder(scope.holds, 10)
    x = torch.randn(2, 3, requires_grad=True)
    record.record_backward(recorder, lambda: torch.nn.functional.layer_norm(x, [3]))
    assert "native_layer_norm_backward" in [one.overload for one in recorder.calls]


def test_the_scope_is_more_than_the_core() -> None:
    assert len(scope.core()) > 150
    unknown = [entry for entry in scope.entries() if not hasattr(torch.ops.aten, entry.partition(".")[0])]
    assert not unknown, unknown
    assert all(scope.overload_of(entry) is not None for entry in scope.entries() if "." in entry)
