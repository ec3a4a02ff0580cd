"""Parameters: tensors that a module learns.

A parameter is a plain tensor with a mark, not an instance of a subclass: calls with it take the fast path, and results
are plain tensors. ``isinstance(x, Parameter)`` checks the mark. Copies and pickles of a parameter have the mark as well.
"""

from __future__ import annotations

from typing import Any

import opgrid as og

from .._opgrid import Tensor, TensorBase, tensor

_MARK = "_is_parameter"


class _Marked(type(Tensor)):  # type: ignore[misc]
    """Lets ``isinstance`` check the mark of a class; classes of users that are derived from it have objects of their own."""

    _mark: str

    def __instancecheck__(cls, instance: Any) -> bool:
        if "_mark" not in vars(cls):
            return bool(super().__instancecheck__(instance))
        return isinstance(instance, TensorBase) and getattr(instance, cls._mark, False) is True


_repr = TensorBase.__repr__


def _shown(self: Any) -> str:
    """The text of a tensor, of which parameters are said to be some."""
    text = _repr(self)
    return f"Parameter containing:\n{text}" if getattr(self, _MARK, False) is True else text


_format = TensorBase.__format__


def _formatted(self: Any, spec: str) -> str:
    """The text of a tensor in an f-string: a number, and of parameters, what `repr` says."""
    return object.__format__(self, spec) if getattr(self, _MARK, False) is True else _format(self, spec)


setattr(TensorBase, "__repr__", _shown)
setattr(TensorBase, "__format__", _formatted)


def mark(x: Tensor) -> Tensor:
    """Marks this tensor as a parameter, in place."""
    setattr(x, _MARK, True)
    return x


class Parameter(Tensor, metaclass=_Marked):
    """A tensor that becomes one of a module's parameters when it is assigned to an attribute.

    ``Parameter(data, requires_grad=True)`` shares memory with ``data``, is of the same class, and is a leaf of the graph. Objects of a derived
    class are of that class, and what is computed with them is not.
    """

    _mark = _MARK

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = tensor([])
        if not isinstance(data, TensorBase):
            raise TypeError(f"Parameter(): expected a tensor, found {type(data).__name__}; make one with opgrid.tensor")
        own: Any = data.detach()
        kind = type(data) if "_mark" in vars(cls) else cls
        if type(own) is not kind:
            own = own.as_subclass(kind)
        return mark(own.requires_grad_(requires_grad))  # type: ignore[return-value]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Gives plain tensors for objects of derived classes."""
        return getattr(Tensor, "__torch_function__")(func, types, args, kwargs)


class Buffer(Tensor, metaclass=_Marked):
    """A tensor that becomes one of a module's buffers when it is assigned to an attribute.

    ``Buffer(data, persistent=True)`` shares memory with ``data``; ``persistent=False`` leaves it out of state dicts.
    """

    _mark = "_is_buffer"
    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        if data is None:
            data = tensor([])
        own = data.detach().requires_grad_(data.requires_grad)
        setattr(own, cls._mark, True)
        own.persistent = persistent
        return own  # type: ignore[no-any-return]


class _Materialize:
    """The method ``materialize`` of a tensor without a shape."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __call__(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Gives the tensor memory for a shape, without setting elements."""
        own = self.tensor
        for name in (UninitializedParameter._mark, UninitializedBuffer._mark, "materialize"):
            if hasattr(own, name):
                delattr(own, name)
        own.data = og.empty(shape, device=device or own.device, dtype=dtype or own.dtype)


def _uninitialized(made: Tensor, name: str) -> Tensor:
    """Marks a tensor whose shape is not known yet."""
    setattr(made, name, True)
    setattr(made, "materialize", _Materialize(made))
    return made


class UninitializedParameter(Parameter):
    """A parameter whose shape is not known yet; ``materialize(shape)`` makes it a usual one, in place."""

    _mark = "_is_uninitialized_parameter"

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        made = Parameter(og.empty(0, device=device, dtype=dtype), requires_grad)
        return _uninitialized(made, cls._mark)  # type: ignore[return-value]


class UninitializedBuffer(Buffer):
    """A buffer whose shape is not known yet; ``materialize(shape)`` makes it a usual one, in place."""

    _mark = "_is_uninitialized_buffer"

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> UninitializedBuffer:
        data = og.empty(0, device=device, dtype=dtype).requires_grad_(requires_grad)
        return _uninitialized(Buffer(data, persistent=persistent), cls._mark)  # type: ignore[return-value]


def is_lazy(param: Any) -> bool:
    """Whether the shape of a parameter or buffer is not known yet."""
    return isinstance(param, (UninitializedParameter, UninitializedBuffer))
