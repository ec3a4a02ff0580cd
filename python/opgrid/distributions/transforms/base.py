"""The base class of transforms, and their inverses."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

from ..._opgrid import Tensor
from .. import constraints


class Transform:
    """A function with an inverse, of which the determinant of the Jacobian is known.

    A subclass defines ``_call`` and ``_inverse``, and ``log_abs_det_jacobian`` if it is ``bijective``. With ``cache_size=1``, the last
    input and result are kept, so that the inverse of a result is the input itself.
    """

    bijective: Any = False
    domain: Any
    """The constraint of inputs."""
    codomain: Any
    """The constraint of results."""

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"{type(self).__name__}: `cache_size` is {cache_size}, expected 0 or 1")
        self._cache_size = cache_size
        self._cached: tuple[Any, Any] = (None, None)
        self._inv: Transform | None = None

    def __getstate__(self) -> dict[str, Any]:
        # The inverse refers back to this object, and is made again when it is asked for.
        return {**vars(self), "_inv": None}

    @property
    def event_dim(self) -> Any:
        """The number of dimensions of an event, if inputs and results have the same."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError(f"{type(self).__name__}: events of inputs and results differ; ask domain.event_dim or codomain.event_dim")
        return self.domain.event_dim

    @property
    def inv(self) -> Transform:
        """The inverse transform, of which the inverse is this object."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """1 if the transform increases everywhere, -1 if it decreases."""
        raise NotImplementedError(f"{type(self).__name__} has no sign")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The transform with another size of the cache."""
        return self if self._cache_size == cache_size else self._copy(cache_size)

    def _copy(self, cache_size: int) -> Self:
        new = copy.copy(self)
        Transform.__init__(new, cache_size)
        return new

    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, x: Tensor) -> Tensor:
        """The result for an input."""
        if self._cache_size and x is self._cached[0]:
            y: Tensor = self._cached[1]
            return y
        y = self._call(x)
        self._keep(x, y)
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        """The input for a result."""
        if self._cache_size and y is self._cached[1]:
            x: Tensor = self._cached[0]
            return x
        x = self._inverse(y)
        self._keep(x, y)
        return x

    def _keep(self, x: Tensor, y: Tensor) -> None:
        if self._cache_size:
            self._cached = (x, y)

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no _call()")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no _inverse()")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """``log(abs(det(dy / dx)))`` for an input and its result, without the dimensions of an event."""
        raise NotImplementedError(f"{type(self).__name__} has no log_abs_det_jacobian()")

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """The shape of the result for the shape of an input."""
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """The shape of the input for the shape of a result."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Stateless(Transform):
    """Transforms without parameters, of which two objects are equal."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)


class _InverseTransform(Transform):
    """The inverse of a transform."""

    _inv: Transform

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    def __getstate__(self) -> dict[str, Any]:
        return vars(self)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> Any:
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"


def require_dims(shape: Sequence[int], dims: int, what: str) -> None:
    """An error if a shape has fewer dimensions than an event."""
    if len(shape) < dims:
        raise ValueError(f"{what}: too few dimensions on input; found shape {tuple(shape)}, expected {dims} dimensions or more")
