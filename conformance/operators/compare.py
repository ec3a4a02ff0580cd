"""Makes a call with both libraries and says in what the answers differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import convert
import opgrid
import scope
import torch
from record import Call

TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
"""Relative and absolute, those of ``torch.testing.assert_close``; all other dtypes are compared exactly."""

REFUSALS: dict[type[BaseException], tuple[type[BaseException], ...]] = {
    IndexError: (IndexError, RuntimeError),
    TypeError: (TypeError, RuntimeError),
    ValueError: (ValueError, RuntimeError),
    NotImplementedError: (RuntimeError,),
    RuntimeError: (RuntimeError, ValueError, IndexError, TypeError),
}
"""What opgrid may raise where torch raises a class.

Torch raises RuntimeError for nearly every bad argument, and its other classes by chance of which line looks first; opgrid's
OperatorError is a RuntimeError and stands for all of them, but an index error of torch's must not become a type error.
"""


@dataclass
class Tolerance:
    """How far results may lie apart, with what an entry of the database allows beyond the defaults."""

    overrides: dict[str, tuple[float, float]] = field(default_factory=dict)
    precision: str | None = None
    """A dtype whose tolerance is enough for all inexact ones."""

    def of(self, dtype: str) -> tuple[float, float]:
        if dtype not in TOLERANCES:
            return 0.0, 0.0
        dtypes = [dtype] if self.precision is None else [dtype, self.precision]
        nothing = (0.0, 0.0)
        allowed = [table.get(one, nothing) for one in dtypes for table in (TOLERANCES, self.overrides)]
        return max(relative for relative, _ in allowed), max(absolute for _, absolute in allowed)


@dataclass(frozen=True)
class Leaf:
    """A tensor of an answer."""

    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    values: torch.Tensor | None = None
    argument: int | None = None
    """The argument that it is, as an object."""
    shares: frozenset[int] | None = None
    """The arguments in whose memory it lies; none where nothing is to be known."""
    offset: int = 0

    def __str__(self) -> str:
        parts = [f"{self.dtype}{list(self.sizes)}"]
        if self.strides != contiguous(self.sizes):
            parts.append(f"strides {list(self.strides)}")
        if self.argument is not None:
            parts.append(f"is argument {self.argument}")
        elif self.shares:
            parts.append(f"in the memory of arguments {sorted(self.shares)}, offset {self.offset}")
        if self.values is not None and self.values.numel() <= 24:
            parts.append(str(self.values.tolist()))
        return ", ".join(parts)


@dataclass
class Answer:
    """How a call ended."""

    value: Any = None
    """The result, its tensors replaced by leaves."""
    after: list[Leaf] = field(default_factory=list)
    """The arguments that are tensors, after the call."""
    error: BaseException | None = None

    def __str__(self) -> str:
        if self.error is not None:
            lines = str(self.error).splitlines() or [""]
            return f"{type(self.error).__name__}: {' / '.join(lines[:3])[:400]}"
        return shown(self.value)


@dataclass(frozen=True)
class Difference:
    kind: str
    """``value``, ``dtype``, ``size``, ``stride``, ``alias``, ``structure``, ``argument``, ``refuses``, ``accepts``,
    ``class``, ``panic`` or, before the kind, ``meta``."""
    text: str


@dataclass(frozen=True)
class Outcome:
    """What became of a call: ``passed``, ``missing``, ``skipped`` or ``differs``."""

    state: str
    theirs: Answer | None = None
    ours: Answer | None = None
    differences: tuple[Difference, ...] = ()
    note: str = ""
    nearer: bool = False
    """Whether elements that differ are nearer to the exact result with opgrid than with torch."""


def contiguous(sizes: tuple[int, ...]) -> tuple[int, ...]:
    strides = []
    step = 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        inner = "; ".join(map(shown, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return str(value)


def answer_of_torch(call: Call, device: str = "cpu") -> Answer:
    thawed = convert.for_torch(call.arguments, device)
    overload = getattr(torch.ops.aten, call.overload) if call.unresolved else scope.overload_of(call.overload)
    assert overload is not None, call.overload
    torch.manual_seed(0)
    try:
        with torch.inference_mode():
            result = overload(*thawed.args, **thawed.kwargs)
    except Exception as error:
        return Answer(error=error)
    values = device == "cpu"

    def leaf(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return convert.dtype_name(value) if isinstance(value, torch.dtype) else value
        if value.layout != torch.strided:
            raise convert.Unsupported("a result with another layout")
        storage = value.untyped_storage()
        return Leaf(
            convert.dtype_name(value.dtype),
            tuple(value.shape),
            value.stride(),
            value.detach().resolve_conj().resolve_neg() if values else None,
            next((index for index, tensor in enumerate(thawed.tensors) if tensor is value), None),
            sharing(storage._cdata, [tensor.untyped_storage()._cdata for tensor in thawed.tensors], storage.nbytes()),
            value.storage_offset(),
        )

    with torch.inference_mode():
        return Answer(convert.rebuilt(result, leaf), [leaf(tensor) for tensor in thawed.tensors])


def function_of(call: Call) -> Any | None:
    """What opgrid has to call, if it has it."""
    base, _, overload = call.overload.partition(".")
    try:
        packet = getattr(opgrid.ops.aten, base)
        return packet if call.unresolved else getattr(packet, overload or "default")
    except AttributeError:
        return None


def answer_of_opgrid(call: Call, device: str = "cpu") -> Answer:
    function = function_of(call)
    assert function is not None, call.overload
    opgrid.manual_seed(0)
    try:
        thawed = convert.for_opgrid(call.arguments, device)
        result = function(*thawed.args, **thawed.kwargs)
    except convert.Unsupported:
        raise
    except Exception as error:
        return Answer(error=error)
    values = device == "cpu"

    def leaf(value: Any) -> Any:
        if not isinstance(value, opgrid.Tensor):
            return convert.dtype_name(value) if isinstance(value, opgrid.dtype) else value
        storage = value.untyped_storage()
        return Leaf(
            convert.dtype_name(value.dtype),
            tuple(value.shape),
            tuple(value.stride()),
            convert.as_torch(value) if values else None,
            next((index for index, tensor in enumerate(thawed.tensors) if tensor is value), None),
            sharing(
                storage._address(), [tensor.untyped_storage()._address() for tensor in thawed.tensors], storage.nbytes()
            ),
            value.storage_offset(),
        )

    return Answer(convert.rebuilt(result, leaf), [leaf(tensor) for tensor in thawed.tensors])


def sharing(address: Any, others: list[Any], count: int) -> frozenset[int] | None:
    """The arguments that lie at an address; unknown where there are no bytes."""
    if not count:
        return None
    return frozenset(index for index, other in enumerate(others) if other == address)


def same_class(theirs: BaseException, ours: BaseException) -> bool:
    for kind, allowed in REFUSALS.items():
        if type(theirs) is kind or (kind is not RuntimeError and isinstance(theirs, kind)):
            return isinstance(ours, allowed)
    return isinstance(ours, RuntimeError)


def differences(theirs: Answer, ours: Answer, tolerance: Tolerance, *, values: bool, aliasing: bool = True) -> Iterator[Difference]:
    """In what two answers differ."""
    if isinstance(ours.error, opgrid.errors.PanicError):
        yield Difference("panic", str(ours))
    elif theirs.error is not None and ours.error is not None:
        if not same_class(theirs.error, ours.error):
            yield Difference("class", f"torch raises {theirs}; opgrid raises {ours}")
    elif theirs.error is not None:
        yield Difference("accepts", f"torch raises {theirs}; opgrid gives {ours}")
    elif ours.error is not None:
        yield Difference("refuses", f"torch gives {theirs}; opgrid raises {ours}")
    else:
        yield from of_values(theirs.value, ours.value, tolerance, "result", values, aliasing)
        for index, (left, right) in enumerate(zip(theirs.after, ours.after, strict=True)):
            for difference in of_leaves(left, right, tolerance, f"argument {index} after the call", values, False):
                yield replace(difference, kind="argument")


def of_values(theirs: Any, ours: Any, tolerance: Tolerance, where: str, values: bool, aliasing: bool) -> Iterator[Difference]:
    if isinstance(theirs, Leaf) and isinstance(ours, Leaf):
        yield from of_leaves(theirs, ours, tolerance, where, values, aliasing)
    elif isinstance(theirs, (list, tuple)) and type(theirs) is type(ours) and len(theirs) == len(ours):
        for index, (left, right) in enumerate(zip(theirs, ours, strict=True)):
            yield from of_values(left, right, tolerance, f"{where}[{index}]", values, aliasing)
    elif isinstance(theirs, (list, tuple)) or isinstance(ours, (list, tuple, Leaf)) or type(theirs) is not type(ours):
        yield Difference("structure", f"{where}: torch {shown(theirs)}, opgrid {shown(ours)}")
    elif isinstance(theirs, (float, complex)):
        relative, absolute = tolerance.of("float32")
        if not close(torch.tensor(theirs), torch.tensor(ours), relative, absolute):
            yield Difference("value", f"{where}: torch {theirs}, opgrid {ours}")
    elif theirs != ours:
        yield Difference("value", f"{where}: torch {theirs}, opgrid {ours}")


def of_leaves(theirs: Leaf, ours: Leaf, tolerance: Tolerance, where: str, values: bool, aliasing: bool) -> Iterator[Difference]:
    if theirs.dtype != ours.dtype:
        yield Difference("dtype", f"{where}: torch {theirs.dtype}, opgrid {ours.dtype}")
    if theirs.sizes != ours.sizes:
        yield Difference("size", f"{where}: torch {list(theirs.sizes)}, opgrid {list(ours.sizes)}")
        return
    if 0 not in theirs.sizes and any(
        left != right
        for size, left, right in zip(theirs.sizes, theirs.strides, ours.strides, strict=True)
        if size > 1
    ):
        yield Difference("stride", f"{where}: torch {list(theirs.strides)}, opgrid {list(ours.strides)}, sizes {list(ours.sizes)}")
    if aliasing and theirs.argument != ours.argument:
        names = [f"is argument {leaf.argument}" if leaf.argument is not None else "is a new object" for leaf in (theirs, ours)]
        yield Difference("alias", f"{where}: with torch it {names[0]}, with opgrid it {names[1]}")
    elif aliasing and None not in (theirs.shares, ours.shares):
        if theirs.shares != ours.shares:
            names = [f"that of arguments {sorted(leaf.shares)}" if leaf.shares else "its own" for leaf in (theirs, ours)]
            yield Difference("alias", f"{where}: its memory is with torch {names[0]}, with opgrid {names[1]}")
        elif theirs.shares and theirs.offset != ours.offset:
            yield Difference("alias", f"{where}: storage offset torch {theirs.offset}, opgrid {ours.offset}")
    if values and theirs.values is not None and ours.values is not None and theirs.dtype == ours.dtype:
        yield from of_elements(theirs.values, ours.values, tolerance, where)


def close(theirs: torch.Tensor, ours: torch.Tensor, relative: float, absolute: float) -> bool:
    return torch.equal(theirs, ours) or torch.allclose(ours, theirs, rtol=relative, atol=absolute, equal_nan=True)


def of_elements(theirs: torch.Tensor, ours: torch.Tensor, tolerance: Tolerance, where: str) -> Iterator[Difference]:
    relative, absolute = tolerance.of(convert.dtype_name(theirs.dtype))
    if close(theirs, ours, relative, absolute):
        return
    apart = ~torch.isclose(ours, theirs, rtol=relative, atol=absolute, equal_nan=True)
    first = torch.nonzero(apart)[0].tolist()
    left, right = theirs[tuple(first)].item(), ours[tuple(first)].item()
    yield Difference(
        "value",
        f"{where}: {int(apart.sum())} of {theirs.numel()} elements differ, the first at {first}: torch {left!r}, opgrid {right!r}"
        f" (rtol {relative:g}, atol {absolute:g})",
    )


Corruption = Callable[[Answer], bool]
"""Makes an answer of opgrid's wrong, for the check of the comparison itself; whether there was something to corrupt."""


