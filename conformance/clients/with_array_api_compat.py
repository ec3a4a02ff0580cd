"""array-api-compat, through which scikit-learn and scipy look at arrays."""

from __future__ import annotations

from typing import Any

import array_api_compat as compat
import numpy as np
from steps import Make, step

X = np.arange(6.0).reshape(2, 3)


@step
def what_an_array_is(array: Make) -> Any:
    x = array(X)
    return {
        "is an array": compat.is_array_api_obj(x),
        "is writable": compat.is_writeable_array(x),
        "is lazy": compat.is_lazy_array(x),
        "size": compat.size(x),
        "device": str(compat.device(x)),
    }


@step
def the_namespace_of_an_array(array: Make) -> Any:
    x = array(X)
    xp = compat.array_namespace(x, None, 1.0)
    return xp.mean(x, axis=0), xp.linalg.qr(x).Q @ xp.linalg.qr(x).R, xp.fft.rfft(x).shape


@step
def to_device(array: Make) -> Any:
    x = array(X)
    return compat.to_device(x, compat.device(x))
