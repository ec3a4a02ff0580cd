"""Compares the gradients of operators, and the gradients of gradients, with torch's, on torch's own samples.

`cargo xtask conformance autograd` builds the package and runs this. The calls are those of `conformance/operators` in float64 and
complex128: every tensor of these dtypes among the arguments requires a gradient, results get the same gradients on both sides,
and what comes back is compared. Then `gradcheck` and `gradgradcheck` compare opgrid's gradients with differences; where torch's
own checks fail on torch's gradients, too, the call is unfit for that (large numbers, edges, no elements). Of each overload some
calls are made again at special points (`special.py`): zeros, equal elements, ties, no elements. The exit status is 1 where
something differs that `DEPARTURES` does not name.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "operators"))



@dataclass(frozen=True)
class Departure:
    """Calls whose gradients are not torch's, and why."""

    overloads: frozenset[str]
    holds: Callable[[Any, str], bool]
    """Of the arguments and the text of the difference."""
    reason: str


def has_no_elements(arguments: Any, text: str) -> bool:
    return text.startswith("second") and any(0 in tensor.size for tensor in arguments.tensors())


def has_a_zero_or_one(arguments: Any, text: str) -> bool:
    import convert

    tensor = convert.for_torch(arguments).tensors[0]
    return "gradient" in text and bool(((tensor == 0) | (tensor == 1)).any())


def has_nan(arguments: Any, text: str) -> bool:
    import convert

    return "gradient" in text and any((tensor != tensor).any() for tensor in convert.for_torch(arguments).tensors)


def is_at_the_end_of_the_range(arguments: Any, text: str) -> bool:
    import convert

    return "gradient" in text and any((tensor.abs() > 1e300).any() for tensor in convert.for_torch(arguments).tensors)


def has_ties(arguments: Any, text: str) -> bool:
    import convert

    tensors = [tensor for tensor in convert.for_torch(arguments).tensors if tensor.is_floating_point()]
    return "gradient" in text and any(tensor.unique().numel() < tensor.numel() for tensor in tensors)


def is_of_one(arguments: Any, text: str) -> bool:
    tensor = next(arguments.tensors(), None)
    return text.startswith("second") and tensor is not None and 1 in (*tensor.size, *([] if tensor.size else [1]))


def has_a_zero(arguments: Any, text: str) -> bool:
    import convert

    return text.startswith("second") and any((tensor == 0).any() for tensor in convert.for_torch(arguments).tensors)


def scales(arguments: Any, text: str) -> bool:
    return text.startswith("second") and (arguments.kwargs.get("scale_grad_by_freq") is True or True in arguments.args)


SPREADS = ("var", "std", "var_mean", "std_mean")
DEPARTURES = (
    Departure(
        frozenset(name + form for name in SPREADS for form in ("", ".dim", ".correction")),
        has_no_elements,
        "the second gradient of the spread of nothing is NaN, as the spread is",
    ),
    Departure(
        frozenset({"amax", "amin"}),
        has_nan,
        "of elements with a NaN the gradient goes to the NaN, which is the result; torch's is NaN everywhere",
    ),
    Departure(
        frozenset({"prod.dim_int", "prod"}),
        has_nan,
        "of elements with one NaN the gradient of that one is the product of the others; torch's is NaN everywhere",
    ),
    Departure(
        frozenset({"sort", "sort.stable", "msort", "argsort", "topk", "kthvalue", "median", "median.dim", "mode"}),
        has_ties,
        "which one of equal elements has the gradient is not defined; torch takes one that depends on how it sorts",
    ),
    Departure(
        frozenset(name + form for name in ("std", "std_mean") for form in ("", ".dim", ".correction")),
        is_of_one,
        "the deviation of one element is constant, so that its second gradient is zero; torch's is NaN",
    ),
    Departure(
        frozenset({"cross_entropy_loss"}),
        has_no_elements,
        "the second gradient of a mean of no losses is NaN, as the mean is",
    ),
    Departure(
        frozenset({"binary_cross_entropy"}),
        has_a_zero_or_one,
        "the gradient by the target keeps logarithms above -100, as the loss does; torch's is infinite where the loss is not",
    ),
    Departure(
        frozenset({"prelu", "_prelu_kernel"}),
        has_a_zero,
        "at zero the first gradient is that of negative numbers, and so are its own gradients; torch's are those of positive ones",
    ),
    Departure(
        frozenset({"embedding"}),
        scales,
        "second gradients are scaled by how often an index occurs, as the first ones are; torch leaves the scale out",
    ),
    Departure(
        frozenset({"hypot"}),
        is_at_the_end_of_the_range,
        "a gradient is multiplied by leg over length; torch multiplies by the leg first, which may leave the range",
    ),
)

