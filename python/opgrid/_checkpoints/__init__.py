"""Checkpoints in torch's formats: written so that torch reads them, and read without running any code of theirs."""

from __future__ import annotations

from .reading import load
from .writing import save

__all__ = ["load", "save"]
