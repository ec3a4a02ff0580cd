"""Gradients: the backward pass, switches, functions with a derivative of one's own.

``x.requires_grad_()`` asks for gradients by a tensor, ``y.backward()`` adds them up in ``x.grad``, ``grad(y, x)`` gives them.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar

from .. import _opgrid
from .._opgrid import Graph, Node, RemovableHandle, Tensor, is_grad_enabled
from ..overrides import handle_torch_function, has_torch_function
from . import forward_ad, functional, graph
from .function import Function, FunctionCtx
from .functional import hessian, hvp, jacobian, jvp, vhp, vjp
from .variable import Variable

if TYPE_CHECKING:
    from random import Random

__all__ = [
    "Function",
    "Graph",
    "Node",
    "RemovableHandle",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "get_graph",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "hessian",
    "hvp",
    "inference_mode",
    "is_grad_enabled",
    "jacobian",
    "jvp",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "vhp",
    "vjp",
]


def __getattr__(name: str) -> Any:
    """Profiles are imported when they are asked for."""
    if name == "profiler":
        from importlib import import_module

        return import_module(f"{__name__}.profiler")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Switch:
    """A setting of this thread for a ``with`` block, or for every call of a decorated function."""

    def __init__(self) -> None:
        self._before: list[bool] = []

    def _begin(self) -> bool:
        raise NotImplementedError

    def _end(self, before: bool) -> None:
        raise NotImplementedError

    def __enter__(self) -> None:
        self._before.append(self._begin())

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end(self._before.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            before = self._begin()
            try:
                return function(*args, **kwargs)
            finally:
                self._end(before)

        return within


class set_grad_enabled(_Switch):
    """Switches recording on or off at once; as a context manager, back at the end of the block."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = mode
        self._at_first: bool | None = _opgrid._set_grad_enabled(mode)

    def _begin(self) -> bool:
        before, self._at_first = self._at_first, None
        now = _opgrid._set_grad_enabled(self.mode)
        return now if before is None else before

    def _end(self, before: bool) -> None:
        _opgrid._set_grad_enabled(before)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if self._at_first is not None:
            _opgrid._set_grad_enabled(self._at_first)
            self._at_first = None
        return super().__call__(function)


class _Recording(_Switch):
    """Recording on or off from when the block begins."""

    _on: ClassVar[bool]

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        made = super().__new__(cls)
        if function is None:
            return made
        made.__init__()  # type: ignore[misc]
        return made(function)

    def _begin(self) -> bool:
        return _opgrid._set_grad_enabled(self._on)

    def _end(self, before: bool) -> None:
        _opgrid._set_grad_enabled(before)


class no_grad(_Recording):
    """Without recording: what is computed requires no gradient. A context manager, and a decorator with or without ``()``."""

    _on = False


class enable_grad(_Recording):
    """With recording, inside of ``no_grad`` too."""

    _on = True


class inference_mode(_Switch):
    """Without recording and without what views and writes need of it: tensors that are made carry no keys of autograd.

    ``inference_mode(False)`` ends both inside of another block, and records.
    """

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self._mode = mode
        self._open: list[tuple[Any, bool]] = []

    def __enter__(self) -> None:
        guard = _opgrid._inference_keys(self._mode)
        guard.__enter__()
        self._open.append((guard, _opgrid._set_grad_enabled(not self._mode)))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        guard, recorded = self._open.pop()
        guard.__exit__(kind, error, trace)
        _opgrid._set_grad_enabled(recorded)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            with inference_mode(self._mode):
                return function(*args, **kwargs)

        return within


class detect_anomaly(_Switch):
    """Records where each call was made, for the errors of its derivative, and rejects gradients that are NaN."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__()
        self._on = check_nan

    def _begin(self) -> bool:
        return _opgrid._set_anomaly_enabled(self._on)

    def _end(self, before: bool) -> None:
        _opgrid._set_anomaly_enabled(before)


class set_detect_anomaly(detect_anomaly):
    """Switches :class:`detect_anomaly` on or off at once; as a context manager, back at the end of the block."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(mode and check_nan)
        self._at_first = _opgrid._set_anomaly_enabled(self._on)

    def _begin(self) -> bool:
        return self._at_first


