"""How losses of elements become one number: ``reduction``, and the two deprecated arguments that it replaced."""

from __future__ import annotations

import warnings

from ..._opgrid import Tensor

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def reduced(reduction: str, name: str) -> int:
    """The number that operators take for a reduction."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"{name}(): {reduction} is not a valid value for reduction; expected none, mean or sum")
    return REDUCTIONS[reduction]


def chosen(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that the arguments ask for: the deprecated ones go first where they are given."""
    if size_average is None and reduce is None:
        return reduction
    found = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(f"size_average and reduce are deprecated; use reduction='{found}' instead", stacklevel=4)
    return found


def summarized(loss: Tensor, reduction: str, name: str) -> Tensor:
    """The losses of elements, their mean or their sum."""
    reduced(reduction, name)
    if reduction == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()