DTYPES = ("float64", "complex128")


@dataclass(frozen=True)
class Result:
    """What became of a call."""

    overload: str
    state: str
    """passed, checked, differing, refused (by torch too), constant (nothing to differentiate), unfit (for differences: torch's own check fails, too), skipped"""
    text: str = ""


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME[,NAME…]", help="entries of the database or packets")
    parser.add_argument("--max-samples", type=int, default=5, metavar="N", help="samples for each dtype (5)")
    parser.add_argument("--special", type=int, default=1, metavar="N", help="calls of each overload and dtype at special points (1)")
    parser.add_argument("--all", action="store_true", help="every sample, and eight calls at special points")
    parser.add_argument("--details", type=int, default=1, metavar="N", help="print so many differing calls of each overload")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes at a time (one for each core)")
    parser.add_argument("--break", dest="broken", action="store_true", help="change opgrid's gradients, which has to be noticed")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    warnings.simplefilter("ignore")
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    import scope
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_num_threads(1)
    only = {name for name in (options.only or "").split(",") if name}
    ops = [op for op in scope.drivers(op_db) if op.supports_autograd]
    if only:
        ops = [op for op in ops if only & {op.name, scope.aten_name(op) or op.name}]
    began = time.monotonic()
    table: dict[str, Counter[str]] = defaultdict(Counter)
    shown: Counter[str] = Counter()
    for results in run(ops, options):
        for result in results:
            state = result.state
            table[result.overload][state] += 1
            if state == "differing" and shown[result.overload] < options.details:
                shown[result.overload] += 1
                print(result.text)
    return report(table, len(ops), time.monotonic() - began, options.broken)


def report(table: dict[str, Counter[str]], entries: int, seconds: float, broken: bool) -> int:
    states = ("passed", "second passed", "checked", "second checked", "unfit", "differing", "deliberate", "refused", "constant", "skipped")
    print(f"{'operator':44}" + "".join(f"{state:>15}" for state in states))
    totals: Counter[str] = Counter()
    for overload, counts in sorted(table.items()):
        totals += counts
        print(f"{overload:44}" + "".join(f"{counts[state] or '':>15}" for state in states))
    print(f"{'total':44}" + "".join(f"{totals[state]:>15}" for state in states))
    whole = sum(1 for counts in table.values() if not counts["differing"])
    print(f"{whole} of {len(table)} overloads whole; {entries} entries of the database in {seconds:.0f} s")
    for departure in DEPARTURES:
        hits = sum(table[overload]["deliberate"] for overload in departure.overloads)
        print(f"departure: {departure.reason} ({hits} calls)")
    if broken:
        print(f"--break: {totals['differing']} noticed, {totals['passed']} not")
        return 0 if totals["differing"] and not totals["passed"] else 1
    return 1 if totals["differing"] else 0


