"""Compares transforms of functions with torch.func's, on the samples that torch's own tests of these use.

`cargo xtask conformance transforms` builds the package and runs this. The calls are those of `conformance/autograd`. Each one is the
function of its tensors that both libraries transform with the same arguments:

- ``vmap``: with each subset of the tensors as a batch, along the first and the last dimension, once more nested in another one;
  the answer is that of a loop in torch;
- ``jvp``, ``vjp``, and each of them in a batch, of a ``vjp``, and a batch of that (``vmapvjpvjp``).

Programs that people write with transforms run with both libraries first (`examples.py`).

The exit status is 1 where something differs that `conformance/autograd/departures.py` does not name.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
os.environ.setdefault("OMP_NUM_THREADS", "1")
for folder in ("operators", "autograd"):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / folder))

import entries  # noqa: E402
import examples  # noqa: E402
from entries import Result, difference, flat  # noqa: E402

STATES = ("vmap passed", "jvp passed", "vjp passed", "nested passed", "differing", "deliberate", "refused", "data-dependent", "constant", "skipped")


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME[,NAME…]", help="entries of the database or packets")
    parser.add_argument("--max-samples", type=int, default=5, metavar="N", help="samples for each dtype (5)")
    parser.add_argument("--all", action="store_true", help="every sample")
    parser.add_argument("--details", type=int, default=1, metavar="N", help="print so many differing calls of each overload")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes at a time (one for each core)")
    parser.add_argument("--break", dest="broken", action="store_true", help="change opgrid's answers, which has to be noticed")
    return parser.parse_args(arguments)


@dataclass(frozen=True)
class Side:
    """A call with one of the libraries, as a function of its tensors."""

    library: Any
    name: str
    call: Callable[..., Any]
    tensors: list[Any]

    def with_results(self, places: list[int]) -> Callable[..., tuple[Any, ...]]:
        """The same function with some of its results only."""
        return lambda *tensors: tuple(flat(self.call(*tensors))[place] for place in places)


def sides(arguments: Any, overload: str) -> tuple[Side, Side]:
    """The call with opgrid, and with torch."""
    import convert
    import opgrid
    import scope
    import torch

    packet, _, name = overload.partition(".")
    ours = getattr(getattr(opgrid.ops.aten, packet), name or "default")
    theirs = scope.overload_of(overload)
    return of(opgrid, overload, ours, convert.for_opgrid(arguments)), of(torch, overload, theirs, convert.for_torch(arguments))


def of(library: Any, name: str, function: Any, given: Any) -> Side:
    import convert

    def call(*new: Any) -> Any:
        changed = {id(tensor): other for tensor, other in zip(given.tensors, new, strict=True)}

        def other(value: Any) -> Any:
            return changed.get(id(value), value)

        return function(*convert.rebuilt(given.args, other), **convert.rebuilt(given.kwargs, other))

    return Side(library, name, call, list(given.tensors))


def entry(op: Any, options: argparse.Namespace) -> list[Result]:
    """Every transform of every call of an entry."""
    results: list[Result] = []
    for case in entries.cases(op, None if options.all else options.max_samples):
        results.extend(compared(case, op, options.broken))
    return results


def compared(case: Any, op: Any, broken: bool) -> Iterator[Result]:
    import opgrid
    import scope
    import torch

    overload = case.call.overload
    function = scope.overload_of(overload)
    if function is None or function._schema.is_mutable or torch.Tag.nondeterministic_seeded in function.tags or "empty" in overload:
        return

    def told(state: str, text: str = "") -> Result:
        return entries.told(op, case, state, text)

    if not opgrid._opgrid.is_defined(f"aten::{overload}"):
        yield told("skipped")
        return
    if overload == "as_strided" and any(tensor.offset for tensor in case.call.arguments.tensors()):
        # It reads memory beyond its argument, which the arguments of a transform do not have.
        yield told("skipped")
        return
    ours, theirs = sides(case.call.arguments, overload)
    if not theirs.tensors:
        return
    try:
        outputs = flat(theirs.call(*theirs.tensors))
    except Exception:
        yield told("refused")
        return
    if not all(isinstance(out, torch.Tensor) for out in outputs):
        yield told("skipped")
        return
    yield from batches(told, ours, theirs, broken)
    yield from derivatives(told, ours, theirs, broken)


def batches(told: Callable[..., Result], ours: Side, theirs: Side, broken: bool) -> Iterator[Result]:
    """Batches of two examples of each subset of the tensors, beside a loop in torch."""
    import opgrid
    import torch

    places = range(len(theirs.tensors))
    subsets = [subset for size in range(1, len(theirs.tensors) + 1) for subset in itertools.combinations(places, size)]
    # Lists of many tensors have too many subsets: each one, and all.
    if len(subsets) > 15:
        subsets = [(place,) for place in places] + [tuple(places)]
    # What strides say of memory is another thing where examples lie last.
    dims = (0,) if ours.name.startswith("as_strided") else (0, -1)
    for subset, dim in [(subset, dim) for subset in subsets for dim in dims]:
        others = [second_example(tensor) if place in subset else tensor for place, tensor in enumerate(theirs.tensors)]
        try:
            loop = [flat(theirs.call(*tensors)) for tensors in (theirs.tensors, others)]
            expected = [torch.stack(pair) for pair in zip(*loop, strict=True)]
        except Exception:
            # Examples may have results of different sizes, or the other one is not valid.
            yield told("refused")
            continue
        pairs = list(zip(theirs.tensors, others, strict=True))
        given = [ours_of(torch.stack(pair, dim)) if place in subset else ours.tensors[place] for place, pair in enumerate(pairs)]
        in_dims = tuple(dim if place in subset else None for place in places)

        def run(given: list[Any] = given, in_dims: tuple[int | None, ...] = in_dims) -> Any:
            return flat(opgrid.func.vmap(lambda *tensors: tuple(flat(ours.call(*tensors))), in_dims=in_dims)(*given))

        def in_torch(pairs: list[Any] = pairs, subset: Any = subset, dim: int = dim, in_dims: tuple[int | None, ...] = in_dims) -> Any:
            given = [torch.stack(pair, dim) if place in subset else pair[0] for place, pair in enumerate(pairs)]
            return torch.func.vmap(theirs.call, in_dims=in_dims)(*given)

        result = judged(told, "vmap", f"vmap with in_dims={in_dims}", run, expected, broken)
        yield told("refused") if result.state == "differing" and ": opgrid: " in result.text and not runs(in_torch) else result
        if dim == 0 and len(subset) == len(places):
            twice = [opgrid.stack([tensor, tensor]) for tensor in given]

            def nested(twice: list[Any] = twice) -> Any:
                call = opgrid.func.vmap(opgrid.func.vmap(lambda *tensors: tuple(flat(ours.call(*tensors)))))
                return flat(call(*twice))

            result = judged(told, "nested", "vmap in vmap", nested, [torch.stack((one, one)) for one in expected], broken)
            yield told("refused") if result.state == "differing" and ": opgrid: " in result.text and not runs(in_torch) else result


def runs(function: Callable[[], Any]) -> bool:
    """Whether a function ends without an error."""
    try:
        function()
    except Exception:
        return False
    return True


def second_example(tensor: Any) -> Any:
    """Another example like the tensor; integers stay, since they may be indices or ranges."""
    import torch

    is_number = tensor.dtype.is_floating_point or tensor.dtype.is_complex
    return tensor.flip(-1) if is_number and tensor.dim() else tensor * 0.5 if is_number else tensor.clone(memory_format=torch.contiguous_format)


def derivatives(told: Callable[..., Result], ours: Side, theirs: Side, broken: bool) -> Iterator[Result]:
    """Both modes, of a vector and of a batch of two, and derivatives of derivatives."""
    import torch

    exact = (torch.float64, torch.complex128)
    moving = [place for place, tensor in enumerate(theirs.tensors) if tensor.dtype in exact]
    if not moving:
        return
    leaves = [theirs.tensors[place].detach().clone().requires_grad_() for place in moving]
    try:
        outputs = flat(theirs.call(*placed(theirs, moving, leaves)))
    except Exception:
        yield told("refused")
        return
    wanted = [place for place, out in enumerate(outputs) if out.requires_grad]
    if not wanted:
        yield told("constant")
        return
    torch.manual_seed(2)
    # Where elements share memory, torch writes one tangent over the other.
    primals = [theirs.tensors[place].contiguous() for place in moving]
    tangents, more = ([torch.randn_like(primal) for primal in primals] for _ in range(2))
    cotangents, others = ([torch.randn_like(outputs[place]) for place in wanted] for _ in range(2))
    stacked = [torch.stack((primal, second_example(primal))) for primal in primals]
    pairs = [torch.stack(pair) for pair in zip(tangents, more, strict=True)]
    copairs = [torch.stack(pair) for pair in zip(cotangents, others, strict=True)]
    vectors = [*primals, *tangents]
    covectors = [*primals, *cotangents]
    count = len(moving)

    def both(side: Side) -> tuple[Any, Any]:
        """The products with the Jacobian from the right and from the left, as functions of tensors only."""
        call, func = side.with_results(wanted), side.library.func

        def only(*new: Any) -> Any:
            return call(*placed(side, moving, list(new)))

        def jvp(*all: Any) -> Any:
            return func.jvp(only, all[:count], all[count:])[1]

        def vjp(*all: Any) -> Any:
            return func.vjp(only, *all[:count])[1](all[count:])

        return jvp, vjp

    def jvp(side: Side, *all: Any) -> Any:
        return both(side)[0](*all)

    def vjp(side: Side, *all: Any) -> Any:
        return both(side)[1](*all)

    def vmapjvp(side: Side, *all: Any) -> Any:
        return side.library.func.vmap(both(side)[0])(*all)

    def vmapvjp(side: Side, *all: Any) -> Any:
        return side.library.func.vmap(both(side)[1])(*all)

    def vjpvjp(side: Side, *all: Any) -> Any:
        inner = both(side)[1]
        half = count + len(wanted)
        return side.library.func.vjp(inner, *all[:half])[1](all[half:])

    def jvpvjp(side: Side, *all: Any) -> Any:
        inner = both(side)[1]
        half = count + len(wanted)
        return side.library.func.jvp(inner, all[:half], all[half:])[1]

    def vmapvjpvjp(side: Side, *all: Any) -> Any:
        return side.library.func.vmap(lambda *all: vjpvjp(side, *all))(*all)

    for group, transform, given in (
        ("jvp", jvp, vectors),
        ("vjp", vjp, covectors),
        ("nested", vmapjvp, [*stacked, *pairs]),
        ("nested", vmapvjp, [*stacked, *copairs]),
        ("nested", vjpvjp, [*covectors, *tangents]),
        ("nested", jvpvjp, [*covectors, *tangents, *others]),
        ("nested", vmapvjpvjp, [*stacked, *copairs, *pairs]),
    ):
        try:
            torch.manual_seed(1)
            expected = flat(transform(theirs, *given))
        except Exception:
            yield told("refused")
            continue
        # Derivatives of derivatives have departures of their own.
        name = transform.__name__
        text = f"second: {name}" if name.count("jvp") + name.count("vjp") > 1 else name
        yield judged(told, group, text, lambda: flat(transform(ours, *map(ours_of, given))), expected, broken)


def placed(side: Side, places: list[int], new: list[Any]) -> list[Any]:
    """The tensors of a call with others at some places."""
    tensors = list(side.tensors)
    for place, tensor in zip(places, new, strict=True):
        tensors[place] = tensor
    return tensors


def ours_of(tensor: Any) -> Any:
    import opgrid

    return opgrid.from_dlpack(tensor.detach().resolve_conj().resolve_neg().clone())


def judged(told: Callable[..., Result], group: str, name: str, run: Callable[[], Any], expected: list[Any], broken: bool) -> Result:
    try:
        found = run()
    except Exception as error:
        if "depends on the data" in str(error):
            return told("data-dependent")
        return told("differing", f"{name}: opgrid: {type(error).__name__}: {str(error)[:400]}")
    if broken:
        found = [value * 2 + 1 for value in found]
    text = difference(found, expected)
    return told(f"{group} passed") if text is None else told("differing", f"{name}: {text}")


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    is_equal = True
    if not options.only and not options.broken:
        # In a process of its own: those of the entries must not inherit threads.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            is_equal = pool.submit(examples.compared).result()
    return max(entries.main(STATES, entry, options), 0 if is_equal else 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
