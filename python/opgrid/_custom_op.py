"""Operators made of one function: its annotations are the schema, its code the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, overload

from . import _opgrid, _place
from ._opgrid import dtype
from ._ops import ops
from ._schema_of import infer_schema
from .errors import NotSupportedError


_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Registered = TypeVar("_Registered", bound=Callable[..., Any])


class CustomOpDef(Generic[_Parameters, _Result]):
    """An operator made by `custom_op`. Calling it calls the operator."""

    def __init__(self, namespace: str, name: str, schema: str, function: Callable[_Parameters, _Result]) -> None:
        from .library import Library

        self._namespace = namespace
        self._name = name
        self._qualname = f"{namespace}::{name}"
        self._function = function
        self._lib = Library(namespace, "FRAGMENT")
        self.__doc__ = function.__doc__
        self.__name__ = name
        self._schema = schema
        self._fake: Callable[..., Any] | None = None
        self._derivative: _opgrid.Registration | None = None

    def _define(self, tags: Iterable[str], kind: str | None) -> None:
        from inspect import getdoc

        documentation = getdoc(self._function) or ""
        self._lib.define(self._name + self._schema, tags=tags, kind=kind, documentation=documentation)
        packet = getattr(getattr(ops, self._namespace), self._name)
        self._opoverload: _opgrid.OpOverload = packet.default
        self._meta = self._lib._implement(self._qualname, self._on_meta, "Meta", _place.of_function(self._function))

    def _on_meta(self, *args: Any, **kwargs: Any) -> Any:
        """What runs for meta tensors: what `register_fake` gave, nothing where there are no results."""
        if self._fake is not None:
            return self._fake(*args, **kwargs)
        if not self._opoverload._schema.returns:
            return None
        raise NotSupportedError(
            f"{self._qualname}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel "
            "registered; give it one with `register_fake`"
        )

    def __call__(self, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        result: _Result = self._opoverload(*args, **kwargs)
        return result

    @overload
    def register_kernel(self, device_types: str | Sequence[str] | None, fn: _Registered, /) -> _Registered: ...
    @overload
    def register_kernel(
        self, device_types: str | Sequence[str] | None, fn: None = None, /
    ) -> Callable[[_Registered], _Registered]: ...
    def register_kernel(
        self, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None, /
    ) -> Any:
        """Gives the operator a kernel for device types; also a decorator."""
        from .library import check_device_types, keys_of

        check_device_types(device_types, self._qualname)

        def register(fn: Callable[..., Any]) -> Callable[..., Any]:
            for key in keys_of(device_types):
                self._lib.impl(self._name, fn, key, fresh=True)
            return fn

        return register if fn is None else register(fn)

    @overload
    def register_fake(self, fn: _Registered, /) -> _Registered: ...
    @overload
    def register_fake(self, fn: None = None, /) -> Callable[[_Registered], _Registered]: ...
    def register_fake(self, fn: Callable[..., Any] | None = None, /) -> Any:
        """Says what results look like without computing them; also a decorator."""
        place = _place.of_caller()

        def register(fn: Callable[..., Any]) -> Callable[..., Any]:
            self._register_fake(fn, place)
            return fn

        return register if fn is None else register(fn)

    def _register_fake(self, fn: Callable[..., Any], place: _place.Place) -> None:
        self._fake = fn
        self._lib._registrations.remove(self._meta)
        self._meta.drop()
        self._meta = self._lib._implement(self._qualname, self._on_meta, "Meta", place)

    @overload
    def register_vmap(self, func: _Registered, /) -> _Registered: ...
    @overload
    def register_vmap(self, func: None = None, /) -> Callable[[_Registered], _Registered]: ...
    def register_vmap(self, func: Callable[..., Any] | None = None, /) -> Any:
        """Gives the operator a batching rule; also a decorator. See `opgrid.library.register_vmap`."""
        from .library import register_vmap

        return register_vmap(self._qualname, func, lib=self._lib)

    def register_autocast(self, device_type: str, cast_inputs: dtype) -> None:
        """Has the operator compute in a dtype under autocast: see `opgrid.library.register_autocast`."""
        from .library import register_autocast

        register_autocast(self._qualname, device_type, cast_inputs, lib=self._lib)

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Gives the operator a derivative, in place of one that it has: see `opgrid.library.register_autograd`."""
        from .library import register_autograd

        before = len(self._lib._registrations)
        if self._derivative is not None:
            self._lib._registrations.remove(self._derivative)
            before -= 1
            self._derivative.drop()
            self._derivative = None
        register_autograd(self._qualname, backward, setup_context=setup_context, lib=self._lib)
        self._derivative = self._lib._registrations[before]

    def __copy__(self) -> CustomOpDef[_Parameters, _Result]:
        return self

    def __deepcopy__(self, _memo: Any) -> CustomOpDef[_Parameters, _Result]:
        return self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


@overload
def custom_op(
    name: str,
    fn: None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Iterable[str] = (),
    kind: str | None = None,
) -> Callable[[Callable[_Parameters, _Result]], CustomOpDef[_Parameters, _Result]]: ...
@overload
def custom_op(
    name: str,
    fn: Callable[_Parameters, _Result],
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Iterable[str] = (),
    kind: str | None = None,
) -> CustomOpDef[_Parameters, _Result]: ...
def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Iterable[str] = (),
    kind: str | None = None,
) -> Any:
    """Makes an operator of a function; also a decorator.

    The schema is that of the annotations, unless one is given. ``mutates_args`` names the arguments that the function
    writes. Results must be memory of their own: clone an argument that is returned. With a ``kind``, such as
    ``"pointwise unary"``, layers know what the operator is.
    """
    from .library import check_device_types

    check_device_types(device_types, name)

    def make(fn: Callable[_Parameters, _Result]) -> CustomOpDef[_Parameters, _Result]:
        namespace, colons, base = name.partition("::")
        if not colons or not base:
            raise ValueError(f"expected a name such as 'mylib::twice', found {name!r}")
        made = CustomOpDef(namespace, base, schema or infer_schema(fn, mutates_args=mutates_args), fn)
        made._define(tags, kind)
        made.register_kernel(device_types, fn)
        return made

    return make if fn is None else make(fn)
