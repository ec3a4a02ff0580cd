"""Reductions of consecutive parts of a tensor."""

from __future__ import annotations

from typing import Any

from . import _opgrid

_SCATTERED = {"sum": ("sum", 0.0), "mean": ("sum", 0.0), "prod": ("prod", 1.0), "max": ("amax", float("-inf")), "min": ("amin", float("inf"))}
"""By what each reduction scatters elements, and what it begins with."""


def segment_reduce(
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    indices: Any = None,
    offsets: Any = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Any:
    """The sum, mean, product, maximum or minimum of each segment of a floating-point tensor along ``axis``, its last that ``lengths`` has.

    ``lengths`` of shape ``(*batch, segments)`` has the lengths of consecutive segments, which ``offsets`` of one element more may give by where
    they begin and end. An empty segment gives ``initial``, or what the reduction begins with, and NaN for means. ``unsafe`` leaves out
    the check that lengths are not negative and add up to the size.

    Example::

        >>> opgrid.segment_reduce(opgrid.tensor([1.0, 2.0, 5.0]), "mean", lengths=opgrid.tensor([2, 1]))
        tensor([1.5000, 5.0000])
    """
    if reduce not in _SCATTERED:
        raise RuntimeError(f"segment_reduce(): expected reduce to be one of {', '.join(_SCATTERED)}, found {reduce!r}")
    if indices is not None or (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): expected either lengths or offsets, and no indices; pass the lengths of the segments")
    if lengths is None:
        lengths = offsets.diff(dim=-1)
    axis = axis + data.ndim if axis < 0 else axis
    if axis != lengths.ndim - 1 or data.shape[:axis] != lengths.shape[:-1]:
        raise RuntimeError(
            f"segment_reduce(): found lengths of shape {tuple(lengths.shape)} for data of shape {tuple(data.shape)} and axis {axis}, expected "
            f"the sizes of data before the axis and the number of segments"
        )
    if not unsafe and (bool((lengths < 0).any()) or bool((lengths.sum(-1) != data.shape[axis]).any())):
        raise RuntimeError(f"segment_reduce(): expected lengths of 0 or more that add up to {data.shape[axis]}, the size of data along the axis")
    count = lengths.shape[-1]
    segments = _opgrid.function("arange")(count).expand(lengths.shape).flatten()
    place = segments.repeat_interleave(lengths.flatten()).reshape(data.shape[: axis + 1])
    place = place.reshape(*place.shape, *[1] * (data.ndim - axis - 1)).expand_as(data)
    how, start = _SCATTERED[reduce]
    begin = data.new_full((*data.shape[:axis], count, *data.shape[axis + 1 :]), start if initial is None else initial)
    found = begin.scatter_reduce(axis, place, data, how)
    if reduce != "mean":
        return found
    divisor = lengths if initial is None else lengths.clamp(min=1)
    return found / divisor.reshape(*divisor.shape, *[1] * (data.ndim - axis - 1)).to(data.dtype)
