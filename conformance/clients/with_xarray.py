"""xarray's data arrays around arrays that are not numpy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from steps import Make, step

DATA = np.random.default_rng(2).normal(size=(4, 3))


def wrapped(array: Make, data: Any = DATA) -> xr.DataArray:
    return xr.DataArray(array(data), dims=("x", "y"), coords={"x": [10, 20, 30, 40]})


@step
def mean(array: Make) -> Any:
    x = wrapped(array)
    return x.mean("x", skipna=False).data, x.mean(skipna=False).data, x.mean(("x", "y"), skipna=False).data


@step(cannot="means without NaN ask dtypes for numpy's `kind`, and namespaces for `nanmean`; give skipna=False")
def mean_without_nan(array: Make) -> Any:
    return wrapped(array).mean("x").data


@step
def reductions(array: Make) -> Any:
    x = wrapped(array)
    names = ("sum", "min", "max", "prod")
    return {name: getattr(x, name)("y", skipna=False).data for name in names} | {"any": (x > 0).any("x").data, "all": (x > 0).all("y").data}


@step(cannot="it gives `std` numpy's `ddof`; the standard has `correction`")
def deviation(array: Make) -> Any:
    return wrapped(array).std("x", skipna=False).data


@step
def where(array: Make) -> Any:
    x = wrapped(array)
    return x.where(x > 0, 0.0).data, xr.where(x > 0, x, -x).data


@step(cannot="the value for what is left out is looked up by numpy's dtypes; give `other`")
def where_without_other(array: Make) -> Any:
    x = wrapped(array)
    return x.where(x > 0).data


@step
def arithmetic(array: Make) -> Any:
    x = wrapped(array)
    return (x + 1).data, (2 * x - x.mean("x", skipna=False)).data, (x / x).data, abs(x).data, (-x).data, (x**2).data


@step
def selection(array: Make) -> Any:
    x = wrapped(array)
    return x.isel(x=0).data, x.isel(y=slice(1, None)).data, x.sel(x=[10, 30]).data, x[::-1].data


@step
def shapes(array: Make) -> Any:
    x = wrapped(array)
    stacked = x.stack(z=("x", "y"))
    return x.transpose("y", "x").data, stacked.data, x.expand_dims("w").data, xr.concat([x, x], "x").data, xr.broadcast(x, x[0])[1].data


@step
def dataset(array: Make) -> Any:
    data = xr.Dataset({"a": wrapped(array), "b": ("x", array(DATA[:, 0]))})
    return data.max("x", skipna=False)["a"].data, (data["a"] * data["b"]).data, data.isel(x=1)["b"].data


@step(cannot="a data set asks numpy whether the dtypes of its arrays are numbers; those of data arrays are not asked")
def mean_of_dataset(array: Make) -> Any:
    return xr.Dataset({"a": wrapped(array)}).mean("x", skipna=False)["a"].data


@step
def dot(array: Make) -> Any:
    # Otherwise it calls opt_einsum, which takes functions of the package.
    with xr.set_options(use_opt_einsum=False):
        return xr.dot(wrapped(array), wrapped(array), dim="x").data
