"""Distributions that are given by probabilities or by logits, and those that wrap a categorical distribution."""

from __future__ import annotations

from typing import Any

from .._opgrid import Tensor
from .._size import Size
from ._parameters import broadcast_all, given_one, lazy_property, logits_to_probs, probs_to_logits
from .categorical import Categorical
from .distribution import Distribution


class Binary(Distribution):
    """Distributions with one of ``probs``, which are probabilities, and ``logits``, which are log-odds."""

    _parameter: str

    def _set_binary(self, probs: Any, logits: Any, **others: Any) -> None:
        """Keeps the parameter that was given, broadcast with others."""
        self._parameter = given_one(self, probs=probs, logits=logits)
        *tensors, given = broadcast_all(*others.values(), logits if probs is None else probs)
        self.__dict__.update(zip(others, tensors, strict=True))
        self.__dict__[self._parameter] = given

    @property
    def _param(self) -> Tensor:
        """The parameter that was given."""
        given: Tensor = vars(self)[self._parameter]
        return given

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return Size(self._param.shape)

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=True)


class OverCategories(Distribution):
    """Distributions of which the parameters are those of a categorical distribution."""

    _categorical: Categorical

    @property
    def logits(self) -> Tensor:
        """The normalized log-probabilities of the categories."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the categories."""
        return self._categorical.probs

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape
