"""``opgrid.ops``: every registered operator, by namespace, name and overload."""

from __future__ import annotations

import types
from typing import Any

from . import _opgrid


_OWN = frozenset(name.partition("::")[2].partition(".")[0] for name in _opgrid.operator_names("aten"))
"""The operators that the package brings, which stay: their packets need not be looked up again."""


class _OpNamespace(types.ModuleType):
    """The operators of one namespace."""

    def __init__(self, name: str) -> None:
        super().__init__(f"opgrid.ops.{name}")
        self._namespace = name
        self._packets: dict[str, _opgrid.OpOverloadPacket] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in dir(self):
            raise AttributeError(f"'_OpNamespace' '{self._namespace}' object has no attribute '{name}'")
        # Asked for anew each time it is not there: operators come and go.
        packet = self._packets.get(name)
        if packet is None or not packet.overloads():
            self._packets.pop(name, None)
            packet = self._packets[name] = _opgrid.packet(f"{self._namespace}::{name}")
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

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"'opgrid.ops' has no attribute '{name}'")
        namespace = _OpNamespace(name)
        setattr(self, name, namespace)
        return namespace

    def __dir__(self) -> list[str]:
        return sorted({name.partition("::")[0] for name in _opgrid.operator_names()})


ops = _Ops()