def run(ops: list[Any], options: argparse.Namespace) -> Iterator[list[Result]]:
    """The results of each entry; one whose process ends with a crash differs.

    A crash ends all processes of a pool, so that what was not done then is done again, each entry in a process of its own.
    """
    # Entries are functions, which forked processes have and cannot be sent.
    ENTRIES[:] = ops
    count = None if options.all else options.max_samples
    points = 8 if options.all else options.special
    failed: list[int] = []
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("fork")) as pool:
        futures = {pool.submit(entry, index, count, points, options.broken): index for index in range(len(ops))}
        for future, index in futures.items():
            try:
                yield future.result()
            except BrokenProcessPool:
                failed.append(index)
    for index in failed:
        with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
            try:
                yield pool.submit(entry, index, count, points, options.broken).result()
            except BrokenProcessPool:
                yield [Result(ops[index].name, "differing", f"{ops[index].name}: the process crashed")]


ENTRIES: list[Any] = []


def entry(index: int, count: int | None, points: int, broken: bool) -> list[Result]:
    """Every call of an entry, and of each overload and dtype some at special points."""
    import samples
    import special
    import torch

    op = ENTRIES[index]

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    every_dtype = samples.dtypes_of
    dtypes = [dtype for dtype in every_dtype(op) if str(dtype).rpartition(".")[2] in DTYPES]
    samples.dtypes_of = lambda _op: dtypes  # type: ignore[assignment]
    limits = samples.Limits(samples=count, recorded=1000 if count is None else 30, variants=0, reference=False, backward=False)
    results: list[Result] = []
    moved: Counter[tuple[Any, ...]] = Counter()
    for case in samples.cases(op, limits):
        if case.label.startswith("error"):
            continue
        found = compared(case, op, broken)
        results.extend(found)
        kind = (case.call.overload, *(tensor.dtype for tensor in case.call.arguments.tensors()))
        if broken or moved[kind] == points or not any(result.state == "passed" for result in found):
            continue
        moved[kind] += 1
        for point, arguments in special.variants(case.call.overload, case.call.arguments):
            at = samples.Case(f"{case.label} {point}", replace(case.call, arguments=arguments))
            results.extend(compared(at, op, broken, with_checks=False))
    # The next entry of this process has dtypes of its own.
    samples.dtypes_of = every_dtype
    return results


