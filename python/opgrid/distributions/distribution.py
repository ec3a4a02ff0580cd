"""The base class of distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self
from warnings import warn

import opgrid as og

from .._opgrid import Tensor, TensorBase
from .._size import Size
from . import constraints
from ._parameters import broadcast_all, lazy_property, shown

_Shape = Sequence[int]


class Distribution:
    """A probability distribution, or a batch of them.

    ``batch_shape`` has the dimensions of the parameters, ``event_shape`` those of one draw: ``sample(shape)`` has the shape
    ``shape + batch_shape + event_shape``, and ``log_prob`` that without ``event_shape``.

    A subclass names its parameters in ``arg_constraints`` and its values in ``support``, and defines ``rsample``, or ``sample``
    where draws have no gradients, and ``log_prob``.
    """

    has_rsample: Any = False
    """Whether draws carry gradients to the parameters."""
    has_enumerate_support: Any = False
    """Whether the values can be listed."""
    _validate_args: bool = __debug__
    _event_dims: ClassVar[dict[str, int]] = {}
    """How many of the last dimensions of a parameter belong to one distribution, where its constraint does not say so."""

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether parameters and values are checked where ``validate_args`` is not given. They are, unless Python runs with ``-O``."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args(): expected True or False, found {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: _Shape = (), event_shape: _Shape = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()

    def _set_parameters(self, validate_args: bool | None, **parameters: Any) -> None:
        """Broadcasts parameters of which each element is one distribution, and keeps them as attributes."""
        tensors = broadcast_all(*parameters.values())
        self.__dict__.update(zip(parameters, tensors, strict=True))
        Distribution.__init__(self, tensors[0].shape, validate_args=validate_args)

    def _validate_parameters(self) -> None:
        for name, constraint in self._stated("arg_constraints", {}).items():
            computed = name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property)
            if constraints.is_dependent(constraint) or computed:
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} "
                    f"to satisfy the constraint {constraint!r}, found values outside of it:\n{value}"
                )

    @property
    def batch_shape(self) -> Size:
        """The dimensions of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The dimensions of one draw."""
        return self._event_shape

    @property
    def arg_constraints(self) -> Any:
        """The constraint of each parameter, by its name."""
        raise self._missing("arg_constraints")

    @property
    def support(self) -> Any:
        """The constraint of the values."""
        raise self._missing("support")

    @property
    def mean(self) -> Tensor:
        """The expected value."""
        raise self._missing("mean")

    @property
    def mode(self) -> Tensor:
        """A value of the greatest density."""
        raise self._missing("mode")

    @property
    def variance(self) -> Tensor:
        """The expected square of the distance from the mean."""
        raise self._missing("variance")

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: _Shape = ()) -> Tensor:
        """Draws without gradients: ``sample_shape + batch_shape + event_shape``."""
        with og.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: _Shape = ()) -> Tensor:
        """Draws that depend on the parameters: ``sample_shape + batch_shape + event_shape``."""
        raise self._missing("rsample()")

    def sample_n(self, n: int) -> Tensor:
        """``n`` draws; deprecated, use ``sample((n,))``."""
        warn("sample_n(n) is deprecated; use sample((n,))", FutureWarning, stacklevel=2)
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at a value."""
        raise self._missing("log_prob()")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a value that is as large or smaller."""
        raise self._missing("cdf()")

    def icdf(self, value: Tensor) -> Tensor:
        """The value below which draws lie with the given probability."""
        raise self._missing("icdf()")

    def entropy(self) -> Tensor:
        """The expected ``-log_prob``."""
        raise self._missing("entropy()")

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values along a new first dimension; with ``expand``, for each distribution of the batch."""
        raise self._missing("enumerate_support()")

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        """Values as ``enumerate_support`` returns them."""
        values = values.reshape((-1, *[1] * len(self._batch_shape), *self._event_shape))
        return values.expand((-1, *self._batch_shape, *self._event_shape)) if expand else values

    def expand(self, batch_shape: _Shape, _instance: Any = None) -> Self:
        """The distribution with the parameters expanded to a batch shape. Parameters that were checked are not checked again."""
        shape = Size(batch_shape)
        new: Self = self._get_checked_instance(type(self), _instance)
        expanded = {name: self._expanded(name, value, shape) for name, value in vars(self).items()}
        new.__dict__.update(expanded, _batch_shape=shape)
        return new

    def _expanded(self, name: str, value: Any, batch_shape: Size) -> Any:
        """An attribute for another batch shape: parameters and distributions are expanded, all else is the same."""
        if isinstance(value, Distribution):
            return value.expand(batch_shape)
        if not isinstance(value, TensorBase):
            return value
        if name in self._event_dims:
            dims = self._event_dims[name]
        elif name in self.arg_constraints:
            dims = self.arg_constraints[name].event_dim
        else:
            return value
        return value.expand((*batch_shape, *value.shape[value.dim() - dims :]))

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """The object that ``expand`` fills: the given one, or a new one of this class without a call of ``__init__``."""
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _extended_shape(self, sample_shape: _Shape = ()) -> Size:
        """The shape of draws."""
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _check_value(self, value: Tensor) -> None:
        """Checks a value, if values are checked."""
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Any) -> None:
        """Checks the type, the shape and the elements of a value."""
        if not isinstance(value, TensorBase):
            raise ValueError(f"{type(self).__name__}: expected a Tensor as the value, found {type(value).__name__}")
        events = len(self._event_shape)
        if tuple(value.shape[value.dim() - events :]) != tuple(self._event_shape):
            raise ValueError(
                f"{type(self).__name__}: the value has shape {tuple(value.shape)}, expected the last dimensions to be those of an "
                f"event, {tuple(self._event_shape)}"
            )
        expected = (*self._batch_shape, *self._event_shape)
        for found, size in zip(reversed(value.shape), reversed(expected), strict=False):
            if found != size and 1 not in (found, size):
                raise ValueError(
                    f"{type(self).__name__}: the value has shape {tuple(value.shape)}, which does not broadcast with {expected}, "
                    f"the shape of the batch and of an event"
                )
        support = self._stated("support", None)
        if support is not None and not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, found values outside of it:\n{value}"
            )

    def _stated(self, name: str, otherwise: Any) -> Any:
        """What a class says of its parameters or its values; a class that says nothing is not checked, with a warning."""
        try:
            return getattr(self, name)
        except NotImplementedError:
            warn(f"{type(self).__name__} has no `{name}`, so that it is not checked; define it, or give validate_args=False", stacklevel=4)
            return otherwise

    def _missing(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} has no {what}")

    def __repr__(self) -> str:
        given = {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}
        parameters = (f"{name}: {shown(value) if value.numel() == 1 else value.size()}" for name, value in given.items())
        return f"{type(self).__name__}({', '.join(parameters)})"
