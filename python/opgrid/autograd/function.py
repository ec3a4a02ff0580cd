"""Functions with a derivative of one's own, and what their two halves share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _opgrid

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]


class FunctionCtx:
    """What the two halves of a function share."""

    def __init__(self) -> None:
        self.saved_tensors: tuple[Any, ...] = ()
        self.needs_input_grad: tuple[bool, ...] = ()
        self._constant: set[int] = set()
        self._dirty: tuple[Any, ...] = ()
        self._there: list[bool] = []
        self._materializes = True
        self._for_forward: tuple[Any, ...] | None = None

    # Everything else that one half leaves on it, the other one finds.
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors for the backward pass; one that is written meanwhile is noticed there."""
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keeps tensors for ``jvp``, which has them as ``saved_tensors``, with those that are kept for the backward pass."""
        self._for_forward = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Says that results are constant."""
        self._constant = {id(tensor) for tensor in tensors}

    def mark_dirty(self, *tensors: Any) -> None:
        """Says that arguments were written in place; each has to be among the results."""
        for place, tensor in enumerate(tensors):
            if not isinstance(tensor, _opgrid.TensorBase):
                raise RuntimeError(f"mark_dirty: argument {place} is of class {type(tensor).__name__}, expected tensors")
        self._dirty = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` gets zeros instead of ``None`` for results without a gradient."""
        self._materializes = value


class Function:
    """A function with a derivative of its own: ``forward`` and ``backward``, called by ``apply``.

    With ``setup_context`` beside it, ``forward`` gets no ``ctx``. ``vjp`` is another name of ``backward``. Forward mode calls ``jvp`` if there
    is one, and else derives tangents from ``backward``. vmap sees the operators that ``forward`` calls, whether ``generate_vmap_rule`` is
    set or not.
    """

    generate_vmap_rule = False

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function.")

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Calls the function, and records it where an argument requires a gradient."""
        if cls.jvp is not Function.jvp and (level := _opgrid._forward_level(args)) is not None:
            return cls._apply_forward(level, args)
        return cls._apply(FunctionCtx(), args)

    @classmethod
    def _apply_forward(cls, level: Any, args: tuple[Any, ...]) -> Any:
        """Calls the function at a level of forward mode: with the values of its arguments, and ``jvp`` with their tangents."""
        are_tensors = [isinstance(a, _opgrid.TensorBase) for a in args]
        ctx = FunctionCtx()
        primals = [level.inner(a) if is_tensor else a for a, is_tensor in zip(args, are_tensors, strict=True)]
        output = cls._apply(ctx, tuple(primals))
        tangents = [level.tangent(a) if is_tensor else None for a, is_tensor in zip(args, are_tensors, strict=True)]
        if ctx._materializes:
            tangents = [p.zeros_like() if is_tensor and t is None else t for p, t, is_tensor in zip(primals, tangents, are_tensors, strict=True)]
        before, ctx.saved_tensors = ctx.saved_tensors, ctx._for_forward or ()
        try:
            found = cls.jvp(ctx, *tangents)
        finally:
            ctx.saved_tensors = before
        if isinstance(output, _opgrid.TensorBase):
            return output if found is None else level.dual(output, found)
        return tuple(one if tangent is None else level.dual(one, tangent) for one, tangent in zip(output, found, strict=True))

    @classmethod
    def _apply(cls, ctx: FunctionCtx, args: tuple[Any, ...]) -> Any:
        ctx.needs_input_grad = tuple(isinstance(a, _opgrid.TensorBase) and a.requires_grad for a in args)
        places = [i for i, a in enumerate(args) if isinstance(a, _opgrid.TensorBase)]
        made: dict[str, Any] = {}
        # The formula, which stays with the graph, keeps no arguments but those that were saved.
        count = len(args)

        def forward() -> tuple[list[Any], list[Any], list[Any]]:
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *args)
            else:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            is_single = isinstance(output, _opgrid.TensorBase)
            every = [output] if is_single else list(output)
            results = [r for r in every if isinstance(r, _opgrid.TensorBase) and id(r) not in ctx._constant]
            made.update(every=every, single=is_single, results=results)
            made["like"] = [(tuple(r.shape), r.dtype, r.device) for r in results]
            kept = [t for t in ctx.saved_tensors if t is not None]
            made["gaps"] = [t is not None for t in ctx.saved_tensors]
            # Leaves are there anyway; `backward` gets them themselves, as those of torch, and may ask for gradients by them.
            made["leaves"] = [t if t.requires_grad and t.is_leaf and all(t is not r for r in results) else None for t in kept]
            ctx.saved_tensors = ()
            dirty = [t for t in ctx._dirty if id(t) not in ctx._constant]
            ctx._dirty = ()
            return results, kept, dirty

        def formula(grads: list[Any], kept: list[Any]) -> list[Any]:
            tensors = (one if leaf is None else leaf for one, leaf in zip(kept, made["leaves"], strict=True))
            ctx.saved_tensors = tuple(next(tensors) if there else None for there in made["gaps"])
            if ctx._materializes:
                zeros = _opgrid.function("zeros")
                grads = [
                    zeros(size, dtype=dtype, device=device) if g is None else g
                    for g, (size, dtype, device) in zip(grads, made["like"], strict=True)
                ]
            # Those of constant results stay away.
            given = iter(grads)
            every = [next(given) if there else None for there in made["there"]]
            try:
                back = (cls.vjp if cls.backward is Function.backward else cls.backward)(ctx, *every)
            finally:
                ctx.saved_tensors = ()
            back = back if isinstance(back, tuple) else (back,)
            if len(back) != count:
                if any(g is not None for g in back[count:]) or len(back) < count:
                    raise RuntimeError(
                        f"function {cls.__name__}Backward returned an incorrect number of gradients (expected {count}, got {len(back)})"
                    )
            return [back[i] for i in places]

        found = _opgrid._custom(cls.__name__ + "Backward", [args[i] for i in places], forward, formula)
        kept_ids = {id(r) for r in made["results"]}
        made["there"] = [id(r) in kept_ids for r in made["every"]]
        given = iter(found)
        every = [next(given) if there else _constant(r, args) for r, there in zip(made["every"], made["there"], strict=True)]
        del made["every"], made["results"]
        return every[0] if made["single"] else tuple(every)


class InplaceFunction(Function):
    """A function of a module that may write its argument in place, by its own ``mark_dirty``."""

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace


def _constant(result: Any, args: tuple[Any, ...]) -> Any:
    """A result that no gradient comes from: not the argument that requires one."""
    is_argument = isinstance(result, _opgrid.TensorBase) and any(result is a for a in args)
    return result.detach() if is_argument and result.requires_grad else result


class _Once(Function):
    """Gradients that are used, and may not be differentiated."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("a gradient of a function whose backward is marked with @once_differentiable was differentiated; leave out the mark")


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Marks ``backward`` of a function as one that is not recorded, as where it calls numpy: differentiating its gradients is an error.

    Example::

        class Double(Function):
            @staticmethod
            def forward(ctx, x):
                return 2 * x

            @staticmethod
            @once_differentiable
            def backward(ctx, grad):
                return 2 * grad
    """

    @functools.wraps(fn)
    def backward(ctx: Any, *grads: Any) -> Any:
        before = _opgrid._set_grad_enabled(False)
        try:
            found = fn(ctx, *grads)
        finally:
            _opgrid._set_grad_enabled(before)
        if not before or not any(isinstance(grad, _opgrid.TensorBase) and grad.requires_grad for grad in grads):
            return found
        every = found if isinstance(found, tuple) else (found,)
        there = [isinstance(one, _opgrid.TensorBase) for one in every]
        marked = iter(_Once.apply(*(one.detach().requires_grad_() for one in every if isinstance(one, _opgrid.TensorBase))))
        return tuple(next(marked) if is_tensor else one for one, is_tensor in zip(every, there, strict=True))

    return backward