def compared(case: Any, op: Any, broken: bool, *, with_checks: bool = True) -> list[Result]:
    """Compares the gradients of a call, then theirs."""
    import convert
    import opgrid
    import scope
    import torch

    overload = case.call.overload
    function = scope.overload_of(overload)
    if function is None or function._schema.is_mutable or torch.Tag.nondeterministic_seeded in function.tags:
        return []
    dtypes = {tensor.dtype for tensor in case.call.arguments.tensors()}
    if not dtypes & {torch.float64, torch.complex128}:
        return []

    def told(state: str, text: str = "") -> Result:
        is_known = any(overload in one.overloads and one.holds(case.call.arguments, text) for one in DEPARTURES)
        state = "deliberate" if state == "differing" and is_known else state
        return Result(overload, state, f"{op.name} {case.label}: aten::{overload}({convert.written(case.call.arguments, 12)})\n    {text}")

    theirs = convert.for_torch(case.call.arguments)
    for tensor in theirs.tensors:
        if tensor.dtype in (torch.float64, torch.complex128):
            tensor.requires_grad_(True)
    try:
        torch.manual_seed(1)
        outputs = flat(function(*theirs.args, **theirs.kwargs))
    except Exception:
        return [told("refused")]
    leaves = [tensor for tensor in theirs.tensors if tensor.requires_grad]
    differentiable = [isinstance(out, torch.Tensor) and out.requires_grad for out in outputs]
    if not any(differentiable):
        return [told("constant")]
    torch.manual_seed(2)
    given = [torch.randn_like(out) if wanted else None for out, wanted in zip(outputs, differentiable, strict=True)]
    wanted = [out for out, is_wanted in zip(outputs, differentiable, strict=True) if is_wanted]
    seeds = [seed.detach().requires_grad_() for seed in given if seed is not None]
    try:
        expected = torch.autograd.grad(wanted, leaves, seeds, create_graph=True, allow_unused=True)
    except Exception:
        return [told("refused")]
    ours = convert.for_opgrid(case.call.arguments)
    packet, _, name = overload.partition(".")
    if not opgrid._opgrid.is_defined(f"aten::{overload}"):
        return [told("skipped")]
    try:
        with opgrid.no_grad():
            getattr(getattr(opgrid.ops.aten, packet), name or "default")(*ours.args, **ours.kwargs)
    except Exception:
        # Whether a call is refused is what the comparison of operators looks at.
        return [told("skipped")]
    ours = convert.for_opgrid(case.call.arguments)
    try:
        for tensor in ours.tensors:
            if tensor.dtype in (opgrid.float64, opgrid.complex128):
                tensor.requires_grad_(True)
        results = flat(getattr(getattr(opgrid.ops.aten, packet), name or "default")(*ours.args, **ours.kwargs))
        our_leaves = [tensor for tensor in ours.tensors if tensor.requires_grad]
        our_wanted = [out for out, is_wanted in zip(results, differentiable, strict=True) if is_wanted]
        constant = [place for place, out in enumerate(our_wanted) if not out.requires_grad]
        if constant:
            return [told("differing", f"result {constant[0]} requires no gradient, in torch it does")]
        our_seeds = [opgrid.from_dlpack(seed.detach().resolve_conj().clone()).requires_grad_() for seed in seeds]
        found = opgrid.autograd.grad(our_wanted, our_leaves, our_seeds, create_graph=True, allow_unused=True)
    except Exception as error:
        return [told("differing", f"opgrid: {type(error).__name__}: {str(error)[:400]}")]
    if broken:
        # What has no elements, or is no number, cannot be changed so that it is noticed.
        if not all(grad is None or bool((grad == grad).all()) for grad in found) or not any(
            grad is not None and grad.numel() for grad in found
        ):
            return [told("constant")]
        found = tuple(None if grad is None else grad * 2 + 1 for grad in found)
    text = difference(found, expected)
    if text is not None:
        return [told("differing", text)]
    checked = [] if broken or not with_checks else checks(told, case.call.arguments, overload, function, differentiable)
    return [told("passed"), *second(told, found, expected, our_leaves + our_seeds, leaves + seeds), *checked]


def checks(told: Any, arguments: Any, overload: str, function: Any, differentiable: list[bool]) -> list[Result]:
    """Compares opgrid's gradients, and theirs, with differences."""
    import convert
    import opgrid
    import torch

    packet, _, name = overload.partition(".")
    if packet == "as_strided" and any(tensor.offset for tensor in arguments.tensors()):
        # It reads memory beyond its argument, which the arguments of a check do not have.
        return []
    ours = getattr(getattr(opgrid.ops.aten, packet), name or "default")
    found = []
    for second in (False, True):
        given = convert.for_opgrid(arguments)
        leaves = [tensor for tensor in given.tensors if tensor.dtype in (opgrid.float64, opgrid.complex128)]
        for leaf in leaves:
            leaf.requires_grad_(True)
        check = opgrid.autograd.gradgradcheck if second else opgrid.autograd.gradcheck
        state = "second checked" if second else "checked"
        call = of_leaves(ours, given, leaves, differentiable)
        try:
            # Smaller steps where an element is within one of what has no derivative.
            if not check(call, leaves, fast_mode=True, raise_exception=False):
                check(call, leaves, fast_mode=True, eps=1e-8)
            found.append(told(state))
            continue
        except opgrid.autograd.GradcheckError as error:
            text = f"{state}: {error}"
        except Exception as error:
            text = f"{state}: opgrid: {type(error).__name__}: {str(error)[:400]}"
        given = convert.for_torch(arguments)
        leaves = [tensor for tensor in given.tensors if tensor.dtype in (torch.float64, torch.complex128)]
        for leaf in leaves:
            leaf.requires_grad_(True)
        check = torch.autograd.gradgradcheck if second else torch.autograd.gradcheck
        try:
            check(of_leaves(function, given, leaves, differentiable), leaves, fast_mode=True, nondet_tol=1e3, check_undefined_grad=False)
            found.append(told("differing", text))
        except Exception:
            found.append(told("unfit"))
    return found


