"""array-api-extra: functions on top of the standard."""

from __future__ import annotations

from typing import Any

import array_api_extra as xpx
import numpy as np
from steps import Make, step

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(4, 5))
NUMBERS = np.array([3, 1, 2, 3, 7, 1])


@step
def at(array: Make) -> Any:
    x = array(X)
    return xpx.at(x)[1, :].set(0.0), xpx.at(x)[:, 2].add(1.0), xpx.at(x)[0, 0].multiply(2.0, copy=True), xpx.at(x)[x < 0].set(0.0)


@step
def apply_where(array: Make) -> Any:
    x = array(X)
    return xpx.apply_where(x > 0, x, lambda x: x**0.5, fill_value=-1.0), xpx.apply_where(x > 0, (x, x), lambda a, b: a + b, lambda a, b: a - b)


@step
def matrices(array: Make) -> Any:
    x = array(X)
    return xpx.cov(x), xpx.kron(x, array(X[:2, :2])), xpx.create_diagonal(x[0, :], offset=1)


@step
def shapes(array: Make) -> Any:
    x = array(X)
    return xpx.atleast_nd(x, ndim=4), xpx.expand_dims(x, axis=(0, 2)), xpx.pad(x, 2, constant_values=1.0)


@step
def numbers(array: Make) -> Any:
    x = array(X)
    return xpx.sinc(x), xpx.isclose(x, x + 1e-9), xpx.nan_to_num(x / (x > 0))


@step
def angles(array: Make) -> Any:
    return xpx.angle(array(X + 1j)), xpx.deg2rad(array(X)), xpx.rad2deg(array(X))


@step
def without_nan(array: Make) -> Any:
    x = array(np.where(X > 1.0, np.nan, X))
    return xpx.nansum(x, axis=0), xpx.nanmax(x, axis=1), xpx.nanmin(x), xpx.nanmean(x, axis=1)


@step
def sets(array: Make) -> Any:
    x = array(NUMBERS)
    return xpx.nunique(x), xpx.setdiff1d(x, array([1, 2])), xpx.union1d(x, array([9, 1])), xpx.isin(x, array([3, 7]))


@step
def sorting(array: Make) -> Any:
    x = array(X)
    ordered = array(np.sort(X[0, :]))
    return xpx.partition(x, 2)[:, 2], xpx.argpartition(x, 1)[:, 1], xpx.searchsorted(ordered, x[1, :])


@step
def one_hot(array: Make) -> Any:
    return xpx.one_hot(array([0, 2, 1]), 3)
