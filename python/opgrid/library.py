"""Operators of one's own: definitions, kernels, fallbacks, and what goes with them.

The names are those of ``torch.library``. What is registered belongs to an object and is undone with it: a `Library`, or
what a function such as `define` returns into the module's own libraries, which stay.

A kernel is any callable. It gets the arguments as the schema declares them, those behind ``*`` by name, and returns what
the schema says. A fallback serves every operator: it gets the operator, then the arguments.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from . import _opgrid, _place, errors
from ._custom_op import CustomOpDef, custom_op
from ._opcheck import opcheck
from ._opgrid import DispatchKey, OpOverload, SafeKernelFunction
from ._schema_of import infer_schema
from ._strict import may_replace

__all__ = [
    "Library",
    "impl",
    "define",
    "fallthrough_kernel",
    "impl_abstract",
    "register_autocast",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "VmapInfo",
    "register_vmap",
    "register_autograd",
    "get_ctx",
    "get_kernel",
    "custom_op",
    "triton_op",
    "wrap_triton",
    "infer_schema",
    "opcheck",
    "CustomOpDef",
]


def fallthrough_kernel() -> None:
    """Stands for a kernel that calls skip; register it, do not call it."""
    raise NotImplementedError("fallthrough_kernel() should never be called; register it as a kernel")


def full_name(op: Any, namespace: str | None = None) -> str:
    """The name of an operator as a string, with its namespace."""
    if isinstance(op, OpOverload):
        return op.name()
    if isinstance(op, CustomOpDef):
        return op._qualname
    if not isinstance(op, str):
        raise ValueError(f"expected an operator or its name, found {type(op).__name__}")
    if "::" not in op and namespace is not None:
        return f"{namespace}::{op}"
    return op


class Library:
    """A group of registrations in one namespace, undone together.

    ``kind`` is ``"DEF"`` (the one library that owns the namespace), ``"FRAGMENT"`` (adds operators to it) or ``"IMPL"``
    (adds kernels). Kernels are for ``dispatch_key`` where nothing else is said.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported library type: {kind}; expected DEF, FRAGMENT or IMPL")
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self.place = _place.of_caller()
        self._registrations: list[Any] = []
        self._destroyed = False
        if dispatch_key:
            DispatchKey(dispatch_key)
        if kind == "DEF":
            self._registrations.append(_claimed(self))

    def define(
        self,
        schema: str,
        alias_analysis: str = "",
        *,
        tags: Iterable[str] = (),
        kind: str | None = None,
        documentation: str = "",
    ) -> str:
        """Defines an operator and returns its name. With a kind, such as ``"pointwise binary"``, it gets its defaults;
        ``documentation`` is what `help` says of it."""
        self._check()
        if self.kind == "IMPL":
            raise errors.RegistrationError("define(): an IMPL library only adds kernels; use DEF or FRAGMENT")
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        place = _place.of_caller()
        name = schema.partition("(")[0].strip()
        made = _again(
            ("define", full_name(name, self.ns)),
            place,
            lambda: _opgrid.define(
                self.ns,
                schema,
                place,
                tags=list(tags),
                kind=kind,
                conservative=alias_analysis == "CONSERVATIVE",
                documentation=documentation,
            ),
        )
        self._registrations.append(made)
        return name

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
        provider: str | None = None,
        when: Callable[..., bool] | None = None,
        fresh: bool = False,
    ) -> None:
        """Gives an operator a kernel, for the key, else for the library's, else as a composite.

        A ``provider`` joins the kernels that the cell has already, by its name; ``when`` asks the arguments first. With
        ``fresh``, a result on the memory of an argument is an error.
        """
        self._check()
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable, but found type {type(fn)}")
        if isinstance(op_name, _opgrid.OpOverloadPacket):
            raise ValueError("impl(): give an overload, such as packet.default, not the packet")
        name = full_name(op_name, self.ns)
        key = str(dispatch_key or self.dispatch_key or "") or "CompositeImplicitAutograd"
        if name.partition("::")[0] != self.ns:
            raise errors.RegistrationError(f"impl(): {name} is not in the namespace {self.ns} of the library")
        place = _place.of_function(fn) if fn is not fallthrough_kernel else _place.of_caller()
        may = allow_override and provider is None and may_replace()
        self._implement(name, fn, key, place, with_keyset, provider, when, may, fresh)

    def _implement(
        self,
        name: str,
        fn: Callable[..., Any],
        key: str,
        place: _place.Place,
        with_keyset: bool = False,
        provider: str | None = None,
        when: Callable[..., bool] | None = None,
        may_replace: bool = False,
        fresh: bool = False,
    ) -> _opgrid.Registration:
        made = _again(
            ("impl", name, key, provider),
            place,
            lambda: _opgrid.implement(
                name,
                DispatchKey(key),
                None if fn is fallthrough_kernel else fn,
                place,
                with_keys=with_keyset,
                provider=provider,
                condition=when,
                condition_text=str(getattr(when, "__doc__", None) or getattr(when, "__name__", "its condition holds")),
                may_replace=may_replace,
                fresh=fresh,
            ),
        )
        self._registrations.append(made)
        return made

    def fallback(self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Gives every operator without a kernel for the key this one; it is called with the operator and its arguments."""
        self._check()
        if self.ns != "_":
            raise RuntimeError(f"We only support fallback if namespace is _ but got {self.ns}")
        key = dispatch_key or self.dispatch_key
        if not key:
            raise errors.RegistrationError("fallback(): a fallback needs a dispatch key")
        place = _place.of_function(fn) if fn is not fallthrough_kernel else _place.of_caller()
        made = _again(
            ("fallback", str(key)),
            place,
            lambda: _opgrid.fallback(
                DispatchKey(key), None if fn is fallthrough_kernel else fn, place, with_keys=with_keyset
            ),
        )
        self._registrations.append(made)

    def _destroy(self) -> None:
        """Undoes everything, the latest first."""
        self._destroyed = True
        while self._registrations:
            self._registrations.pop().drop()

    def _check(self) -> None:
        if self._destroyed:
            raise RuntimeError("Library object has been destroyed; create a new one")

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._destroy()

    def __del__(self) -> None:
        if getattr(self, "_registrations", None):
            self._destroy()

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"


_made: weakref.WeakValueDictionary[tuple[Any, ...], Any] = weakref.WeakValueDictionary()
"""What is registered, by what it is and by its place, so that a cell of a notebook that runs again replaces what it registered
before. Registrations that are gone take themselves out, whatever other threads register meanwhile."""


_Registered = TypeVar("_Registered")


def _again(what: tuple[Any, ...], place: _place.Place, register: Callable[[], _Registered]) -> _Registered:
    """Registers something; what the same place has registered before goes first."""
    standing = _made.get((what, place))
    if standing is not None:
        standing.drop()
    made = register()
    _made[what, place] = made
    return made


def _claimed(library: Library) -> _opgrid.Registration:
    return _again(("claim", library.ns), library.place, lambda: _opgrid.claim(library.ns, library.place))


_fragments: dict[str, Library] = {}


def _fragment(namespace: str, lib: Library | None) -> Library:
    """The library that free functions register in: the one given, else the module's own, which stays."""
    if lib is not None:
        return lib
    # Of threads that come first together, one gives the library, and the others' stay empty.
    return _fragments.get(namespace) or _fragments.setdefault(namespace, Library(namespace, "FRAGMENT"))


def _split(qualname: str) -> tuple[str, str]:
    if not isinstance(qualname, str):
        raise ValueError(f"expected a name of the form 'namespace::name', found {type(qualname).__name__}")
    namespace, colons, name = qualname.partition("::")
    if not colons:
        raise ValueError(f"Expected qualname to be of the form 'namespace::name', but got {qualname}.")
    return namespace, name


def define(
    qualname: str | Library,
    schema: str,
    alias_analysis: str = "",
    *,
    lib: Library | None = None,
    tags: Iterable[str] = (),
    kind: str | None = None,
    documentation: str = "",
) -> Any:
    """Defines an operator: ``define("mylib::sin", "(Tensor x) -> Tensor")``.

    ``define(library, "sin(Tensor x) -> Tensor")`` decorates its kernel for all devices.
    """
    if isinstance(qualname, Library):
        library, name = qualname, qualname.define(schema, alias_analysis, tags=tags, kind=kind, documentation=documentation)
        return _decorator(None, lambda func: library.impl(name, func, "CompositeExplicitAutograd"))
    namespace, name = _split(qualname)
    _fragment(namespace, lib).define(name + schema, tags=tags, kind=kind, documentation=documentation)


_KEYS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "mps": "MPS", "xpu": "XPU"}


