"""Prints the names that `opgrid coverage` counts, by namespaces of torch.

    python record.py torch > torch.txt       # the public names of torch, with torch
    python record.py package > package.txt   # those that opgrid's Python package has and the registry does not, with opgrid

The second file is compared with the package by `python/tests/test_coverage.py`.
"""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PREFIXES = {"torch": "", "torch.linalg": "linalg_", "torch.fft": "fft_", "torch.special": "special_"}
"""The namespaces whose functions are operators, and what the operators' names begin with; methods of `torch.Tensor` are, too."""


def read(file: str) -> dict[str, list[str]]:
    """The names of a file, by namespaces."""
    found: dict[str, list[str]] = {}
    for word in (FOLDER / file).read_text().partition("\n\n")[2].split():
        if word.startswith("["):
            names = found[word.strip("[]")] = []
        else:
            names.append(word)
    return found


def printed(heading: str, names: dict[str, Iterable[str]]) -> str:
    """The text of a file."""
    sections = [f"[{namespace}]\n" + textwrap.fill(" ".join(sorted(own)), 120) for namespace, own in names.items()]
    return "\n\n".join([heading, *sections]) + "\n"


def torch_names() -> str:
    import torch
    from torch.overrides import get_ignored_functions, get_overridable_functions

    listed = {id(one) for own in get_overridable_functions().values() for one in own} | {id(one) for one in get_ignored_functions()}

    def public(module: Any, belongs: Callable[[Any], bool]) -> list[str]:
        values = ((name, getattr(module, name)) for name in dir(module) if not name.startswith("_"))
        return [name for name, value in values if belongs(value)]

    def is_function(value: Any) -> bool:
        return callable(value) and not isinstance(value, type)

    def of_class(base: type) -> Callable[[Any], bool]:
        return lambda value: isinstance(value, type) and issubclass(value, base) and value is not base

    names = {
        "torch": public(torch, lambda value: is_function(value) and id(value) in listed),
        "torch.Tensor": [name for name in dir(torch.Tensor) if not name.startswith("_")],
        "torch.linalg": [*public(torch.linalg, is_function), "LinAlgError"],
        "torch.fft": public(torch.fft, is_function),
        "torch.special": public(torch.special, is_function),
        "torch.nn.functional": public(torch.nn.functional, lambda value: is_function(value) and id(value) in listed),
        "torch.nn": public(torch.nn, of_class(torch.nn.Module)),
        "torch.optim": public(torch.optim, of_class(torch.optim.Optimizer)),
        "torch.func": public(torch.func, is_function),
    }
    version = torch.__version__.partition("+")[0]
    return printed(f"# The public names of torch {version}, by namespaces; record.py prints this file.", names)


def registered(namespace: str) -> set[str]:
    """The names of a namespace that the registry has."""
    from opgrid import _opgrid

    if namespace == "torch.Tensor":
        return set(_opgrid.method_names())
    prefix = PREFIXES.get(namespace)
    own = [] if prefix is None else _opgrid.function_names()
    return {name.removeprefix(prefix) for name in own if name.startswith(prefix)}


def is_there(namespace: str, name: str) -> bool:
    """Whether opgrid's Python package has a name of torch, where torch has it."""
    import opgrid

    module = namespace.replace("torch", "opgrid", 1)
    owner = opgrid.zeros(1) if namespace == "torch.Tensor" else importlib.import_module(module)
    try:
        getattr(owner, name)
    except AttributeError:
        # A property may be missing in this tensor only.
        return hasattr(type(owner), name)
    except Exception:
        # It is there, and not for this tensor.
        return True
    return True


def package_names() -> str:
    names = {
        namespace: [name for name in own if name not in registered(namespace) and is_there(namespace, name)]
        for namespace, own in read("torch.txt").items()
    }
    return printed("# The names of torch.txt that the Python package has and the registry does not; record.py prints this file.", names)


if __name__ == "__main__":
    sys.stdout.write({"torch": torch_names, "package": package_names}[sys.argv[1]]())