def _listed(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, _opgrid.TensorBase) or tensors is None else list(tensors)


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Adds the gradients of the leaves that ``tensors`` depend on to their ``grad``; with ``inputs``, only of these."""
    grads = [] if grad_tensors is None else _listed(grad_tensors)
    wanted = None if inputs is None else _listed(inputs)
    if wanted == []:
        raise ValueError("`inputs` argument to `backward()` cannot be empty.")
    _opgrid._backward(_listed(tensors), grads, retain_graph, create_graph, wanted)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the sum of ``outputs`` by each of ``inputs``.

    An input that no output depends on is an error, unless ``allow_unused`` has it give ``None``, or ``materialize_grads`` zeros.
    With ``is_grads_batched``, dimension 0 of ``grad_outputs`` counts gradients that go back in one batch, and that of the results
    what each of them gives. Nothing else gets a gradient; ``only_inputs`` has to say so.
    """
    relevant = (*_listed(outputs), *_listed(inputs))
    if has_torch_function(relevant) and _opgrid._are_classes_asked():
        answer: tuple[Tensor | None, ...] = handle_torch_function(
            grad,
            relevant,
            outputs,
            inputs,
            grad_outputs=grad_outputs,
            retain_graph=retain_graph,
            create_graph=create_graph,
            allow_unused=allow_unused,
            is_grads_batched=is_grads_batched,
            materialize_grads=materialize_grads,
        )
        return answer
    if not only_inputs:
        warnings.warn("autograd.grad: only_inputs=False has no effect; call autograd.backward to add up gradients in leaves", FutureWarning, stacklevel=2)
    if allow_unused is False and materialize_grads:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    grads = [] if grad_outputs is None else _listed(grad_outputs)
    wanted = _listed(inputs)
    if is_grads_batched:
        return _grad_of_batch(_listed(outputs), wanted, grads, retain_graph, create_graph, allow_unused, materialize_grads)
    found = _opgrid._grad(_listed(outputs), wanted, grads, retain_graph, create_graph)
    if materialize_grads:
        zeros = _opgrid.function("zeros_like")
        return tuple(zeros(x) if g is None else g for x, g in zip(wanted, found, strict=True))
    if not allow_unused and any(g is None for g in found):
        place = next(i for i, g in enumerate(found) if g is None)
        raise RuntimeError(
            f"input {place} appears not to have been used in the graph; set allow_unused=True if this is the desired behavior"
        )
    return tuple(found)


def _grad_of_batch(
    outputs: list[Any],
    inputs: list[Any],
    grads: list[Any],
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool | None,
    materialize_grads: bool,
) -> tuple[Tensor | None, ...]:
    from ..func import vmap

    if not grads:
        raise RuntimeError("grad(): found no grad_outputs, expected those of a batch; is_grads_batched says that they have one")
    present = [place for place, g in enumerate(grads) if g is not None]
    absent: list[bool] = []

    def back(*batch: Any) -> tuple[Any, ...]:
        given = list(grads)
        for place, g in zip(present, batch, strict=True):
            given[place] = g
        found = grad(outputs, inputs, given, retain_graph, create_graph, allow_unused=allow_unused, materialize_grads=materialize_grads)
        absent[:] = [g is None for g in found]
        return tuple(g for g in found if g is not None)

    found = iter(vmap(back)(*(grads[place] for place in present)))
    return tuple(None if is_absent else next(found) for is_absent in absent)


def get_graph(
    outputs: Tensor | Sequence[Tensor],
    names: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]] | None = None,
    limit: int = 200,
) -> Graph:
    """The graph that leads from ``outputs`` to their leaves, as a value that keeps none of it alive.

    ``names`` are names of tensors in it: a dictionary, or ``module.named_parameters()``. ``limit`` is how many nodes are shown;
    counts and bytes are of the whole graph. ``print`` shows it as text, notebooks show the picture, and ``dot()``, ``svg()`` and
    ``html()`` give it for files:

    >>> import opgrid as og
    >>> w = og.ones(2, requires_grad=True)
    >>> g = og.autograd.get_graph((w * w).sum(), names={"w": w})
    >>> g.calls, g.leaves, g.saved_bytes
    (2, 1, 8)
    >>> print(g)
    2 calls, 1 leaf, 8 bytes saved
    [0] aten::sum float32 []
      [1] aten::mul.Tensor float32 [2]; saves self float32 [2], 8 bytes
        [2] leaf `w` float32 [2]
        [2] leaf `w` float32 [2], above
    <BLANKLINE>
    """
    pairs = names.items() if isinstance(names, Mapping) else () if names is None else names
    return _opgrid._graph(_listed(outputs), list(pairs), limit)


