"""The page of torch's public names: which are here, and why the others are not."""

from __future__ import annotations

import fnmatch
import importlib.util
import warnings
from pathlib import Path
from typing import Any

HEAD = """# Names of torch

Which public names of torch 2.15 the Python package has, and why others are missing. This page is generated from the package. A name that is here
is called beside torch by `cargo xtask conformance names` and the suites of modules. [Differences](differences.md) has what deliberately
behaves otherwise, [missing operators](missing-operators.md) the operators that are not registered.
"""


def module(path: Path) -> Any:
    """A module that belongs to no package."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification and specification.loader, path
    loaded = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(loaded)
    return loaded


def reason(name: str, reasons: dict[str, str]) -> str:
    """Why a name is missing; reasons are given for patterns of names."""
    return next((why for pattern, why in reasons.items() if fnmatch.fnmatchcase(name, pattern)), "not here yet")


def page(root: Path) -> str:
    """The text of the page."""
    record = module(root / "crates/opgrid-cli/src/names/record.py")
    reasons: dict[str, dict[str, str]] = module(root / "conformance/names/absent.py").REASONS
    rows, sections = [], []
    for namespace, names in record.read("torch.txt").items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            missing = [name for name in names if not record.is_there(namespace, name)]
        here = [name for name in names if name not in missing]
        anchor = namespace.replace(".", "").lower()
        rows.append(f"| [`{namespace}`](#{anchor}) | {len(here)} | {len(names)} |")
        grouped: dict[str, list[str]] = {}
        for name in missing:
            grouped.setdefault(reason(name, reasons.get(namespace.removeprefix("torch."), {})), []).append(name)
        sections.append(section(namespace, here, grouped))
    table = ["| namespace | here | in torch |", "|---|---:|---:|", *rows]
    return "\n".join([HEAD, *table, *sections]) + "\n"


def section(namespace: str, here: list[str], missing: dict[str, list[str]]) -> str:
    """What the page says of a namespace."""
    quoted = [", ".join(f"`{name}`" for name in names) for names in (here, *missing.values())]
    reasons = [f"- {why}: {names}" for why, names in zip(missing, quoted[1:], strict=True)]
    return "\n".join(["", f"## {namespace}", "", *(["Missing:", "", *reasons, ""] if missing else []), f"Here: {quoted[0]}"])
