"""Calls the operators of torch's autocast list for the CPU in both libraries, with autocast on, and compares the dtypes of results.

`cargo xtask conformance autocast` builds the package and runs this. Each operator that opgrid has is called in bfloat16 and float16
with arguments of float32, of both narrow dtypes, of float64 and mixed ones. Both have to give the same dtypes, or both an error.
With `--break dtype` opgrid's answers are changed: that has to be noticed.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

sys.dont_write_bytecode = True

NARROW = ("bfloat16", "float16")

Make = Callable[..., Any]
"""Gives the next floating-point tensor of those sizes."""

CASES: dict[str, Callable[[Make, Any], tuple[Any, ...]]] = {
    "adaptive_avg_pool3d": lambda t, m: (t(1, 2, 4, 4, 4), [2, 2, 2]),
    "adaptive_max_pool3d": lambda t, m: (t(1, 2, 4, 4, 4), [2, 2, 2]),
    "addbmm": lambda t, m: (t(2, 2), t(3, 2, 2), t(3, 2, 2)),
    "addmm": lambda t, m: (t(2, 2), t(2, 2), t(2, 2)),
    "avg_pool3d": lambda t, m: (t(1, 2, 4, 4, 4), [2, 2, 2]),
    "baddbmm": lambda t, m: (t(3, 2, 2), t(3, 2, 2), t(3, 2, 2)),
    "binary_cross_entropy": lambda t, m: (t(3), t(3)),
    "binary_cross_entropy_with_logits": lambda t, m: (t(3), t(3)),
    "bmm": lambda t, m: (t(3, 2, 2), t(3, 2, 2)),
    "cat": lambda t, m: ([t(2), t(2)],),
    "cdist": lambda t, m: (t(3, 2), t(4, 2)),
    "conv1d": lambda t, m: (t(1, 2, 5), t(3, 2, 2), t(3)),
    "conv1d.padding": lambda t, m: (t(1, 2, 5), t(3, 2, 3), t(3), [1], "same"),
    "conv2d": lambda t, m: (t(1, 2, 5, 5), t(3, 2, 2, 2), t(3)),
    "conv2d.padding": lambda t, m: (t(1, 2, 5, 5), t(3, 2, 3, 3), t(3), [1, 1], "same"),
    "conv3d": lambda t, m: (t(1, 2, 4, 4, 4), t(3, 2, 2, 2, 2), t(3)),
    "conv3d.padding": lambda t, m: (t(1, 2, 4, 4, 4), t(3, 2, 3, 3, 3), t(3), [1, 1, 1], "same"),
    "conv_transpose1d": lambda t, m: (t(1, 2, 5), t(2, 3, 2), t(3)),
    "conv_transpose2d.input": lambda t, m: (t(1, 2, 5, 5), t(2, 3, 2, 2), t(3)),
    "conv_transpose3d.input": lambda t, m: (t(1, 2, 4, 4, 4), t(2, 3, 2, 2, 2), t(3)),
    "cosine_embedding_loss": lambda t, m: (t(3, 4), t(3, 4), t(3)),
    "cross_entropy_loss": lambda t, m: (t(3, 4), m.tensor([0, 1, 2])),
    "fft_fft": lambda t, m: (t(8),),
    "fft_fft2": lambda t, m: (t(8, 8),),
    "fft_fftn": lambda t, m: (t(8, 8),),
    "fft_hfft": lambda t, m: (t(8),),
    "fft_ifft": lambda t, m: (t(8),),
    "fft_ifft2": lambda t, m: (t(8, 8),),
    "fft_ifftn": lambda t, m: (t(8, 8),),
    "fft_ihfft": lambda t, m: (t(8),),
    "fft_irfft": lambda t, m: (t(8),),
    "fft_irfft2": lambda t, m: (t(8, 8),),
    "fft_irfftn": lambda t, m: (t(8, 8),),
    "fft_rfft": lambda t, m: (t(8),),
    "fft_rfft2": lambda t, m: (t(8, 8),),
    "fft_rfftn": lambda t, m: (t(8, 8),),
    "grid_sampler": lambda t, m: (t(1, 2, 4, 4), t(1, 3, 3, 2), 0, 0, False),
    "grid_sampler_2d": lambda t, m: (t(1, 2, 4, 4), t(1, 3, 3, 2), 0, 0, False),
    "grid_sampler_3d": lambda t, m: (t(1, 2, 4, 4, 4), t(1, 3, 3, 3, 3), 0, 0, False),
    "hinge_embedding_loss": lambda t, m: (t(3), t(3)),
    "huber_loss": lambda t, m: (t(3), t(3)),
    "index_copy": lambda t, m: (t(3, 2), 0, m.tensor([0, 2]), t(2, 2)),
    "kl_div": lambda t, m: (t(3), t(3)),
    "l1_loss": lambda t, m: (t(3), t(3)),
    "linear": lambda t, m: (t(3, 2), t(4, 2), t(4)),
    "margin_ranking_loss": lambda t, m: (t(3), t(3), t(3)),
    "matmul": lambda t, m: (t(3, 2), t(2)),
    "max_pool3d": lambda t, m: (t(1, 2, 4, 4, 4), [2, 2, 2]),
    "mm": lambda t, m: (t(2, 2), t(2, 2)),
    "mse_loss": lambda t, m: (t(3), t(3)),
    "nll_loss": lambda t, m: (t(3, 4), m.tensor([0, 1, 2])),
    "nll_loss2d": lambda t, m: (t(1, 4, 2, 2), m.zeros(1, 2, 2, dtype=m.int64)),
    "poisson_nll_loss": lambda t, m: (t(3), t(3), True, False, 1e-8, 1),
    "polar": lambda t, m: (t(3), t(3)),
    "prelu": lambda t, m: (t(2, 3), t(1)),
    "prod": lambda t, m: (t(3),),
    "prod.dim_int": lambda t, m: (t(3, 2), 0),
    "reflection_pad1d": lambda t, m: (t(1, 2, 4), [1, 1]),
    "reflection_pad2d": lambda t, m: (t(1, 2, 4, 4), [1, 1, 1, 1]),
    "replication_pad1d": lambda t, m: (t(1, 2, 4), [1, 1]),
    "replication_pad2d": lambda t, m: (t(1, 2, 4, 4), [1, 1, 1, 1]),
    "replication_pad3d": lambda t, m: (t(1, 2, 4, 4, 4), [1, 1, 1, 1, 1, 1]),
    "scaled_dot_product_attention": lambda t, m: (t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4)),
    "smooth_l1_loss": lambda t, m: (t(3), t(3)),
    "soft_margin_loss": lambda t, m: (t(3), t(3)),
    "stack": lambda t, m: ([t(2), t(2)],),
    "trace": lambda t, m: (t(2, 2),),
    "triplet_margin_loss": lambda t, m: (t(3, 4), t(3, 4), t(3, 4)),
    "view_as_complex": lambda t, m: (t(3, 2),),
}
"""The arguments of the operators in the list that opgrid has, by name."""


def dtypes_of(lower: str) -> Iterator[tuple[str, ...]]:
    """The dtypes of floating-point arguments, which go around where there are more."""
    other = NARROW[1 - NARROW.index(lower)]
    for one in ("float32", lower, other, "float64"):
        yield (one,)
    for pair in (("float32", lower), (lower, "float32"), ("float32", other), (lower, other), ("float32", "float64"), ("float64", lower)):
        yield pair


def answer(module: Any, name: str, lower: str, dtypes: tuple[str, ...]) -> str:
    """The dtypes of the results of a call with autocast on, or that there was an error."""
    made = 0

    def make(*sizes: int) -> Any:
        nonlocal made
        dtype = getattr(module, dtypes[made % len(dtypes)])
        made += 1
        return module.full(sizes, 0.5, dtype=module.float32).to(dtype)

    base, _, overload = name.partition(".")
    operator = getattr(getattr(module.ops.aten, base), overload or "default")
    arguments = CASES[name](make, module)
    with module.autocast("cpu", dtype=getattr(module, lower)):
        try:
            results = operator(*arguments)
        except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
            return f"an error: {str(error).splitlines()[0][:100]}"
    results = results if isinstance(results, (tuple, list)) else [results]
    return ", ".join(str(result.dtype).partition(".")[2] for result in results)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME[,NAME…]", help="operators, such as mm")
    parser.add_argument("--break", dest="broken", choices=["dtype"], help="corrupt opgrid's answers, which has to be noticed")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    import opgrid

    listed = [name.partition("::")[2] for name in torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCPU")]
    there = sorted(name for name in listed if opgrid._opgrid.is_defined(f"aten::{name}"))
    untried = [name for name in there if name not in CASES]
    if untried:
        print(f"operators of torch's list without arguments here: {', '.join(untried)}")
        return 1
    names = options.only.split(",") if options.only else there
    calls = differing = 0
    for name in names:
        for lower in NARROW:
            for dtypes in dtypes_of(lower):
                expected, found = answer(torch, name, lower, dtypes), answer(opgrid, name, lower, dtypes)
                if options.broken:
                    found = found.replace("float32", "float64")
                calls += 1
                is_same = expected == found or expected.startswith("an error") and found.startswith("an error")
                if not is_same:
                    differing += 1
                    print(f"{name} in {lower}, of {' and '.join(dtypes)}: {found}, in torch {expected}")
    print(f"autocast: {len(names)} of {len(listed)} operators of torch's list, {calls} calls, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
