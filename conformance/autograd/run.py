"""Compares the gradients of operators, and the gradients of gradients, with torch's, on torch's own samples.

`cargo xtask conformance autograd` builds the package and runs this. The calls are those of `conformance/operators` in float64 and
complex128: every tensor of these dtypes among the arguments requires a gradient, results get the same gradients on both sides,
and what comes back is compared. Then `gradcheck` and `gradgradcheck` compare opgrid's gradients with differences; where torch's
own checks fail on torch's gradients, too, the call is unfit for that (large numbers, edges, no elements). Of each overload some
calls are made again at special points (`special.py`): zeros, equal elements, ties, no elements. The exit status is 1 where
something differs that `departures.py` does not name.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "operators"))

import entries  # noqa: E402
from entries import Result, difference, flat  # noqa: E402

STATES = ("passed", "second passed", "checked", "second checked", "unfit", "differing", "deliberate", "refused", "constant", "skipped")


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


def entry(op: Any, options: argparse.Namespace) -> list[Result]:
    """Every call of an entry, and of each overload and dtype some at special points."""
    import samples
    import special

    points = 8 if options.all else options.special
    results: list[Result] = []
    moved: Counter[tuple[Any, ...]] = Counter()
    for case in entries.cases(op, None if options.all else options.max_samples):
        found = compared(case, op, options.broken)
        results.extend(found)
        kind = (case.call.overload, *(tensor.dtype for tensor in case.call.arguments.tensors()))
        if options.broken or moved[kind] == points or not any(result.state == "passed" for result in found):
            continue
        moved[kind] += 1
        for point, arguments in special.variants(case.call.overload, case.call.arguments):
            at = samples.Case(f"{case.label} {point}", replace(case.call, arguments=arguments))
            results.extend(compared(at, op, options.broken, with_checks=False))
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
        return entries.told(op, case, state, text)

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


if __name__ == "__main__":
    sys.exit(entries.main(STATES, entry, options_of(sys.argv[1:])))
