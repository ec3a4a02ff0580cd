"""``opgrid.ops``: every registered operator, by namespace, name and overload."""

from __future__ import annotations

import difflib
import os
import types

from . import _opgrid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_OWN = frozenset(name.partition("::")[2].partition(".")[0] for name in _opgrid.operator_names("aten"))
"""The operators that the package brings, which stay: their packets need not be looked up again."""


def _file_of_plugin(path: str) -> str:
    """The file of a plugin that an installed package names as an entry point, else the path itself."""
    if os.path.exists(path):
        return path
    # These take longer to import than all of this package.
    import importlib.metadata
    import importlib.util

    for entry in importlib.metadata.entry_points(group="opgrid.plugins", name=path):
        # The module is not imported: that would run the package.
        spec = importlib.util.find_spec(entry.module)
        if spec is not None and spec.origin is not None:
            return spec.origin
    return path


class _OpNamespace(types.ModuleType):
    """The operators of one namespace."""

    def __init__(self, name: str) -> None:
        super().__init__(f"opgrid.ops.{name}")
        self._namespace = name
        self._packets: dict[str, _opgrid.OpOverloadPacket] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in dir(self):
            raise AttributeError(f"'_OpNamespace' '{self._namespace}' object has no attribute '{name}'")
        # Looked up again each time it is missing: operators come and go.
        packet = self._packets.get(name)
        if packet is None or not packet.overloads():
            self._packets.pop(name, None)
            try:
                packet = self._packets[name] = _opgrid.packet(f"{self._namespace}::{name}")
            except AttributeError as error:
                near = difflib.get_close_matches(name, dir(self), n=1, cutoff=2 / 3)
                remedy = f"; did you mean '{near[0]}'?" if near else ""
                raise AttributeError(f"{error}{remedy}", name=name, obj=self) from None
        if self._namespace == "aten" and name in _OWN:
            setattr(self, name, packet)
        return packet

    def __dir__(self) -> list[str]:
        names = _opgrid.operator_names(self._namespace)
        return sorted({name.partition("::")[2].partition(".")[0] for name in names})

    def __iter__(self) -> Any:
        return iter(dir(self))


class _Ops(types.ModuleType):
    """All namespaces."""

    def __init__(self) -> None:
        super().__init__("opgrid.ops")
        self.loaded_libraries: dict[str, _opgrid.Plugin] = {}

    def load_library(self, path: str | os.PathLike[str]) -> _opgrid.Plugin:
        """Loads a plugin: a library of operators, hooks, layers or backends that was built elsewhere.

        ``path`` is its file, its name in a folder of ``OPGRID_PLUGIN_PATH``, or the name of an entry point in the group
        ``opgrid.plugins``, which names the extension module that is the plugin. A plugin that is loaded already is given
        again; `Plugin.drop` takes back what it registered.
        """
        file = _file_of_plugin(os.fspath(path))
        # A copy, because other threads may load more meanwhile.
        for plugin in self.loaded_libraries.copy().values():
            if plugin.is_loaded and plugin.path.stem in (file, f"lib{file}"):
                return plugin
        known = os.path.realpath(file)
        if known not in self.loaded_libraries or not self.loaded_libraries[known].is_loaded:
            plugin = _opgrid.load_plugin(file)
            known = os.path.realpath(plugin.path)
            self.loaded_libraries[known] = plugin
        return self.loaded_libraries[known]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"'opgrid.ops' has no attribute '{name}'")
        namespace = _OpNamespace(name)
        setattr(self, name, namespace)
        return namespace

    def __dir__(self) -> list[str]:
        return sorted({name.partition("::")[0] for name in _opgrid.operator_names()})


ops = _Ops()
