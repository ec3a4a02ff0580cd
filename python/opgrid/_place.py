"""Where users' code stands, for registrations and messages."""

from __future__ import annotations

import os
import sys
from types import CodeType, FunctionType
from typing import Any

Place = tuple[str, int]

_PACKAGE = os.path.dirname(__file__) + os.sep


def of_caller() -> Place:
    """File and line of the innermost caller outside of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def line_of_caller() -> str:
    """The innermost line outside of this package that runs now, as ``file:line``."""
    file, line = of_caller()
    return f"{file}:{line}"


def of_function(function: Any) -> Place:
    """Where a function is defined; of what is no function, where the caller stands."""
    function = getattr(function, "__wrapped__", function)
    function = getattr(function, "__func__", function)
    code = function.__code__ if isinstance(function, FunctionType) else None
    return (code.co_filename, code.co_firstlineno) if isinstance(code, CodeType) else of_caller()
