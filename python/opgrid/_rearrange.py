"""Dimensions of tensors by names, as in the package einops: permuted, merged and split."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import opgrid as og

from ._opgrid import Tensor, TensorBase

_ELLIPSIS = "..."
_Group = tuple[str, ...]
_ALONE: _Group = (_ELLIPSIS,)
"""Dimensions without names that stay apart. In brackets they are merged."""
_TOKEN = re.compile(r"\s*(\(|\)|\.\.\.|1|[A-Za-z]\w*)")


def rearrange(tensor: Tensor | list[Tensor] | tuple[Tensor, ...], pattern: str, **axes_lengths: int) -> Tensor:
    """The elements in another order, which a pattern like ``"b (h s) c -> (b s) c h"`` says.

    Names stand for dimensions, names in brackets for parts of one dimension, of which all but one need a length; ``...`` for the
    dimensions without names, ``1`` for one of size 1. Several tensors are stacked along a new first dimension.

    >>> import opgrid as og
    >>> from opgrid.func import rearrange
    >>> rearrange(og.zeros(32, 30, 40, 3), "b (h1 h) (w1 w) c -> (b h1 w1) h w c", h1=2, w1=2).shape
    opgrid.Size([128, 15, 20, 3])
    """
    whole = tensor if isinstance(tensor, TensorBase) else og.stack(list(tensor))
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError(f"rearrange(): the pattern {pattern!r} has {len(sides) - 1} times '->', expected it once")
    before, after = (_groups(side, pattern) for side in sides)
    names, results = ([name for group in groups for name in group] for groups in (before, after))
    for side in (names, results):
        if repeated := {name for name in side if side.count(name) > 1}:
            raise ValueError(f"rearrange(): {sorted(repeated)} are twice on one side of {pattern!r}")
    if one_sided := set(names) ^ set(results):
        raise ValueError(f"rearrange(): {sorted(one_sided)} are only on one side of {pattern!r}, expected on both")
    if unknown := axes_lengths.keys() - set(names):
        raise ValueError(f"rearrange(): lengths are given for {sorted(unknown)}, which are not in {pattern!r}")
    sizes = _sizes(whole.shape, before, axes_lengths, pattern)
    places: dict[str, range] = {}
    for name in names:
        first = sum(map(len, places.values()))
        places[name] = range(first, first + len(sizes[name]))
    parts = whole.reshape([size for name in names for size in sizes[name]])
    permuted = parts.permute([place for name in results for place in places[name]])
    shape: list[int] = []
    for group in after:
        merged = [size for name in group for size in sizes[name]]
        shape += merged if group is _ALONE else [prod(merged)]
    return permuted.reshape(shape)


def _groups(side: str, pattern: str) -> list[_Group]:
    """The dimensions of one side: the names of the parts of each, of which a size of 1 has none."""
    groups: list[_Group] = []
    opened: list[str] | None = None
    place, end = 0, len(side.rstrip())
    while place < end:
        found = _TOKEN.match(side, place)
        if found is None:
            raise ValueError(f"rearrange(): {side[place:].strip()!r} in {pattern!r} is no name, '...', '1' or bracket")
        token, place = found[1], found.end()
        if token == "(" and opened is None:
            opened = []
        elif token == ")" and opened is not None:
            groups.append(tuple(opened))
            opened = None
        elif token in "()":
            raise ValueError(f"rearrange(): brackets in {pattern!r} do not match")
        elif opened is not None:
            opened += [] if token == "1" else [token]
        else:
            groups.append(_ALONE if token == _ELLIPSIS else () if token == "1" else (token,))
    if opened is not None:
        raise ValueError(f"rearrange(): brackets in {pattern!r} do not match")
    return groups


def _sizes(shape: Sequence[int], groups: list[_Group], lengths: Mapping[str, int], pattern: str) -> dict[str, list[int]]:
    """The sizes that each name stands for: one, or those of all other dimensions for ``...``."""
    more = len(shape) - sum(group is not _ALONE for group in groups)
    if more < 0 or (more and not any(group is _ALONE for group in groups)):
        raise ValueError(f"rearrange(): the tensor has {len(shape)} dimensions, which are not those of {pattern!r}")
    sizes = {name: [length] for name, length in lengths.items()}
    place = 0
    for group in groups:
        if group is _ALONE:
            sizes[_ELLIPSIS] = list(shape[place : place + more])
            place += more
            continue
        size, known = shape[place], prod(lengths.get(name, 1) for name in group)
        unknown = [name for name in group if name not in lengths]
        if len(unknown) > 1:
            raise ValueError(f"rearrange(): {unknown} are parts of one dimension of {pattern!r}; give lengths for all but one")
        if known == 0 or size % known or (not unknown and size != known):
            raise ValueError(f"rearrange(): dimension {place} has size {size}, which is not that of {group} with lengths {dict(lengths)}")
        sizes.update({name: [size // known] for name in unknown})
        place += 1
    return sizes
