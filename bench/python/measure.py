"""Measures calls from Python for ``cargo xtask bench python``: ``measure.py MODULE measure [BEGINNING]``.

MODULE is ``opgrid`` or ``torch``, which do the same work. A line ``NAME NANOSECONDS`` (or megabytes) for each figure.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import timeit
from collections.abc import Callable
from typing import Any

ROUNDS = 5
SECONDS = 0.05


def lowest(call: Callable[[], Any]) -> float:
    """Nanoseconds that a call takes at best."""
    timer = timeit.Timer(call)
    count = 1
    while (taken := timer.timeit(count)) < SECONDS / 10:
        count *= 4
    count = max(1, int(count * SECONDS / taken))
    return min(timer.repeat(ROUNDS, count)) / count * 1e9


def of_imports(module: str, measured: str) -> float:
    """What a process takes that imports the module, beyond one that does not."""
    program = {
        "seconds": f"import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)",
        "mib": "import os, sys\ndef size(): return int(open('/proc/self/statm').read().split()[1]) * 4096 / 2**20\n"
        f"before = size(); import {module}; print(size() - before)",
    }[measured]
    found = [float(subprocess.check_output([sys.executable, "-c", program])) for _ in range(3)]
    return min(found) * (1e9 if measured == "seconds" else 1)


def cases(name: str) -> dict[str, Callable[[], float]]:
    m = importlib.import_module(name)
    library = importlib.import_module(f"{name}.library")
    if name == "torch":
        m.set_num_threads(1)
    x, y, z = m.ones(3), m.ones(3), m.ones(10)
    add, empty, overload = m.add, m.empty, m.ops.aten.add.Tensor

    # Both libraries read annotations, which have to be types.
    def scale(x, by):
        return x.clone()

    scale.__annotations__ = {"x": m.Tensor, "by": float, "return": m.Tensor}
    custom = library.custom_op("bench_python::scale", scale, mutates_args=())
    owner = library.Library("bench_python_kernels", "FRAGMENT")
    owner.define("same(Tensor x) -> Tensor")
    owner.impl("same", lambda x: x.clone(), "CPU")
    kernel = m.ops.bench_python_kernels.same.default

    def register() -> None:
        fragment = library.Library("bench_python_dropped", "FRAGMENT")
        fragment.define("op(Tensor x) -> Tensor")
        fragment.impl("op", lambda x: x, "CPU")
        fragment._destroy()

    def exchange() -> Any:
        return m.from_numpy(z_numpy)

    measured: dict[str, Callable[[], Any]] = {
        "py_add": lambda: x + y,
        "py_add_scalar": lambda: x + 1,
        "py_empty": lambda: empty(3),
        "py_custom_op": lambda: custom(x, 2.0),
        "py_function": lambda: add(x, y),
        "py_method": lambda: x.add(y),
        "py_overload": lambda: overload(x, y),
        "py_in_place": lambda: x.mul_(1),
        "py_index": lambda: z[1:3],
        "py_shape": lambda: x.shape,
        "py_item": lambda: z[0].item(),
        # The default keeps the library.
        "py_kernel": lambda _owner=owner: kernel(x),
        "py_register": register,
        "py_from_numpy": exchange,
        "py_numpy": lambda: z.numpy(),
    }
    try:
        z_numpy = z.numpy()
    except ImportError:
        del measured["py_from_numpy"], measured["py_numpy"]
    figures = {name: (lambda call=call: lowest(call)) for name, call in measured.items()}
    figures["import_seconds"] = lambda: of_imports(name, "seconds")
    figures["import_mib"] = lambda: of_imports(name, "mib")
    return figures


def main() -> None:
    module, command, *beginning = sys.argv[1:]
    if command != "measure":
        sys.exit(f"expected `measure`, found `{command}`")
    for name, figure in cases(module).items():
        if name.startswith(beginning[0] if beginning else ""):
            print(name, figure())


if __name__ == "__main__":
    main()
