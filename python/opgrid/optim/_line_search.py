"""A line search for the strong Wolfe conditions, after Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from .._opgrid import Tensor

_ENOUGH_DECREASE = 1e-4
_ENOUGH_FLATTER = 0.9


class Point(NamedTuple):
    """What is known at a distance along a direction."""

    distance: float
    loss: float
    grad: Tensor
    slope: float


def strong_wolfe(
    at: Callable[[float], Point], start: Point, distance: float, longest: float, tolerance: float, limit: int
) -> tuple[Point, int]:
    """A point with a lower loss and a flatter slope than the start, or the best that was found; and how many were evaluated.

    ``at`` evaluates a point; ``distance`` is the first guess. The search ends when brackets are shorter than ``tolerance``,
    for which ``longest`` is the largest element of the direction, or after ``limit`` points.
    """

    def is_high(point: Point) -> bool:
        return point.loss > start.loss + _ENOUGH_DECREASE * point.distance * start.slope

    def is_flat(point: Point) -> bool:
        return abs(point.slope) <= -_ENOUGH_FLATTER * start.slope

    previous, point = start, at(distance)
    tries = 0
    while tries < limit:
        if is_high(point) or (tries > 1 and point.loss >= previous.loss):
            break
        if is_flat(point):
            return point, tries + 1
        if point.slope >= 0:
            break
        bounds = (point.distance + 0.01 * (point.distance - previous.distance), point.distance * 10)
        previous, point = point, at(_cubic_minimum(previous, point, bounds))
        tries += 1
    else:
        ends = [start, point]
        return ends[_order(ends)[0]], tries + 1

    # The minimum lies between these two points; the lower one is the best so far.
    bracket = [previous, point]
    low, high = _order(bracket)
    is_slow = False
    while tries < limit and abs(bracket[1].distance - bracket[0].distance) * longest >= tolerance:
        near, far = sorted(end.distance for end in bracket)
        distance = _cubic_minimum(bracket[0], bracket[1], (near, far))
        margin = 0.1 * (far - near)
        is_near_end = min(far - distance, distance - near) < margin
        if is_near_end and (is_slow or not near < distance < far):
            distance = far - margin if abs(distance - far) < abs(distance - near) else near + margin
            is_slow = False
        else:
            is_slow = is_near_end
        point = at(distance)
        tries += 1
        if is_high(point) or point.loss >= bracket[low].loss:
            bracket[high] = point
            low, high = _order(bracket)
            continue
        if is_flat(point):
            return point, tries + 1
        if point.slope * (bracket[high].distance - bracket[low].distance) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = point
    return bracket[low], tries + 1


def _order(bracket: list[Point]) -> tuple[int, int]:
    return (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)


def _cubic_minimum(one: Point, other: Point, bounds: tuple[float, float]) -> float:
    """Where the cubic that has losses and slopes of two points is least, within bounds; their middle where there is no minimum."""
    left, right = (one, other) if one.distance <= other.distance else (other, one)
    middle = (bounds[0] + bounds[1]) / 2
    if left.distance == right.distance:
        return middle
    chord = one.slope + other.slope - 3 * (one.loss - other.loss) / (one.distance - other.distance)
    square = chord * chord - one.slope * other.slope
    if not square >= 0:
        return middle
    root = math.sqrt(square)
    width = right.slope - left.slope + 2 * root
    if width == 0:
        return middle
    found = right.distance - (right.distance - left.distance) * ((right.slope + root - chord) / width)
    return min(max(found, bounds[0]), bounds[1])
