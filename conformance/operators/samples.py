"""The calls that an entry of torch's database stands for."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import convert
import programs
import record
import scope
import torch
from compare import Leaf, Tolerance, answer_of_torch, contiguous
from record import Call, Recorder
from torch.testing._internal.common_device_type import toleranceOverride


@dataclass(frozen=True)
class Limits:
    """How much of the database is run."""

    samples: int | None
    """Samples for each dtype that is not the main one, of which there are four times as many; all if none."""
    recorded: int
    """Recorded calls of one overload for each dtype."""
    variants: int
    """Samples of each dtype of which in-place and ``out`` forms are tried, too."""
    reference: bool
    backward: bool


@dataclass(frozen=True)
class Case:
    """A call and where it comes from, as in ``float32 #3 in place``."""

    label: str
    call: Call


MAIN = (torch.float32, torch.int64, torch.complex64)
"""The dtypes of which more samples are run; the first one that an operator has."""


def tolerance_of(op: Any) -> Tolerance:
    """What the decorators of an entry allow."""
    overrides: dict[str, tuple[float, float]] = {}
    for decorator in op.decorators:
        for inner in getattr(decorator, "decorators", [decorator]):
            for dtype, allowed in getattr(inner, "d", {}).items() if isinstance(inner, toleranceOverride) else ():
                name = convert.dtype_name(dtype)
                relative, absolute = overrides.get(name, (0.0, 0.0))
                overrides[name] = max(relative, allowed.rtol), max(absolute, allowed.atol)
    return Tolerance(overrides)


def seed() -> None:
    torch.manual_seed(1234)
    random.seed(1234)


def spread(items: list[Any], count: int | None) -> list[tuple[int, Any]]:
    """So many of the items, from the first to the last, with their positions."""
    if count is None or len(items) <= count:
        return list(enumerate(items))
    positions = sorted({round(index * (len(items) - 1) / max(count - 1, 1)) for index in range(count)})
    return [(position, items[position]) for position in positions]


def dtypes_of(op: Any) -> list[torch.dtype]:
    """The dtypes of an entry that opgrid has, the main one first."""
    dtypes = []
    for dtype in op.supported_dtypes("cpu"):
        try:
            convert.opgrid_dtype(dtype)
        except convert.Unsupported:
            continue
        dtypes.append(dtype)
    main = next((dtype for dtype in MAIN if dtype in dtypes), None)
    return sorted(dtypes, key=lambda dtype: (dtype != main, str(dtype)))


def cases(op: Any, limits: Limits) -> Iterator[Case]:
    """Every call of an entry, in an order that is the same each time."""
    if isinstance(op, programs.Program):
        yield from of_program(op, limits)
        return
    for position, dtype in enumerate(dtypes_of(op)):
        count = limits.samples if limits.samples is None or position else 4 * limits.samples
        recorder = Recorder(scope.holds, limits.recorded)
        seed()
        source = op.reference_inputs if limits.reference else op.sample_inputs
        try:
            samples = spread(list(source("cpu", dtype, requires_grad=False)), count)
        except Exception as error:
            print(f"{op.name}: torch makes no samples of {dtype}: {type(error).__name__}: {error}")
            continue
        for index, (number, sample) in enumerate(samples):
            label = f"{convert.dtype_name(dtype)} #{number}"
            for case in direct(op, sample, label, variants=index < limits.variants):
                recorder.seen.add(case.call.overload + case.call.arguments.key())
                yield case
            yield from recorded(recorder, op, sample, label, backward=False)
        if (limits.backward or op.name in scope.words(scope.DERIVED)) and dtype in (torch.float32, torch.float64) and op.supports_autograd:
            seed()
            for number, sample in spread(list(op.sample_inputs("cpu", dtype, requires_grad=True)), limits.samples):
                yield from recorded(recorder, op, sample, f"{convert.dtype_name(dtype)} #{number} backward", backward=True)
    yield from errors(op)


def of_program(program: programs.Program, limits: Limits) -> Iterator[Case]:
    recorder = Recorder(scope.holds, limit=1000)
    seed()
    for number, function in enumerate(program.functions()):
        before = len(recorder.calls)
        record.record(recorder, function)
        for call in recorder.calls[before:]:
            yield Case(f"#{number} recorded", call)


def recorded(recorder: Recorder, op: Any, sample: Any, label: str, *, backward: bool) -> Iterator[Case]:
    before = len(recorder.calls)
    run: Callable[[], Any] = lambda: op(sample.input, *sample.args, **sample.kwargs)  # noqa: E731
    seed()
    (record.record_backward if backward else record.record)(recorder, run)
    for call in recorder.calls[before:]:
        yield Case(f"{label} recorded", call)


