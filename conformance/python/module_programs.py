"""Programs and mistakes that `modules.py` runs with torch and with opgrid, and the differences that are decided."""

from __future__ import annotations

PROGRAMS: list[str] = []
MISTAKES = ""
DIFFERENCES = {
    "Hardsigmoid() <- x(3, 4) * 3": "torch's slope in float64 is the float32 number next to 1/6",
}
"""Cases that end differently on purpose, and why."""
