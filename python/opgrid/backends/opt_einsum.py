"""The package ``opt_einsum``, which chooses the order of products in ``einsum``. It is not used: the order is chosen here."""

from __future__ import annotations

from typing import Any

__all__ = ["enabled", "get_opt_einsum", "is_available", "strategy"]

enabled = True
strategy: str | None = "auto"


def is_available() -> bool:
    """Whether the package is used: no."""
    return False


def get_opt_einsum() -> Any:
    """The package, which is not used."""
    return None