def resolved(packet: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> str | None:
    """The overload that torch chooses for the arguments."""
    try:
        overload = torch._C._jit_resolve_packet(f"aten::{packet}", *arguments, **named)
    except Exception:
        return None
    name = packet if overload in ("", "default") else f"{packet}.{overload}"
    # Some overloads exist for numbers of TorchScript only.
    return name if torch._C._dispatch_has_kernel(f"aten::{name}") else None


def direct(op: Any, sample: Any, label: str, *, variants: bool) -> Iterator[Case]:
    """The call of the packet with the arguments of a sample, and its other forms."""
    packet = scope.aten_name(op)
    arguments, named = (sample.input, *sample.args), dict(sample.kwargs)
    overload = resolved(packet, arguments, named) if packet is not None else None
    if packet is None or overload is None or not scope.holds(overload):
        return
    try:
        call = Call(overload, convert.freeze(arguments, named))
    except convert.Unsupported:
        return
    yield Case(label, call)
    if not variants:
        return
    in_place = resolved(f"{packet}_", arguments, named) if hasattr(torch.ops.aten, f"{packet}_") else None
    if in_place is not None and op.inplace_variant is not None:
        yield Case(f"{label} in place", Call(in_place, call.arguments))
    if op.supports_out:
        yield from into_outputs(call, label)


def out_form(overload: str) -> tuple[str, tuple[str, ...]] | None:
    """The overload that writes the results to outputs, and the names of these."""
    functional = scope.overload_of(overload)
    if functional is None:
        return None
    packet = functional.overloadpacket
    factory = {"dtype", "layout", "device", "pin_memory"}

    def inputs(schema: Any) -> list[tuple[str, str]]:
        return [(argument.name, str(argument.type)) for argument in schema.arguments if not is_output(argument)]

    def is_output(argument: Any) -> bool:
        return argument.kwarg_only and argument.alias_info is not None and argument.alias_info.is_write

    wanted = inputs(functional._schema)
    for name in packet.overloads():
        schema = getattr(packet, name)._schema
        outputs = tuple(argument.name for argument in schema.arguments if is_output(argument))
        if not outputs or len(outputs) != len(schema.returns):
            continue
        if inputs(schema) in (wanted, [item for item in wanted if item[0] not in factory]):
            return f"{overload.partition('.')[0]}.{name}", outputs
    return None


# Of a batch of matrices that is not row-major torch 2.15 writes elements beyond the output's memory, which ends the process
# some calls later.
TORCH_WRITES_ELSEWHERE = ("tril.out", "triu.out")


def into_outputs(call: Call, label: str) -> Iterator[Case]:
    """The ``out`` form of a call, with each kind of output."""
    form = out_form(call.overload)
    if form is None or any(value is not None and name in ("dtype", "layout", "device") for name, value in call.arguments.kwargs.items()):
        return
    overload, names = form
    try:
        answer = answer_of_torch(call)
    except convert.Unsupported:
        return
    results = answer.value if isinstance(answer.value, tuple) else (answer.value,)
    if answer.error is not None or len(results) != len(names) or not all(isinstance(leaf, Leaf) for leaf in results):
        return
    for kind in ("out", "empty out", "strided out", "wide out", "narrow out"):
        if kind == "strided out" and overload in TORCH_WRITES_ELSEWHERE:
            continue
        storages = list(call.arguments.storages)
        outputs = {}
        for name, leaf in zip(names, results, strict=True):
            place = output(kind, leaf, len(storages))
            outputs[name] = place
            last = sum((size - 1) * step for size, step in zip(place.size, place.stride, strict=True))
            count = 0 if 0 in place.size else last + 1
            storages.append(torch.ones(count * place.dtype.itemsize, dtype=torch.uint8))
        kwargs = {name: value for name, value in call.arguments.kwargs.items() if name != "pin_memory"}
        arguments = convert.Frozen(call.arguments.args, {**kwargs, **outputs}, storages)
        yield Case(f"{label} {kind}", Call(overload, arguments, precision=results[0].dtype if kind == "wide out" else None))


def output(kind: str, leaf: Leaf, storage: int) -> convert.FrozenTensor:
    """An output for a result: right, without elements, in reversed order with gaps, or of another dtype."""
    dtypes = {"wide out": torch.float64, "narrow out": torch.int32}
    dtype = dtypes.get(kind, getattr(torch, leaf.dtype))
    sizes = (0,) if kind == "empty out" else leaf.sizes
    strides = contiguous(sizes)
    if kind == "strided out":
        strides = tuple(2 * step for step in reversed(contiguous(tuple(reversed(sizes)))))
    return convert.FrozenTensor(storage, dtype, sizes, strides, 0)


def errors(op: Any) -> Iterator[Case]:
    """The calls that torch refuses."""
    packet = scope.aten_name(op)
    if op.error_inputs_func is None or packet is None or packet not in scope.bases():
        return
    seed()
    for number in itertools.count():
        try:
            if number == 0:
                inputs = iter(op.error_inputs("cpu"))
            error = next(inputs)
        except StopIteration:
            return
        except Exception as failure:
            print(f"{op.name}: torch makes no error inputs: {type(failure).__name__}: {failure}")
            return
        sample = error.sample_input
        arguments, named = (sample.input, *sample.args), dict(sample.kwargs)
        overload = resolved(packet, arguments, named)
        try:
            frozen = convert.freeze(arguments, named)
        except convert.Unsupported:
            continue
        call = Call(packet, frozen, unresolved=True) if overload is None else Call(overload, frozen)
        yield Case(f"error #{number}", call)