def corrupted(kind: str) -> Corruption:
    """The corruption of that name."""

    def on_first(answer: Answer, change: Callable[[Leaf], Leaf | None]) -> bool:
        done = False

        def leaf(value: Any) -> Any:
            nonlocal done
            changed = change(value) if isinstance(value, Leaf) and not done else None
            done = done or changed is not None
            return value if changed is None else changed

        if answer.error is None:
            answer.value = convert.rebuilt(answer.value, leaf)
        return done

    def value(leaf: Leaf) -> Leaf | None:
        if leaf.values is None or not leaf.values.numel() or not bool(leaf.values.isfinite().any()):
            return None
        wrong = ~leaf.values if leaf.values.dtype == torch.bool else leaf.values * 2 + 1
        return None if torch.equal(wrong, leaf.values) else replace(leaf, values=wrong)

    def dtype(leaf: Leaf) -> Leaf:
        return replace(leaf, dtype="int64" if leaf.dtype != "int64" else "float32")

    def stride(leaf: Leaf) -> Leaf | None:
        if 0 in leaf.sizes or not any(size > 1 for size in leaf.sizes):
            return None
        return replace(leaf, strides=tuple(step + 1 for step in leaf.strides))

    def alias(leaf: Leaf) -> Leaf | None:
        if leaf.argument is not None:
            return replace(leaf, argument=None)
        return None if leaf.shares is None else replace(leaf, shares=leaf.shares ^ {0})

    def error(answer: Answer) -> bool:
        answer.error = RuntimeError("a refusal made by --break") if answer.error is None else None
        return True

    changes: dict[str, Callable[[Leaf], Leaf | None]] = {"value": value, "dtype": dtype, "stride": stride, "alias": alias}
    if kind == "error":
        return error
    return lambda answer: on_first(answer, changes[kind])