def keys_of(types: str | Sequence[str] | None) -> list[str]:
    """The keys of device types; all devices are a composite with derivatives of its own."""
    if types is None or types == "default":
        return ["CompositeExplicitAutograd"]
    names = [types] if isinstance(types, str) else list(types)
    known = {str(key): str(key) for key in DispatchKey.all()}
    lower = {name.lower(): name for name in known}
    return [known.get(name) or _KEYS.get(name) or lower.get(name.lower()) or name for name in names]


def check_device_types(types: str | Sequence[str] | None, of: str) -> None:
    """Refuses dispatch keys in the place of device types, for kernels that run below autograd whatever their key is."""
    names = [types] if isinstance(types, str) else list(types or ())
    for name in names:
        try:
            known = name == "default" or _opgrid.device(name.lower()).type == name.lower()
        except (RuntimeError, ValueError, TypeError):
            known = False
        if not known:
            raise ValueError(
                f"{of}: found the device type {name!r}, expected one such as 'cpu', or None for all devices; a kernel for a dispatch "
                "key, such as a composite whose calls are recorded for gradients, is registered by `Library.impl`"
            )


def _decorator(func: Callable[..., Any] | None, register: Callable[[Callable[..., Any]], None]) -> Any:
    if func is not None:
        register(func)
        return func

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        register(func)
        return func

    return decorate


