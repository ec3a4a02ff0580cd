"""Exponential families: densities of the form ``exp(<natural parameters, statistics> - log_normalizer) * carrier``."""

from __future__ import annotations

from typing import Any

import opgrid as og

from .._opgrid import Tensor
from ._parameters import sum_rightmost
from .distribution import Distribution


class ExponentialFamily(Distribution):
    """A distribution with natural parameters, of which the entropy and divergences follow by differentiating the log-normalizer."""

    @property
    def _mean_carrier_measure(self) -> Any:
        """The expected logarithm of the carrier."""
        raise self._missing("_mean_carrier_measure")

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise self._missing("_natural_params")

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise self._missing("_log_normalizer()")

    def _expected_statistics(self) -> tuple[list[Tensor], Tensor, tuple[Any, ...]]:
        """Natural parameters, the log-normalizer, and its gradient, which is the expected value of the statistics."""
        params = [param.detach().requires_grad_() for param in self._natural_params]
        with og.enable_grad():
            normalizer = self._log_normalizer(*params)
        return params, normalizer, og.autograd.grad(normalizer.sum(), params, create_graph=True)

    def entropy(self) -> Tensor:
        """The entropy, by a Bregman divergence of the log-normalizer."""
        params, normalizer, statistics = self._expected_statistics()
        result: Tensor = normalizer - self._mean_carrier_measure
        for param, statistic in zip(params, statistics, strict=True):
            result = result - (param * statistic).reshape((*self._batch_shape, -1)).sum(-1)
        return result

    def _bregman_divergence(self, other: ExponentialFamily) -> Tensor:
        """The divergence from another distribution of the family."""
        params, normalizer, statistics = self._expected_statistics()
        result = other._log_normalizer(*other._natural_params) - normalizer
        for param, theirs, statistic in zip(params, other._natural_params, statistics, strict=True):
            result = result - sum_rightmost((theirs - param) * statistic, len(other.event_shape))
        return result
