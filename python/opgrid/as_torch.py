"""Runs programs that are written for torch: ``import torch`` and its submodules give opgrid's modules.

One line ahead of the imports is enough::

    import opgrid.as_torch; opgrid.as_torch.install()

    import torch
    from torch.utils.data import DataLoader

``python -m opgrid.as_torch program.py [arguments]`` runs a file that stays as it is. ``torch`` is then the package opgrid itself:
``torch.nn.Linear is opgrid.nn.Linear``, and a name that opgrid does not have is missing in the same way. The real torch
cannot be imported in that process.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import runpy
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType

__all__ = ["install", "is_installed"]

_OURS = __package__ or "opgrid"
_THEIRS = "torch"


class _Alias(MetaPathFinder):
    """Finds ``torch.x.y`` as ``opgrid.x.y``, and gives the module that has the latter name already."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not name.startswith(f"{_THEIRS}."):
            return None
        ours = importlib.util.find_spec(_OURS + name.removeprefix(_THEIRS))
        if ours is None:
            return None
        return importlib.machinery.ModuleSpec(name, _Loader(), is_package=ours.submodule_search_locations is not None)


class _Loader(Loader):
    """Imports a module under opgrid's name; importing it under torch's must leave no trace in it."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(_OURS + spec.name.removeprefix(_THEIRS))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just given the module the specification of the alias.
        alias = module.__spec__
        if alias is not None:
            module.__spec__ = alias.loader_state


def is_installed() -> bool:
    """Whether ``import torch`` gives opgrid in this process."""
    return sys.modules.get(_THEIRS) is sys.modules[_OURS]


def install() -> None:
    """Makes ``import torch`` give opgrid from now on, in all of the process. Doing it again changes nothing.

    Raises ``ImportError`` if torch was imported before.

    Example::

        >>> opgrid.as_torch.install()
        >>> import torch.nn as nn
        >>> nn is opgrid.nn
        True
    """
    if is_installed():
        return
    if _THEIRS in sys.modules:
        raise ImportError("opgrid.as_torch.install(): torch is imported already; call install() before anything imports torch")
    sys.modules[_THEIRS] = sys.modules[_OURS]
    sys.meta_path.insert(0, _Alias())


def main(arguments: list[str]) -> None:
    """Runs a program's file, with the arguments behind it, in place of torch."""
    if not arguments:
        sys.exit("usage: python -m opgrid.as_torch program.py [arguments]")
    install()
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
