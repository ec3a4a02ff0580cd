"""Runs every case with torch and with opgrid and compares how it ends: values, shapes, dtypes, kinds of exceptions.

Programs for whole modules follow: namespaces, distributions, assertions, trees. Exit status 1 where a case that is not listed as
wanted ends differently, or a listed one does not. An exception is the same if ours is also of the builtin class that torch raises.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from typing import Any

import assertions
import cases
import distributions
import namespaces
import opgrid
import torch
import trees
from training import checkpoints, loading, optimizers, recomputation, schedulers

BUILTIN = (IndexError, TypeError, ValueError, AttributeError, NotImplementedError, RuntimeError, KeyError, ZeroDivisionError)


def builtin_of(error: BaseException) -> type[BaseException]:
    """The builtin class that an exception is of, the narrowest first."""
    return next((kind for kind in BUILTIN if isinstance(error, kind)), type(error))


def plain(m: Any, value: Any) -> Any:
    """The value as something that both sides have alike."""
    if isinstance(value, m.Tensor):
        return "tensor", str(value.dtype).partition(".")[2], tuple(value.shape), plain(m, value.tolist())
    if isinstance(value, float):
        return "nan" if math.isnan(value) else f"{value:.6g}"
    if isinstance(value, tuple) and not isinstance(value, m.Size):
        return tuple(plain(m, item) for item in value)
    if isinstance(value, list):
        return [plain(m, item) for item in value]
    if isinstance(value, (bool, int, str, type(None))):
        return value if not isinstance(value, str) else value.replace("opgrid.", "torch.")
    return repr(value).replace("opgrid.", "torch.")


def end_of(m: Any, program: str) -> tuple[str, Any, str]:
    """How a program ends with a library: sort, value, and a text for people."""
    libraries: list[Any] = []

    def define(schema: str, kernel: Any, key: str | None) -> Any:
        library = m.library.Library("conformance_case", "FRAGMENT")
        libraries.append(library)
        library.define(schema)
        name = schema.partition("(")[0]
        if kernel is not None:
            library.impl(name, kernel, key)
        return getattr(m.ops.conformance_case, name)

    def typed(x, n=1):
        return x * n

    def same(x):
        return x

    typed.__annotations__ = {"x": m.Tensor, "n": int, "return": m.Tensor}
    same.__annotations__ = {"x": m.Tensor, "return": m.Tensor}
    names = {
        "m": m, "x": m.tensor([1.0, 2.0, 3.0]), "define": define, "typed": typed, "same": same, "untyped": lambda x: x,
    }  # fmt: skip
    *statements, last = program.split("\n")
    try:
        exec("\n".join(statements), names)
        value = plain(m, eval(last, names))
        return "value", value, str(value)
    except Exception as error:
        return "raises", error, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    finally:
        for library in libraries:
            library._destroy()


def same_end(theirs: tuple[str, Any, str], ours: tuple[str, Any, str]) -> bool:
    if theirs[0] != ours[0]:
        return False
    if theirs[0] == "value":
        return bool(theirs[1] == ours[1])
    return isinstance(ours[1], builtin_of(theirs[1]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", help="print both ends of the cases that contain this text")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    met: set[str] = set()
    unwanted = count = 0
    for chapter, text in cases.CHAPTERS.items():
        programs = [line.replace("\\n", "\n").strip() for line in text.strip().splitlines()]
        equal = 0
        for program in programs:
            count += 1
            theirs, ours = end_of(torch, program), end_of(opgrid, program)
            key = program.replace("\n", "\\n")
            if options.show is not None and options.show in key:
                print(f"{key}\n  torch   {theirs[2]}\n  opgrid  {ours[2]}")
            if same_end(theirs, ours):
                equal += 1
            elif key in cases.WANTED:
                met.add(key)
            else:
                unwanted += 1
                print(f"{chapter}: {key}\n  torch   {theirs[2]}\n  opgrid  {ours[2]}")
        print(f"{chapter}: {equal} of {len(programs)} end alike")
    for stale in sorted(set(cases.WANTED) - met):
        unwanted += 1
        print(f"listed as a wanted difference, but both end alike: {stale}")
    print(f"{count} cases, {len(met)} wanted differences, {unwanted} others")
    others = [program.run(options.show) for program in (namespaces, distributions, assertions, trees)]
    for program in (optimizers, schedulers, loading, checkpoints, recomputation):
        print(program.__name__, end=": ", flush=True)
        others.append(program.main())
    return 1 if unwanted or any(others) else 0


if __name__ == "__main__":
    sys.exit(main())