def impl(
    qualname: str | Library,
    types: str | Sequence[str],
    func: Callable[..., Any] | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Gives an operator a kernel for device types, or for keys; also a decorator.

    ``impl(library, "sin", "CPU")`` decorates the kernel of an operator of a library for a key.
    """
    if isinstance(qualname, Library):
        library, key = qualname, func if isinstance(func, str) else ""
        return _decorator(None, lambda func: library.impl(str(types), func, key))
    namespace, _ = _split(qualname)

    def register(func: Callable[..., Any]) -> None:
        for key in keys_of(types):
            _fragment(namespace, lib).impl(qualname, func, key)

    return _decorator(func, register)


def register_kernel(
    op: Any,
    device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Gives an operator a kernel for device types; also a decorator."""
    if isinstance(op, CustomOpDef) and lib is None:
        return op.register_kernel(device_types, func)
    return impl(full_name(op), device_types or "default", func, lib=lib)


def register_fake(
    op: Any,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    allow_override: bool = True,
) -> Any:
    """Says what results look like without computing them: the kernel for meta tensors; also a decorator."""
    name = full_name(op)
    namespace, _ = _split(name)
    place = _place.of_caller()

    def register(func: Callable[..., Any]) -> None:
        if not callable(func):
            raise TypeError(f"register_fake(): expected a function, found an object of class {type(func).__name__}")
        if isinstance(op, CustomOpDef):
            op._register_fake(func, place)
        else:
            _fragment(namespace, lib)._implement(name, func, "Meta", place, may_replace=allow_override and may_replace())

    return _decorator(func, register)


def register_autograd(
    op: Any,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """Gives an operator that is defined a derivative: ``backward(ctx, *grads)`` returns a gradient, or None, for each argument.

    ``setup_context(ctx, inputs, output)`` keeps what it needs, tensors by ``ctx.save_for_backward``; of an operator with keyword-only
    arguments it is called as ``setup_context(ctx, inputs, keyword_only_inputs, output)``. The gradient of a list of tensors is a list,
    and of a result that nobody used zeros, unless ``ctx.set_materialize_grads(False)`` asks for ``None``.
    """
    from .autograd import registered

    name = full_name(op)
    overload = _opgrid.overload_named(name)
    namespace, _ = _split(name)
    place = _place.of_caller()
    for argument in overload._schema.arguments:
        if argument.is_write:
            raise RuntimeError(
                f"register_autograd(): {name} writes its argument {argument.name}, and only operators that write none have derivatives; "
                "give one to an operator that returns a new tensor"
            )
        if argument.kwarg_only and "Tensor" in str(argument.type):
            raise NotImplementedError(
                f"register_autograd(): the argument {argument.name} of {name} is a keyword-only tensor; gradients go to "
                "positional arguments, so declare it before the `*`"
            )
    setup, formula = registered(overload, backward, setup_context)
    made = _again(("autograd", name), place, lambda: _opgrid._register_derivative(name, setup, formula, place))
    _fragment(namespace, lib)._registrations.append(made)


class VmapInfo(NamedTuple):
    """What a batching rule is told of the batch."""

    batch_size: int
    randomness: str


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Gives an operator that is defined a batching rule, by which it does all examples of :func:`opgrid.vmap` at once; also a decorator.

    It is called as ``func(info, in_dims, *args)``: ``in_dims`` has the dimension of the examples of each argument, or ``None`` of one that
    is the same for all, and ``info`` the size of the batch. It returns ``(result, out_dims)``, of several results two tuples.

    >>> import opgrid as og
    >>> @og.library.custom_op("library_doc::cube", mutates_args=())
    ... def cube(x: og.Tensor) -> og.Tensor:
    ...     return x * x * x
    >>> @og.library.register_vmap(cube)
    ... def _(info, in_dims, x):
    ...     return cube(x), in_dims[0]
    >>> og.vmap(cube)(og.tensor([1.0, 2.0]))
    tensor([1., 8.])
    """
    name = full_name(op)
    overload = _opgrid.overload_named(name)
    namespace, _ = _split(name)
    place = _place.of_caller()
    keywords = [argument.name for argument in overload._schema.arguments if argument.kwarg_only]
    count = len(overload._schema.returns)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def rule(size: int, randomness: str, in_dims: tuple[Any, ...], args: tuple[Any, ...]) -> list[tuple[Any, bool]]:
            positional = len(args) - len(keywords)
            named = dict(zip(keywords, args[positional:]))
            found = function(VmapInfo(size, randomness), in_dims[:positional], *args[:positional], **named)
            if not isinstance(found, tuple) or len(found) != 2:
                raise RuntimeError(f"register_vmap(): the rule of {name} returned {type(found).__name__}, expected (result, out_dims)")
            results, dims = found
            if count == 1:
                results, dims = (results,), (dims,)
            elif not isinstance(dims, (tuple, list)):
                dims = (dims,) * count
            if len(results) != count or len(dims) != count:
                raise RuntimeError(f"register_vmap(): the rule of {name} returned {len(results)} results, expected {count} and their dims")
            return [_examples_first(result, dim, size) for result, dim in zip(results, dims)]

        made = _again(("vmap", name), place, lambda: _opgrid._register_batching(name, rule, place))
        _fragment(namespace, lib)._registrations.append(made)
        return function

    return register if func is None else register(func)


def _examples_first(result: Any, dim: Any, size: int) -> tuple[Any, bool]:
    """A result with the examples along dimension 0, and whether it has examples."""
    if not isinstance(result, (tuple, list)):
        return (result, False) if dim is None else (result.movedim(dim, 0), True)
    dims = dim if isinstance(dim, (tuple, list)) else [dim] * len(result)
    if all(one is None for one in dims):
        return list(result), False
    moved = [item.expand(size, *item.shape) if one is None else item.movedim(one, 0) for item, one in zip(result, dims)]
    return moved, True


def register_autocast(
    op: Any,
    device_type: str,
    cast_inputs: _opgrid.dtype,
    /,
    *,
    lib: Library | None = None,
) -> None:
    """Has an operator compute in `cast_inputs` where autocast is on for the device: its floating-point tensors there are cast to that
    dtype, those of float64 excepted, and autocast is off in its kernels.

    The last registration counts, also over torch's lists. An operator that writes arguments runs on these as they are.
    """
    name = full_name(op)
    _opgrid.overload_named(name)
    if not _opgrid._is_autocast_available(device_type):
        raise ValueError(
            f"register_autocast(): the device type {device_type!r} does not support autocast; expected one such as 'cpu'"
        )
    namespace, _ = _split(name)
    place = _place.of_caller()
    made = _again(("autocast", name, device_type), place, lambda: _opgrid._register_cast(name, device_type, cast_inputs, place))
    if lib is None and isinstance(op, CustomOpDef):
        lib = op._lib
    _fragment(namespace, lib)._registrations.append(made)


def register_torch_dispatch(
    op: Any,
    torch_dispatch_class: type,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    allow_override: bool = False,
) -> Any:
    """What a class with ``__torch_dispatch__`` does with the operator, in place of asking that method; also a decorator.

    Of a class of tensors it is called as ``func(op, types, args, kwargs)``, of a mode as ``func(mode, op, types, args, kwargs)``.
    """
    place = _place.of_caller()
    name = full_name(op)
    _opgrid.overload_named(name)
    namespace, _ = _split(name)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        from ._modes import Rule

        what = ("dispatch", name, torch_dispatch_class)
        made = _again(what, place, lambda: Rule(torch_dispatch_class, name, function, place, allow_override))
        _fragment(namespace, lib)._registrations.append(made)
        return function

    return register if func is None else register(func)


def get_kernel(op: Any, dispatch_key: str | DispatchKey) -> SafeKernelFunction:
    """The kernel that the operator's table has for the key now, to be called as ``call_boxed(keys, *args)``."""
    return _opgrid.held_kernel(_opgrid.overload_named(full_name(op)), DispatchKey(dispatch_key))


def _to_come(name: str, with_what: str) -> Callable[..., Any]:
    def missing(*_args: Any, **_kwargs: Any) -> Any:
        raise errors.NotSupportedError(f"{name}: comes with {with_what}, which does not exist yet")

    missing.__name__ = name
    missing.__doc__ = f"Comes with {with_what}."
    return missing


impl_abstract = register_fake
triton_op = _to_come("triton_op", "kernels of Triton")
wrap_triton = _to_come("wrap_triton", "kernels of Triton")
get_ctx = _to_come("get_ctx", "sizes that are not known")


@contextlib.contextmanager
def _scoped_library(ns: str, kind: str, dispatch_key: str = "") -> Iterator[Library]:
    """A library for the length of a block."""
    library = Library(ns, kind, dispatch_key)
    try:
        yield library
    finally:
        library._destroy()

