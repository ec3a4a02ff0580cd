"""The half-Cauchy distribution."""

from __future__ import annotations

import opgrid as og

from .._opgrid import Tensor
from ._half import Half
from .cauchy import Cauchy


class HalfCauchy(Half):
    """The absolute value of a Cauchy variable around 0."""

    _symmetric = Cauchy

    @property
    def mean(self) -> Tensor:
        return og.full(self._extended_shape(), og.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