BREAKS = ("value", "dtype", "stride", "alias", "error")


def outcome(call: Call, tolerance: Tolerance, *, meta: bool, corruption: Corruption | None = None) -> Outcome:
    """Makes a call with both sides and compares."""
    base = call.overload.partition(".")[0]
    random = base in scope.words(scope.RANDOM) or drops(call)
    values = not random and base not in scope.words(scope.UNINITIALIZED)
    if function_of(call) is None:
        return Outcome("missing", note="not registered")
    tolerance = replace(tolerance, precision=call.precision)
    if spoils_memory(call):
        return Outcome("skipped", note="torch writes triangles beyond outputs that do not lie in rows or columns")
    try:
        theirs = answer_of_torch(call)
        ours = answer_of_opgrid(call)
    except convert.Unsupported as error:
        return Outcome("skipped", note=str(error))
    if call.unresolved and theirs.error is None:
        return Outcome("skipped", note="an overload for numbers of TorchScript")
    if isinstance(ours.error, opgrid.errors.MissingKernelError) and theirs.error is None:
        return Outcome("missing", theirs, ours, note="no kernel")
    if corruption is not None:
        before = list(differences(theirs, ours, tolerance, values=values))
        if before or not corruption(ours):
            return Outcome("skipped", note="nothing to corrupt")
    found = list(differences(theirs, ours, tolerance, values=values))
    note = ""
    if random and not found:
        note = "other numbers" if any(differences(theirs, ours, tolerance, values=True)) else "the same numbers"
    if meta and corruption is None and ours.error is None and theirs.error is None and not found:
        found.extend(on_meta(call, ours))
    numbers = [difference.kind for difference in found if difference.kind in ("value", "argument")]
    exact = bool(numbers) and corruption is None and nearer(call, theirs, ours, tolerance)
    return Outcome("differs" if found else "passed", theirs, ours, tuple(found), note, exact)


