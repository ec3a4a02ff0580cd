"""The Dirichlet distribution of probabilities."""

from __future__ import annotations

from typing import Any

import opgrid as og

from .._opgrid import Tensor
from . import constraints
from .exp_family import ExponentialFamily


class _Draw(og.autograd.Function):
    """Draws with the derivative by the concentration."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        x = og._sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x: Tensor
        concentration: Tensor
        x, concentration = ctx.saved_tensors
        total = concentration.sum(-1, keepdim=True).expand_as(concentration)
        return og._dirichlet_grad(x, concentration, total) * (grad - (x * grad).sum(-1, keepdim=True))


class Dirichlet(ExponentialFamily):
    """Vectors of positive numbers with the sum 1. The last dimension of ``concentration`` is that of a vector."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    concentration: Tensor

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("Dirichlet: `concentration` has no dimensions, expected one dimension of categories or more")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        # Without a number above 1, the density is greatest in a corner.
        flat = (self.concentration < 1).all(-1)
        mode[flat] = og.nn.functional.one_hot(mode[flat].argmax(-1), self.concentration.shape[-1]).to(mode.dtype)
        return mode

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.square() * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn: Tensor = _Draw.apply(self.concentration.expand(self._extended_shape(sample_shape)))
        return drawn

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        shape = self.concentration
        return (shape - 1.0).xlogy(value).sum(-1) + shape.sum(-1).lgamma() - shape.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        shape, total = self.concentration, self.concentration.sum(-1)
        size: int = shape.shape[-1]
        normalizer = shape.lgamma().sum(-1) - total.lgamma()
        return normalizer - (size - total) * total.digamma() - ((shape - 1.0) * shape.digamma()).sum(-1)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
