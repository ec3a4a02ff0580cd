"""Attributes of a module that are other ones for the length of a block."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def override(module: str, **values: Any) -> Iterator[None]:
    """Gives a module these attributes, those that are not ``None``, and its own back at the end."""
    names = vars(sys.modules[module])
    values = {name: value for name, value in values.items() if value is not None}
    before = {name: names[name] for name in values}
    names.update(values)
    try:
        yield
    finally:
        names.update(before)
