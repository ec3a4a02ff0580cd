"""Operators inside PyTorch: `export` adds one of ours to torch, `import_` adds one of torch's here.

An exported operator is ``torch.ops.ns.op``. Tensors cross without a copy, errors and panics arrive as exceptions with their
text; what the operator is on meta tensors is its fake kernel there, so that ``torch.compile`` knows sizes and dtypes; its
derivative is torch's autograd. torch itself is imported when a function here is called.

What torch's rules leave no room for:

- A derivative runs the operator again, recorded, when gradients are asked for: torch keeps the arguments and nothing of
  ours. Operators that draw random numbers have none there for that reason, and gradients of gradients do not pass.
- Symbolic sizes are kept by pointwise operators; others fix them to the sizes of the example, and compile anew for others.
- An exported operator stays for as long as the process. Where ours is dropped, calls in torch raise.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

from . import _opgrid, errors

__all__ = ["export", "import_"]

_REMEDY = "install it, as with `pip install torch`, in version 2.13 or later"


def _torch() -> Any:
    from . import as_torch

    if as_torch.is_installed():
        raise errors.NotSupportedError("opgrid.torch needs PyTorch, and opgrid.as_torch took its name; use them in two processes")
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise errors.NotSupportedError(f"opgrid.torch needs PyTorch, which cannot be imported ({error}); {_REMEDY}") from error


def export(op: Any, *, name: str | None = None, differentiable: bool = True) -> Any:
    """Defines an operator in torch, and returns it as torch has it: ``torch.ops.ns.op.overload``.

    ``op`` is an overload, or its name such as ``"mine::square"`` or ``"aten::add.Scalar"``. With a ``name``, such as
    ``"mine::gelu"``, it has that name there, which is needed for operators whose own name torch has already.

    torch gets a kernel for CPU tensors, a fake kernel, and a derivative if there is one. Torch's way to a derivative that is written
    in Python costs each call some microseconds, also where nothing requires a gradient: ``differentiable=False`` leaves it out. Types that its C interface cannot
    pass are refused: ``Scalar``, complex numbers, dicts, tuples and classes.
    """
    from .library import full_name

    torch = _torch()
    if isinstance(op, _opgrid.OpOverloadPacket):
        overloads = op.overloads()
        if len(overloads) != 1:
            raise ValueError(f"export(): expected one overload, found a packet of {', '.join(overloads)}; name one of them")
        op = getattr(op, overloads[0])
    ours = op if isinstance(op, _opgrid.OpOverload) else _opgrid.overload_named(full_name(op))
    known, derivative, pointwise = _opgrid._export_to_torch(ours.name(), name, differentiable)
    theirs = _overload(torch, known)
    if known in _EXPORTED:
        # The operator is there from before; it was dropped here, and is another one now.
        _EXPORTED[known].ours = ours
        return theirs
    _EXPORTED[known] = exported = _Exported(torch, ours, theirs, pointwise)
    torch.library.register_fake(known, exported.fake)
    if derivative is not None:
        exported.differentiate(_overload(torch, derivative))
    if any(argument.is_write for argument in ours._schema.arguments):
        exported.count_writes()
    return theirs


_EXPORTED: dict[str, _Exported] = {}
"""What was exported, by its name in torch."""


def _overload(torch: Any, name: str) -> Any:
    """The overload of torch of a full name."""
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")


class _Exported:
    """An operator of ours in torch, with its registrations in Python."""

    def __init__(self, torch: Any, ours: Any, theirs: Any, pointwise: bool) -> None:
        self.torch, self.ours, self.theirs, self.pointwise = torch, ours, theirs, pointwise
        self.libraries: list[Any] = []

    def _library(self) -> Any:
        namespace = self.theirs.name().partition("::")[0]
        self.libraries.append(self.torch.library.Library(namespace, "FRAGMENT"))
        return self.libraries[-1]

    def fake(self, *args: Any, **kwargs: Any) -> Any:
        """The results without their elements, by the operator's kernel for meta tensors."""
        given: list[tuple[Any, Any]] = []

        def to_ours(value: Any) -> Any:
            if isinstance(value, self.torch.Tensor):
                for theirs, ours in given:
                    if theirs is value:
                        return ours
                ours = _meta_of(value)
                given.append((value, ours))
                return ours
            if isinstance(value, self.torch.SymInt):
                return int(value)
            if isinstance(value, (self.torch.SymFloat, self.torch.SymBool)):
                return float(value) if isinstance(value, self.torch.SymFloat) else bool(value)
            if isinstance(value, self.torch.dtype):
                return getattr(_opgrid, str(value).removeprefix("torch."))
            if isinstance(value, self.torch.device):
                return _opgrid.device("meta")
            if isinstance(value, (self.torch.layout, self.torch.memory_format)):
                return getattr(_opgrid, str(value).removeprefix("torch."))
            if isinstance(value, (list, tuple)):
                return [to_ours(item) for item in value]
            return value

        symbolic = self._symbolic_sizes(args, kwargs)
        if symbolic is None:
            results = self._on_meta([to_ours(value) for value in args], {k: to_ours(v) for k, v in kwargs.items()})
        else:
            few = [_meta_of(value, hints=True) if isinstance(value, self.torch.Tensor) else to_ours(value) for value in args]
            results = self._on_meta(few, {k: to_ours(v) for k, v in kwargs.items()})
        device = next((value.device for value in _tensors(self.torch, [*args, *kwargs.values()])), None)
        device = device or next((v for v in [*args, *kwargs.values()] if isinstance(v, self.torch.device)), "cpu")

        def to_theirs(value: Any) -> Any:
            if isinstance(value, _opgrid.TensorBase):
                for theirs, ours in given:
                    if ours is value:
                        return theirs
                dtype = getattr(self.torch, str(value.dtype).rpartition(".")[2])
                if symbolic is not None:
                    return self.torch.empty(symbolic, dtype=dtype, device=device)
                return self.torch.empty_strided(tuple(value.shape), value.stride(), dtype=dtype, device=device)
            if isinstance(value, tuple):
                return tuple(to_theirs(item) for item in value)
            if isinstance(value, list):
                return [to_theirs(item) for item in value]
            return value

        return to_theirs(results)

    def _on_meta(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        from .autograd import no_grad

        with no_grad():
            return self.ours(*args, **kwargs)

    def _symbolic_sizes(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The sizes of the results, where they are those of the arguments, broadcast, and not all are numbers."""
        tensors = [*_tensors(self.torch, [*args, *kwargs.values()])]
        symbols = any(isinstance(size, self.torch.SymInt) for tensor in tensors for size in tensor.shape)
        writes = any(argument.is_write for argument in self.ours._schema.arguments)
        if not symbols or writes or not self.pointwise:
            return None
        hints = all(getattr(size.node, "hint", None) is not None for t in tensors for size in t.shape if not isinstance(size, int))
        if not hints or not all(tensor.is_contiguous() for tensor in tensors):
            return None
        return self.torch.broadcast_shapes(*(tensor.shape for tensor in tensors))

    def differentiate(self, backward: Any) -> None:
        """Registers the operator's derivative in torch, which is the operator `backward`."""
        torch, name = self.torch, self.theirs.name()
        schema = self.theirs._schema
        positional = sum(not argument.kwarg_only for argument in schema.arguments)

        def context(ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Any = None) -> None:
            values = [*inputs, *(keyword_only_inputs or {}).values()]
            ctx.save_for_backward(*_tensors(torch, values))
            ctx.values = [_without_tensors(torch, value) for value in values]

        def context_with_keywords(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
            context(ctx, inputs, output, {a.name: keyword_only_inputs[a.name] for a in schema.arguments if a.kwarg_only})

        def context_of_positions(ctx: Any, inputs: Any, output: Any) -> None:
            context(ctx, inputs, output)

        def derivative(ctx: Any, *gradients: Any) -> Any:
            saved = iter(ctx.saved_tensors)
            values = [_with_tensors(value, saved) for value in ctx.values]
            wanted = [*ctx.needs_input_grad, *[False] * (len(values) - len(ctx.needs_input_grad))]
            needs = [need for value, need in zip(values, wanted) for need in _needs_of(torch, value, need)]
            found = iter(backward([*gradients], needs, *values))
            results = [_gradients_of(torch, value, need, found) for value, need in zip(values, wanted)]
            return tuple(results[:positional])

        def fake(gradients: Any, needs: Any, *args: Any) -> Any:
            tensors = _tensors(torch, args)
            return [torch.empty(t.shape, dtype=t.dtype, device=t.device) for t, need in zip(tensors, needs) if need]

        def second(ctx: Any, *gradients: Any) -> Any:
            raise errors.NotSupportedError(
                f"{name}: gradients of its gradients do not pass through torch; differentiate in opgrid, or leave out create_graph"
            )

        has_keywords = positional < len(schema.arguments)
        torch.library.register_fake(backward.name(), fake)
        torch.library.register_autograd(
            name, derivative, setup_context=context_with_keywords if has_keywords else context_of_positions, lib=self._library()
        )
        torch.library.register_autograd(backward.name(), second, lib=self._library())

    def count_writes(self) -> None:
        """Bumps the versions of written arguments in torch, so that autograd detects stale saved tensors."""
        torch, theirs = self.torch, self.theirs
        written = {argument.name: place for place, argument in enumerate(self.ours._schema.arguments) if argument.is_write}
        below = torch._C._after_ADInplaceOrView_keyset

        def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
            for name, place in written.items():
                value = kwargs.get(name) if place >= len(args) else args[place]
                for tensor in _tensors(torch, [value]):
                    torch.autograd.graph.increment_version(tensor)
            return theirs.redispatch(keys & below, *args, **kwargs)

        _, _, short = theirs.name().partition("::")
        self._library().impl(short, kernel, "ADInplaceOrView", with_keyset=True)


def _meta_of(tensor: Any, hints: bool = False) -> Any:
    """A tensor of ours with the sizes of one of torch's, without elements."""
    from . import empty_strided

    def number(size: Any) -> int:
        return size if isinstance(size, int) else size.node.hint if hints else int(size)

    dtype = getattr(_opgrid, str(tensor.dtype).removeprefix("torch."), None)
    if dtype is None:
        raise errors.NotSupportedError(f"found a tensor of dtype {tensor.dtype}, which opgrid does not have; convert it first")
    sizes, strides = [number(size) for size in tensor.shape], [number(stride) for stride in tensor.stride()]
    return empty_strided(sizes, strides, dtype=dtype, device="meta")


def _tensors(torch: Any, values: Any) -> Iterator[Any]:
    """The tensors among values, those in lists too."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(torch, value)


class _Saved:
    """Stands for a tensor that torch's autograd keeps."""


def _without_tensors(torch: Any, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return _Saved
    if isinstance(value, (list, tuple)):
        return [_without_tensors(torch, item) for item in value]
    return value


def _with_tensors(value: Any, saved: Iterator[Any]) -> Any:
    if value is _Saved:
        return next(saved)
    if isinstance(value, list):
        return [_with_tensors(item, saved) for item in value]
    return value


def _needs_of(torch: Any, value: Any, need: Any) -> Iterator[bool]:
    """Whether each tensor in an argument needs a gradient."""
    if isinstance(value, torch.Tensor):
        yield bool(need)
    elif isinstance(value, list):
        for item, one in zip(value, need if isinstance(need, (list, tuple)) else [need] * len(value)):
            yield from _needs_of(torch, item, one)


def _gradients_of(torch: Any, value: Any, need: Any, found: Iterator[Any]) -> Any:
    """The gradient of an argument, or a list of them for a list of tensors."""
    if isinstance(value, torch.Tensor):
        return next(found) if need else None
    if isinstance(value, list) and any(isinstance(item, torch.Tensor) for item in value):
        needs = need if isinstance(need, (list, tuple)) else [need] * len(value)
        return [_gradients_of(torch, item, one, found) for item, one in zip(value, needs)]
    return None


def import_(op: Any, *, name: str | None = None) -> Any:
    """Defines an operator that torch computes, and returns it: ``import_("aten::gelu")`` gives ``og.ops.torch.gelu``.

    ``op`` is an overload of torch, or its name such as ``"aten::erfinv"`` or ``"aten::sum.dim_IntList"``; ``name`` is the name
    here, by default the same in the namespace ``torch``. The operator works on CPU and meta tensors, without copies, and
    has no derivative. Each of its calls counts as a slow path, ``call of torch``.
    """
    torch = _torch()
    theirs = op if isinstance(op, torch._ops.OpOverload) else _found(torch, op)
    base = theirs._schema.name.partition("::")[2]
    name = f"torch::{base}" if name is None else name
    _opgrid._import_from_torch(str(theirs._schema), name).keep()
    overload = theirs._schema.overload_name
    return _opgrid.overload_named(f"{name}.{overload}" if overload else name)


def _found(torch: Any, op: Any) -> Any:
    if not isinstance(op, str) or "::" not in op:
        raise ValueError(f"import_(): expected the name of an operator such as 'aten::gelu', found {op!r}")
    try:
        return _overload(torch, op)
    except AttributeError as error:
        raise ValueError(f"import_(): torch has no operator {op}; name it with its overload, as in 'aten::sum.dim_IntList'") from error


