"""The LKJ distribution of correlation matrices (Lewandowski, Kurowicka and Joe, 2009), by their Cholesky factors."""

from __future__ import annotations

import math
from typing import Any

import opgrid as og

from .._opgrid import Tensor
from . import constraints
from ._parameters import broadcast_all, standard_normal
from .beta import Beta
from .distribution import Distribution


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices of ``dim`` variables, with a density of ``det(matrix) ** (concentration - 1)``.

    All correlation matrices are equally likely where ``concentration`` is 1.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    concentration: Tensor

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"LKJCholesky: `dim` is {dim}, expected an integer of 2 or more")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def _squared_lengths(self) -> Beta:
        """The squared lengths of the rows without the diagonal, by the onion method; the first row has none."""
        rows = og.arange(self.dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        rows = og.cat([rows.new_zeros((1,)), rows])
        return Beta(rows + 0.5, (self.concentration + 0.5 * (self.dim - 2)).unsqueeze(-1) - 0.5 * rows, validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with og.no_grad():
            lengths = self._squared_lengths().sample(sample_shape).unsqueeze(-1)
            directions = standard_normal(self._extended_shape(sample_shape), lengths).tril(-1)
            directions = directions / og.linalg.vector_norm(directions, dim=-1, keepdim=True)
            directions[..., 0, :] = 0.0
            below = lengths.sqrt() * directions
            diagonal = (1 - below.square().sum(-1)).clamp(min=og.finfo(below.dtype).tiny).sqrt()
            return below + diagonal.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        # The Jacobian from factors to correlation matrices adds powers of the diagonal.
        rows = og.arange(2, self.dim + 1, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - rows
        density = (powers * value.diagonal(dim1=-1, dim2=-2)[..., 1:].log()).sum(-1)
        count = self.dim - 1
        alpha = self.concentration + 0.5 * count
        return density - (0.5 * count * math.log(math.pi) + (alpha - 0.5).mvlgamma(count) - alpha.lgamma() * count)
