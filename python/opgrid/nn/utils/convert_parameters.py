"""Parameters to and from one vector."""

from __future__ import annotations

from collections.abc import Iterable

import opgrid as og

from ..._opgrid import Tensor
from ...autograd import no_grad


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters, flattened and concatenated."""
    return og.cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copies consecutive parts of a vector into parameters."""
    start = 0
    with no_grad():
        for parameter in parameters:
            count = parameter.numel()
            parameter.copy_(vec[start : start + count].view(parameter.shape))
            start += count
