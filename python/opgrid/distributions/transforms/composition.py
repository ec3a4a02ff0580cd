"""Transforms that are made of transforms: one after the other, on the parts of a tensor, over events of more dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import opgrid as og

from ..._opgrid import Tensor
from .. import constraints
from .._parameters import lazy_property, sum_rightmost
from .base import Transform, require_dims


class ComposeTransform(Transform):
    """Transforms one after the other. Each keeps its own cache."""

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim = max(event_dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _with_event_dim(self.parts[0].domain, event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim = max(event_dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _with_event_dim(self.parts[-1].codomain, event_dim)

    @lazy_property
    def bijective(self) -> Any:
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:
        return prod(part.sign for part in self.parts)

    @property
    def inv(self) -> Transform:
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def _copy(self, cache_size: int) -> ComposeTransform:
        return ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return og.zeros_like(x)
        event_dim, terms = self.domain.event_dim, []
        for part in self.parts:
            result = y if part is self.parts[-1] else part(x)
            terms.append(sum_rightmost(part.log_abs_det_jacobian(x, result), event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
            x = result
        return sum(terms[1:], start=terms[0])

    def forward_shape(self, shape: Sequence[int]) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join(repr(part) for part in self.parts)
        return f"{type(self).__name__}(\n    {parts}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform of events of more dimensions: the Jacobian is summed over the last ``reinterpreted_batch_ndims`` dimensions."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _copy(self, cache_size: int) -> IndependentTransform:
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> Any:
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        require_dims(x.shape, self.domain.event_dim, "IndependentTransform")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        require_dims(y.shape, self.codomain.event_dim, "IndependentTransform")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class _Parts(Transform):
    """Transforms of the parts of a tensor along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(transform, Transform) for transform in tseq):
            raise AssertionError(f"{type(self).__name__}: expected transforms, found {tseq!r}")
        super().__init__(cache_size=cache_size)
        self.transforms = [transform.with_cache(cache_size) for transform in tseq] if cache_size else list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> Any:
        return all(transform.bijective for transform in self.transforms)

    def _size(self) -> int:
        """How long the dimension is."""
        return len(self.transforms)

    def _split(self, x: Tensor) -> Sequence[Tensor]:
        raise NotImplementedError

    def _join(self, parts: list[Tensor], dim: int) -> Tensor:
        raise NotImplementedError

    def _parts(self, x: Tensor) -> Sequence[Tensor]:
        """The parts of a tensor, which must have that dimension and size."""
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"{type(self).__name__}: dim {self.dim} is out of range for a tensor of {x.dim()} dimensions")
        if x.shape[self.dim] != self._size():
            raise AssertionError(
                f"{type(self).__name__}: dimension {self.dim} has size {x.shape[self.dim]}, expected {self._size()}, that of all parts"
            )
        return self._split(x)

    def _call(self, x: Tensor) -> Tensor:
        return self._join([transform(part) for transform, part in zip(self.transforms, self._parts(x), strict=True)], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._join([transform.inv(part) for transform, part in zip(self.transforms, self._parts(y), strict=True)], self.dim)

    def _jacobians(self, x: Tensor, y: Tensor) -> list[Tensor]:
        parts = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        return [transform.log_abs_det_jacobian(before, after) for transform, before, after in parts]


class CatTransform(_Parts):
    """Transforms of parts of given ``lengths``, which are 1 unless they are given, concatenated along ``dim``."""

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"CatTransform: found {len(self.lengths)} lengths for {len(self.transforms)} transforms, expected one for each")

    @property
    def event_dim(self) -> Any:
        return max(transform.event_dim for transform in self.transforms)

    @property
    def length(self) -> int:
        """The sum of the lengths."""
        return sum(self.lengths)

    def _copy(self, cache_size: int) -> CatTransform:
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _size(self) -> int:
        return self.length

    def _split(self, x: Tensor) -> Sequence[Tensor]:
        return x.split(self.lengths, self.dim)

    def _join(self, parts: list[Tensor], dim: int) -> Tensor:
        return og.cat(parts, dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        terms = [
            sum_rightmost(term, self.event_dim - transform.event_dim)
            for term, transform in zip(self._jacobians(x, y), self.transforms, strict=True)
        ]
        # Parts along a dimension of events belong to one event.
        dim = self.event_dim + (self.dim - x.dim() if self.dim >= 0 else self.dim)
        return og.cat(terms, dim) if dim < 0 else sum(terms[1:], start=terms[0])

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([transform.domain for transform in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([transform.codomain for transform in self.transforms], self.dim, self.lengths)


class StackTransform(_Parts):
    """Transforms of the parts of a tensor along a dimension of their own."""

    def _copy(self, cache_size: int) -> StackTransform:
        return StackTransform(self.transforms, self.dim, cache_size)

    def _split(self, x: Tensor) -> Sequence[Tensor]:
        return x.unbind(self.dim)

    def _join(self, parts: list[Tensor], dim: int) -> Tensor:
        return og.stack(parts, dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self._join(self._jacobians(x, y), self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([transform.domain for transform in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([transform.codomain for transform in self.transforms], self.dim)


def _with_event_dim(constraint: Any, event_dim: int) -> Any:
    """A constraint of events of that many dimensions."""
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more else constraint
