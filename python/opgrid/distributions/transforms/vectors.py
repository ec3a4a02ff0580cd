"""Transforms of vectors and matrices: to probabilities, Cholesky factors and positive definite matrices, and to other shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import opgrid as og

from ..._opgrid import Tensor
from ..._size import Size
from .. import constraints
from .._parameters import tril_matrix_to_vec, vec_to_tril_matrix
from .base import Stateless, Transform, require_dims
from .elementwise import clipped_sigmoid


class SoftmaxTransform(Stateless):
    """Numbers to probabilities by ``exp(x)``, normalized. Not bijective; for optimization by single elements."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> Any:
        require_dims(shape, 1, "SoftmaxTransform")
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Stateless):
    """``n`` numbers to ``n + 1`` probabilities: each is the part that is broken off the stick that is left."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _offsets(x: Tensor) -> Tensor:
        """The logarithms of how many parts are left, so that 0 gives equal parts."""
        count: int = x.shape[-1]
        return (count + 1 - x.new_ones(count).cumsum(-1)).log()

    def _call(self, x: Tensor) -> Tensor:
        parts = clipped_sigmoid(x - self._offsets(x))
        left = (1 - parts).cumprod(-1)
        return og.nn.functional.pad(parts, [0, 1], value=1) * og.nn.functional.pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = y[..., :-1]
        # Sums may round to more than 1.
        left = (1 - parts.cumsum(-1)).clamp(min=og.finfo(y.dtype).tiny)
        return parts.log() - left.log() + self._offsets(parts)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offsets(x)
        return (-x + og.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        require_dims(shape, 1, "StickBreakingTransform")
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        require_dims(shape, 1, "StickBreakingTransform")
        return Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(Stateless):
    """Matrices to lower triangular ones with a positive diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Stateless):
    """Matrices to positive definite ones, by their Cholesky factors."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(og.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """``D * (D - 1) / 2`` numbers to the Cholesky factor of a correlation matrix, of which each row has the length 1.

    Numbers are the elements below the diagonal, row by row; sticks are broken as by :class:`StickBreakingTransform`, of the squares.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = og.finfo(x.dtype).eps
        below = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - below.square()).sqrt().cumprod(-1)
        whole = below + og.eye(below.shape[-1], dtype=x.dtype, device=x.device)
        return whole * og.nn.functional.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = og.nn.functional.pad(1 - y.square().cumsum(-1)[..., :-1], [1, 0], value=1)
        part = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (part.log1p() - part.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        left = tril_matrix_to_vec(1 - y.square().cumsum(-1), diag=-2)
        by_tanh = -2 * (x + og.nn.functional.softplus(-2 * x) - math.log(2.0)).sum(-1)
        return 0.5 * left.log().sum(-1) + by_tanh

    def forward_shape(self, shape: Sequence[int]) -> Any:
        require_dims(shape, 1, "CorrCholeskyTransform")
        size = (1 + math.isqrt(1 + 8 * shape[-1])) // 2
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError(f"CorrCholeskyTransform: {shape[-1]} elements are not those below the diagonal of a square matrix")
        return Size((*shape[:-1], size, size))

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        require_dims(shape, 2, "CorrCholeskyTransform")
        if shape[-2] != shape[-1]:
            raise ValueError(f"CorrCholeskyTransform: expected square matrices, found shape {tuple(shape)}")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class ReshapeTransform(Transform):
    """Events of the shape ``in_shape`` to events of the shape ``out_shape``, with the same elements."""

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(
                f"ReshapeTransform: `in_shape` {tuple(in_shape)} and `out_shape` {tuple(out_shape)} have different numbers of elements"
            )
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    @staticmethod
    def _replaced(shape: Sequence[int], old: Size, new: Size) -> Size:
        """A shape with another event."""
        require_dims(shape, len(old), "ReshapeTransform")
        batch = len(shape) - len(old)
        if tuple(shape[batch:]) != tuple(old):
            raise ValueError(f"ReshapeTransform: expected events of shape {tuple(old)}, found {tuple(shape[batch:])}")
        return Size((*shape[:batch], *new))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return self._replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return self._replaced(shape, self.out_shape, self.in_shape)