def spoils_memory(call: Call) -> bool:
    """Whether torch writes beyond the outputs of a call: triangles into such as do not lie in rows."""
    if call.overload not in ("lu_unpack.out", "linalg_lu.out"):
        return False
    arguments = convert.for_torch(call.arguments)
    given = (*arguments.args, *arguments.kwargs.values())
    return not all(value.is_contiguous() or value.mT.is_contiguous() for value in given if isinstance(value, torch.Tensor))


def drops(call: Call) -> bool:
    """Whether a call leaves out what random numbers say, as attention does if it is asked to."""
    overload = scope.overload_of(call.overload)
    names = [argument.name for argument in overload._schema.arguments] if overload is not None else []
    if "dropout_p" not in names:
        return False
    place = names.index("dropout_p")
    arguments = call.arguments.args
    return bool(arguments[place] if place < len(arguments) else call.arguments.kwargs.get("dropout_p", 0.0))


def nearer(call: Call, theirs: Answer, ours: Answer, tolerance: Tolerance) -> bool:
    """Whether elements that differ are at least as near to the result in double precision with opgrid as with torch."""
    try:
        exact = answer_of_torch(Call(call.overload, convert.in_double(call.arguments)))
    except Exception:
        return False
    if exact.error is not None:
        return False
    sides = [
        [leaf for leaf in convert.leaves([answer.value, answer.after]) if isinstance(leaf, Leaf)]
        for answer in (theirs, ours, exact)
    ]
    if len({len(side) for side in sides}) != 1:
        return False
    for left, right, middle in zip(*sides, strict=True):
        # Results in double precision say nothing about each other, unless they were computed in less.
        inexact = TOLERANCES if tolerance.precision not in (None, "float64") else map(convert.dtype_name, convert.DOUBLE)
        if left.dtype not in inexact:
            if left.values is not None and not torch.equal(left.values, right.values):
                return False
            continue
        if left.values is None or right.values is None or middle.values is None or left.sizes != middle.sizes:
            return False
        wide = middle.values.dtype
        relative, absolute = tolerance.of(left.dtype)
        apart = ~torch.isclose(right.values, left.values, rtol=relative, atol=absolute, equal_nan=True)
        off = [torch.nan_to_num((side.values.to(wide) - middle.values).abs(), nan=0.0) for side in (left, right)]
        finite = right.values.isfinite() == middle.values.isfinite()
        if bool((apart & ((off[1] > off[0]) | ~finite)).any()):
            return False
    return True


def on_meta(call: Call, ours: Answer) -> Iterator[Difference]:
    """In what a call with meta tensors differs from the one with tensors of the CPU."""
    base = call.overload.partition(".")[0]
    if base in scope.VALUE_DEPENDENT or not any(isinstance(leaf, Leaf) for leaf in convert.leaves(ours.value)):
        return
    moved = call
    if not any(True for _ in call.arguments.tensors()):
        # What makes tensors of numbers makes them on the device that it is told.
        overload = scope.overload_of(call.overload)
        names = [argument.name for argument in overload._schema.arguments] if overload is not None else []
        if "device" not in names:
            return
        moved = Call(call.overload, call.arguments.with_(device=torch.device("cpu")))
    there = answer_of_opgrid(moved, "meta")
    if isinstance(there.error, opgrid.errors.PanicError):
        yield Difference("meta panic", str(there))
    elif there.error is not None:
        if answer_of_torch(moved, "meta").error is None:
            yield Difference("meta refuses", str(there))
    else:
        for difference in differences(ours, there, Tolerance(), values=False, aliasing=False):
            text = difference.text.replace("opgrid", "on meta").replace("torch", "on the CPU")
            yield Difference(f"meta {difference.kind}", text)
