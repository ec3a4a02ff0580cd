"""Pages about the Python package, from the package itself: signatures and documentation of modules, classes and operators."""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
import re
import types
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import opgrid as og

OVERLOAD = re.compile(r"^(?P<schema>\w+::.+)\n(?P<about>(?:    .*\n?)*)", re.MULTILINE)
"""The documentation of one overload: its schema, and indented lines."""

SESSION = re.compile(r"^(>>> .*(?:\n.+)*)", re.MULTILINE)
"""Lines of an interpreter's session, up to an empty one."""

DUNDERS = frozenset("__call__ __enter__ __exit__ __getitem__ __iter__ __len__".split())
"""The special methods that are not everybody's; all others go without saying."""


def write(folder: Path) -> list[Any]:
    """Writes a page for each public module into the folder, and returns their order."""
    folder.mkdir(parents=True, exist_ok=True)
    found = modules()
    texts = {
        "index": overview(found),
        "functions": operators("Functions", "functions of the package, `og.add(x, y)`", og, og._opgrid.function_names()),
        "methods": operators("Methods of tensors", "methods, `x.add(y)`", og.Tensor, og._opgrid.method_names()),
    }
    texts |= {module.__name__: module_page(module, names) for module, names in found.items()}
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text)
    return [{text.partition("\n")[0].strip("# `"): f"docs/api/{name}.md"} for name, text in texts.items()]


def modules() -> dict[types.ModuleType, list[str]]:
    """The public modules with what their pages describe: names that no package around the module has, so that each has one place.

    A module inside of a package is public if it is a package or says what it offers.
    """
    names = ["opgrid", *sorted(found.name for found in pkgutil.walk_packages(og.__path__, "opgrid."))]
    public = [name for name in names if not any(part.startswith("_") for part in name.split("."))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = {name: importlib.import_module(name) for name in public}
    found = {}
    for name, module in loaded.items():
        if name.count(".") > 1 and not hasattr(module, "__all__") and not hasattr(module, "__path__"):
            continue
        # The root has names of many modules, which are looked for where they belong.
        around = [loaded[outer] for outer in loaded if outer != "opgrid" and name.startswith(f"{outer}.")]
        known = {id(getattr(package, own)) for package in around for own in public_names(package)}
        if own := [one for one in public_names(module) if id(getattr(module, one)) not in known]:
            found[module] = own
    return found


def public_names(module: types.ModuleType) -> list[str]:
    """What a module offers and does not only import: functions and classes of the package. Operators have pages of their own."""
    listed = getattr(module, "__all__", None)
    names = listed if listed is not None else [name for name in dir(module) if not name.startswith("_")]
    operators = set(og._opgrid.function_names()) if module is og else set()

    def belongs(name: str) -> bool:
        value = getattr(module, name, None)
        if name in operators or not callable(value):
            return False
        # A package offers what its modules define; functions of the registry belong to the module that names them.
        made_in = getattr(value, "__module__", None) or module.__name__
        return listed is not None or made_in.startswith("opgrid" if hasattr(module, "__path__") else module.__name__)

    return sorted(name for name in names if belongs(name))


def overview(found: Iterable[types.ModuleType]) -> str:
    """The page that lists the modules."""
    rows = [f"| [`{module.__name__}`]({module.__name__}.md) | {first_line(module)} |" for module in found]
    return "\n".join(
        [
            "# Python API",
            "",
            "These pages are generated from the package. Operators are [functions](functions.md) and [methods of tensors](methods.md).",
            "",
            "| module | has |",
            "|---|---|",
            *rows,
            "",
        ]
    )


def first_line(value: Any) -> str:
    return (inspect.getdoc(value) or "").partition("\n")[0].replace("|", "\\|")


def module_page(module: types.ModuleType, names: list[str]) -> str:
    """A page with these names of a module."""
    parts = [f"# `{module.__name__}`", "", text_of(module)]
    for name in names:
        parts += ["", f"## `{name}`", "", *described(name, getattr(module, name))]
    return "\n".join(parts) + "\n"


def described(name: str, value: Any) -> Iterable[str]:
    """The signature and the documentation of a function, or of a class and its methods."""
    documentation = inspect.getdoc(value) or ""
    if OVERLOAD.match(documentation):
        return overloads(documentation)
    lines = ["```python", f"{name}{signature(value)}", "```", "", text_of(value)]
    if isinstance(value, type):
        for method, member in sorted(vars(value).items()):
            is_public = not method.startswith("_") or method in DUNDERS
            if is_public and (about := inspect.getdoc(member)) and about != inspect.getdoc(type(member)):
                call = signature(getattr(value, method)) if callable(getattr(value, method, None)) else ""
                lines += ["", f"- `.{method}{call}`: {' '.join(about.split())}"]
    return lines


def signature(value: Any) -> str:
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return "(...)"
    # Annotations are texts in quotes; defaults that print their address would be another text in every run.
    return re.sub(r"<([\w.]+)[^>]* at 0x[0-9a-f]+>", r"<\1>", re.sub(r"(: |-> )'([^']*)'", r"\1\2", text))


def text_of(value: Any) -> str:
    """The documentation as Markdown, in which sessions are blocks of code."""
    about = inspect.getdoc(value) or ""
    if isinstance(value, type) and about == inspect.getdoc(value.__mro__[1]):
        return ""
    return SESSION.sub(r"```pycon\n\1\n```", about)


def operators(title: str, what: str, owner: Any, names: Iterable[str]) -> str:
    """A page with the operators that are functions or methods, by the first letter of their names."""
    parts = [f"# {title}", "", f"The operators of the registry that are {what}, with their schemas. The schema's `self` is the tensor."]
    public = sorted(name for name in names if not name.startswith("_"))
    for letter, group in itertools.groupby(public, lambda name: name[0]):
        parts += ["", f"## {letter.upper()}"]
        for name in group:
            parts += ["", f'<span id="{name}"></span>**`{name}`**', "", *overloads(inspect.getdoc(getattr(owner, name)) or "")]
    return "\n".join(parts) + "\n"


def overloads(documentation: str) -> list[str]:
    """The schemas of an operator, and what each first says of itself; where they were registered is left out."""
    found = [(match["schema"], *match["about"].splitlines()[:1]) for match in OVERLOAD.finditer(documentation)]
    abouts = dict.fromkeys(about[0].strip() for _, *about in found if about and not about[0].strip().startswith("registered at"))
    return ["```text", *(schema for schema, *_ in found), "```", "", *abouts]