def registered(
    overload: _opgrid.OpOverload, backward: Callable[..., Any], setup_context: Callable[..., Any] | None
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The two halves of an operator's derivative, as the recorder calls them."""
    name = overload.name()

    def setup(inputs: tuple[Any, ...], results: list[Any]) -> tuple[tuple[FunctionCtx, _Shapes], list[Any], int | None]:
        schema = overload._schema
        count = sum(not a.kwarg_only for a in schema.arguments)
        positional = inputs[:count]
        shapes = _Shapes(positional, results, [str(r.type) for r in schema.returns])
        ctx = FunctionCtx()
        ctx.needs_input_grad = tuple(map(_needs, positional))
        if setup_context is not None:
            output = shapes.results(results)
            given = {"inputs": positional, "output": output[0] if len(output) == 1 else tuple(output)}
            if count < len(inputs):
                keyword = {a.name: value for a, value in zip(schema.arguments[count:], inputs[count:], strict=True)}
                given = {"inputs": positional, "keyword_only_inputs": keyword, "output": given["output"]}
            _call_setup(setup_context, ctx, given)
        kept = [t for t in ctx.saved_tensors if t is not None]
        ctx._there = [t is not None for t in ctx.saved_tensors]
        ctx.saved_tensors = ()
        return (ctx, shapes), kept, _differentiable_results(name, ctx, results)

    def formula(kept_with: tuple[FunctionCtx, _Shapes], grads: list[Any], kept: list[Any]) -> list[Any]:
        ctx, shapes = kept_with
        tensors = iter(kept)
        ctx.saved_tensors = tuple(next(tensors) if there else None for there in ctx._there)
        if ctx._materializes:
            grads = shapes.materialized(grads)
        try:
            back = backward(ctx, *shapes.results(grads))
        finally:
            ctx.saved_tensors = ()
        return shapes.gradients(name, back)

    return setup, formula


def _differentiable_results(name: str, ctx: FunctionCtx, results: list[Any]) -> int | None:
    """How many results gradients come from, where some were marked as constant."""
    if ctx._dirty:
        raise RuntimeError(f"{name}: mark_dirty is for functions; the schema of an operator declares what it writes")
    constant = [id(result) in ctx._constant for result in results]
    if not any(constant):
        return None
    count = constant.index(True)
    if not all(constant[count:]):
        raise NotImplementedError(f"{name}: mark_non_differentiable of a result before one that gradients come from; give constant results last")
    return count


def _call_setup(setup_context: Callable[..., Any], ctx: FunctionCtx, given: dict[str, Any]) -> None:
    """Calls it by name where its parameters have torch's names, in whatever order, else by position."""
    code = getattr(setup_context, "__code__", None)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code is not None else ()
    if {"ctx", *given} <= set(names):
        setup_context(ctx=ctx, **given)
    else:
        setup_context(ctx, *given.values())


def _needs(value: Any) -> Any:
    """Whether an argument needs a gradient; of a list, which of its tensors do."""
    if isinstance(value, (list, tuple)):
        return list(map(_needs, value))
    return isinstance(value, _opgrid.TensorBase) and value.requires_grad


class _Shapes:
    """How the arguments and results of a call stand, of which the recorder has the tensors one by one."""

    def __init__(self, inputs: tuple[Any, ...], results: list[Any], types: list[str]) -> None:
        def is_tensor(value: Any) -> bool:
            return isinstance(value, _opgrid.TensorBase)

        # Of each argument: one gradient, as many as the list has elements (None of those that are no tensors), or none.
        self._inputs = [
            [is_tensor(item) for item in value] if isinstance(value, (list, tuple)) else is_tensor(value) for value in inputs
        ]
        self._like = [(tuple(r.shape), r.dtype, r.device) if is_tensor(r) else None for r in results]
        lists = [kind.startswith(("Tensor[", "Tensor?[")) for kind in types]
        if sum(lists) > 1:
            raise NotImplementedError(
                "register_autograd: the operator returns several lists of tensors, whose gradients cannot be told apart; return one list"
            )
        length = len(results) - len(types) + 1
        self._lengths = [length if is_list else None for is_list in lists]

    def results(self, values: list[Any]) -> list[Any]:
        """Values that stand one by one, as the results that the schema declares."""
        rest = iter(values)
        return [next(rest) if length is None else [next(rest) for _ in range(length)] for length in self._lengths]

    def materialized(self, grads: list[Any]) -> list[Any]:
        """Zeros in place of gradients that are not there."""
        zeros = _opgrid.function("zeros")
        return [
            zeros(like[0], dtype=like[1], device=like[2]) if g is None and like is not None else g
            for g, like in zip(grads, self._like, strict=True)
        ]

    def gradients(self, name: str, back: Any) -> list[Any]:
        """What a derivative returned, one for each tensor among the arguments."""
        only_list = len(self._inputs) == 1 and isinstance(self._inputs[0], list)
        back = tuple(back) if isinstance(back, tuple) or (isinstance(back, list) and not only_list) else (back,)
        if len(back) != len(self._inputs):
            raise RuntimeError(
                f"{name}: the derivative in Python returned {len(back)} gradients, expected {len(self._inputs)}, one for each argument"
            )
        flat: list[Any] = []
        for place, (grad, expected) in enumerate(zip(back, self._inputs, strict=True)):
            if isinstance(expected, list):
                if grad is not None and (not isinstance(grad, (list, tuple)) or len(grad) != len(expected)):
                    found = f"{len(grad)} gradients" if isinstance(grad, (list, tuple)) else f"an object of class {type(grad).__name__}"
                    raise RuntimeError(
                        f"{name}: the derivative in Python returned {found} for argument {place}, expected a list of {len(expected)}, or None"
                    )
                items = [None] * len(expected) if grad is None else grad
                flat += [item for item, is_tensor in zip(items, expected, strict=True) if is_tensor]
            elif expected:
                flat.append(grad)
            elif grad is not None and not isinstance(grad, (list, tuple)):
                raise RuntimeError(
                    f"{name}: the derivative in Python returned a gradient for argument {place}, which is not a tensor; return None for it"
                )
        return flat


def _differentiable(inputs: Sequence[Any]) -> list[int]:
    return [i for i, x in enumerate(inputs) if isinstance(x, _opgrid.TensorBase) and x.requires_grad]


def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Compares the gradients of a function with finite differences, element by element, in float64 and complex128.

    With `fast_mode` it compares one random direction of each input and of the results: two calls of the function for each input,
    where otherwise each element takes two.
    """
    given = tuple(_listed(inputs))
    places = _differentiable(given)
    if not places:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.")
    try:
        for place in places:
            check = _check_direction if fast_mode else _check_input
            check(func, given, place, eps, atol, rtol)
    except _Differs as differs:
        if raise_exception:
            raise GradcheckError(str(differs)) from None
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Sequence[Any] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Compares the gradients of the gradients of a function with finite differences; `fast_mode` is that of `gradcheck`."""
    given = tuple(_listed(inputs))
    places = _differentiable(given)
    outputs = [y for y in _results(func, given) if y.requires_grad]
    rand = _opgrid.function("randn_like")
    grads = list(grad_outputs) if grad_outputs is not None else [rand(y).detach().requires_grad_() for y in outputs]

    def gradients(*every: Any) -> Any:
        inner, outer = every[: len(given)], every[len(given) :]
        inner = tuple(x if i not in places or x.requires_grad else x.detach().requires_grad_() for i, x in enumerate(inner))
        with enable_grad():
            found = [y for y in _results(func, inner) if y.requires_grad]
            back = grad(found, [inner[i] for i in places], list(outer), create_graph=True, allow_unused=True)
        return tuple(g for g in back if g is not None)

    every = given + tuple(grads)
    return gradcheck(gradients, every, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, fast_mode=fast_mode)


class GradcheckError(RuntimeError):
    """A gradient differs from the finite differences."""


class _Differs(Exception):
    pass


def _results(func: Callable[..., Any], inputs: Sequence[Any]) -> list[Any]:
    found = func(*inputs)
    found = [found] if isinstance(found, _opgrid.TensorBase) else list(found)
    return [y for y in found if isinstance(y, _opgrid.TensorBase) and (y.dtype.is_floating_point or y.dtype.is_complex)]


def _parts(x: Any) -> list[float]:
    flat = x.detach().reshape(-1).tolist()
    return [p for e in flat for p in (e.real, e.imag)] if x.dtype.is_complex else flat


def _of_parts(parts: list[float], like: Any) -> Any:
    if like.dtype.is_complex:
        elements: Any = [complex(parts[i], parts[i + 1]) for i in range(0, len(parts), 2)]
    else:
        elements = parts
    return _opgrid.tensor(elements, dtype=like.dtype).reshape(like.shape)


def _check_input(func: Callable[..., Any], inputs: tuple[Any, ...], place: int, eps: float, atol: float, rtol: float) -> None:
    x = inputs[place]
    parts = _parts(x)
    differences = []
    for at in range(len(parts)):
        sides = []
        for by in (eps, -eps):
            moved = list(parts)
            moved[at] += by
            with no_grad():
                side = _results(func, (*inputs[:place], _of_parts(moved, x), *inputs[place + 1 :]))
            sides.append([_parts(y) for y in side])
        differences.append([[(a - b) / (2 * eps) for a, b in zip(above, below, strict=True)] for above, below in zip(*sides, strict=True)])
    outputs = _results(func, inputs)
    for number, y in enumerate(outputs):
        for part in range(len(_parts(y))):
            unit = [0.0] * len(_parts(y))
            unit[part] = 1.0
            found: Any = None
            if y.requires_grad:
                (found,) = grad(y, x, _of_parts(unit, y), retain_graph=True, allow_unused=True)
            grads = [0.0] * len(parts) if found is None else _parts(found)
            for at, (ours, expected) in enumerate(zip(grads, (d[number][part] for d in differences), strict=True)):
                if abs(ours - expected) > atol + rtol * abs(expected) or (ours != ours) != (expected != expected):
                    raise _Differs(
                        f"output {number}, part {part}, by input {place}, part {at}: found a gradient of {ours}, expected {expected} by finite differences"
                    )


def _check_direction(func: Callable[..., Any], inputs: tuple[Any, ...], place: int, eps: float, atol: float, rtol: float) -> None:
    x = inputs[place]
    parts = _parts(x)
    # Numbers that have nothing to do with those that the function draws.
    from random import Random

    numbers = Random(place)
    along = _direction(numbers, len(parts))
    sides = []
    for by in (eps, -eps):
        moved = [part + by * step for part, step in zip(parts, along, strict=True)]
        with no_grad():
            sides.append([_parts(y) for y in _results(func, (*inputs[:place], _of_parts(moved, x), *inputs[place + 1 :]))])
    for number, (y, above, below) in enumerate(zip(_results(func, inputs), *sides, strict=True)):
        weights = _direction(numbers, len(above))
        expected = sum(weight * (a - b) for weight, a, b in zip(weights, above, below, strict=True)) / (2 * eps)
        found: Any = None
        if y.requires_grad:
            (found,) = grad(y, x, _of_parts(weights, y), retain_graph=True, allow_unused=True)
        ours = 0.0 if found is None else sum(step * part for step, part in zip(along, _parts(found), strict=True))
        if abs(ours - expected) > atol + rtol * abs(expected) or (ours != ours) != (expected != expected):
            raise _Differs(
                f"output {number} by input {place}, along a random direction of both: found a derivative of {ours}, expected {expected} "
                "by finite differences"
            )


def _direction(numbers: Random, count: int) -> list[float]:
    return [numbers.choice((-1.0, 1.0)) * numbers.uniform(0.5, 1.0) for _ in range(count)]