def of_leaves(function: Any, given: Any, leaves: list[Any], differentiable: list[bool]) -> Callable[..., Any]:
    """The call as a function of the tensors that gradients are asked for; its results are those that have gradients."""
    import convert

    def call(*new: Any) -> Any:
        changed = {id(leaf): other for leaf, other in zip(leaves, new, strict=True)}

        def other(value: Any) -> Any:
            return changed.get(id(value), value)

        results = flat(function(*convert.rebuilt(given.args, other), **convert.rebuilt(given.kwargs, other)))
        return tuple(result for result, wanted in zip(results, differentiable, strict=True) if wanted)

    return call


def second(told: Any, found: Any, expected: Any, our_inputs: list[Any], inputs: list[Any]) -> list[Result]:
    """Compares the gradients of gradients."""
    import opgrid
    import torch

    outputs = [grad for grad in expected if grad is not None and grad.requires_grad]
    if not outputs:
        return []
    torch.manual_seed(3)
    try:
        seeds = [torch.randn_like(out) for out in outputs]
        expected_second = torch.autograd.grad(outputs, inputs, seeds, allow_unused=True)
    except Exception:
        return []
    try:
        ours = [grad for grad, theirs in zip(found, expected, strict=True) if theirs is not None and theirs.requires_grad]
        ours = [opgrid.zeros_like(out) if out is None else out for out, _ in zip(ours, outputs, strict=True)]
        our_seeds = [opgrid.from_dlpack(seed.resolve_conj().clone()) for seed in seeds]
        present = [(out, seed) for out, seed in zip(ours, our_seeds, strict=True) if out.requires_grad]
        found_second: Any = [None] * len(our_inputs)
        if present:
            found_second = opgrid.autograd.grad([out for out, _ in present], our_inputs, [seed for _, seed in present], allow_unused=True)
    except Exception as error:
        return [told("differing", f"second: opgrid: {type(error).__name__}: {str(error)[:400]}")]
    text = difference(found_second, expected_second)
    return [told("second passed")] if text is None else [told("differing", f"second: {text}")]


def flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in flat(part)]
    return [value]


def difference(found: Any, expected: Any) -> str | None:
    """What differs between gradients; nothing is as good as zeros."""
    import convert
    import torch

    for place, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        if ours is None and theirs is None:
            continue
        if ours is None:
            if theirs.abs().sum() == 0:
                continue
            return f"gradient {place}: found none, expected {theirs.tolist()!s:.300}"
        if theirs is not None and tuple(ours.shape) != tuple(theirs.shape):
            return f"gradient {place}: found sizes {list(ours.shape)}, expected {list(theirs.shape)}"
        ours = convert.as_torch(ours.detach().clone())
        # A gradient of torch's may be zeros without memory.
        theirs = torch.zeros_like(ours) if theirs is None else torch.zeros_like(ours) + theirs.detach().resolve_conj().resolve_neg()
        if ours.dtype != theirs.dtype:
            return f"gradient {place}: found {ours.dtype}, expected {theirs.dtype}"
        if ours.is_complex():
            # At a pole a complex number is infinite or no number, as the formula divides; both say that there is none.
            ours, theirs = (torch.where(number.isfinite(), number, torch.nan) for number in (ours, theirs))
        if not torch.allclose(ours, theirs, rtol=1e-7, atol=1e-7, equal_nan=True):
            return f"gradient {place}: found {ours.tolist()!s:.300}, expected {theirs.tolist()!s:.300}"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
