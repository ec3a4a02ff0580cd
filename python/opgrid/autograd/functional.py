"""Jacobians, Hessians and products with them, of functions of tensors, with the names and arguments of ``torch.autograd.functional``.

>>> import opgrid as og
>>> og.autograd.functional.jacobian(lambda x: x ** 2, og.tensor([1.0, 3.0]))
tensor([[2., 0.],
        [0., 6.]])

Inputs are a tensor or a tuple of tensors, as are results. With ``create_graph`` what comes back can be differentiated further. With
``strict``, a result that does not depend on an input is an error instead of zeros. :mod:`opgrid.func` has functions that nest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from .. import _opgrid

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_Function = Callable[..., Any]


def vjp(func: _Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The results of a function, and the product of ``v`` with its Jacobian: the gradients of the inputs by gradients of the results.

    ``v`` may be left out where the result has one element.
    """
    given, is_single = _leaves(inputs, create_graph)
    with _enable_grad():
        found = func(*given)
        outputs = _listed(found)
        _check_dependence("vjp()", outputs, strict)
        back = _grad(outputs, given, _factors(v, outputs, "vjp()"), create_graph=create_graph, strict=strict, what="vjp()")
    return found if create_graph else _detached(found), back[0] if is_single else back


def jvp(func: _Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The results of a function, and the product of its Jacobian with ``v``: how results change when inputs change by ``v``.

    It is the gradient of a gradient. ``v`` may be left out where the input has one element.
    """
    given, _ = _leaves(inputs, create_graph)
    moves = _factors(v, given, "jvp()")
    with _enable_grad():
        found = func(*given)
        outputs = _listed(found)
        _check_dependence("jvp()", outputs, strict)
        zeros = _opgrid.function("zeros_like")
        factors = [zeros(y).requires_grad_() for y in outputs]
        back = _grad(outputs, given, factors, create_graph=True, strict=strict, what="jvp()")
        # What does not depend on the factors is constant, and so is its product.
        both = [(g, move) for g, move in zip(back, moves, strict=True) if g.requires_grad]
        if both:
            moved = _grad([g for g, _ in both], factors, [move for _, move in both], create_graph=create_graph)
        else:
            moved = tuple(zeros(factor) for factor in factors)
    result = moved[0] if isinstance(found, _opgrid.TensorBase) else moved
    return found if create_graph else _detached(found), result


def jacobian(
    func: _Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The derivatives of every element of the result by every element of the inputs: sizes of the result, then of the input.

    For several inputs a tuple, for several results a tuple of these. With ``vectorize``, all rows are computed in one batch;
    ``strategy="forward-mode"`` computes columns, which is less work where there are fewer inputs than results, and needs
    ``vectorize``.
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(f"jacobian(): found the strategy {strategy!r}, expected 'reverse-mode' or 'forward-mode'")
    if strategy == "forward-mode":
        if create_graph or not vectorize:
            raise NotImplementedError("jacobian(): the strategy 'forward-mode' needs vectorize=True and no create_graph")
        return _by_columns(func, inputs)
    if strict and vectorize:
        raise RuntimeError("jacobian(): strict and vectorize exclude each other; a batch does not say what depends on what")
    given, is_single = _leaves(inputs, create_graph)
    with _enable_grad():
        found = func(*given)
        outputs = _listed(found)
        _check_dependence("jacobian()", outputs, strict)
        rows = [(_batch if vectorize else _rows)(y, given, create_graph, strict) for y in outputs]
    every = [row[0] if is_single else tuple(row) for row in rows]
    return every[0] if isinstance(found, _opgrid.TensorBase) else tuple(every)


def _rows(y: Any, given: list[Any], create_graph: bool, strict: bool) -> list[Any]:
    """The derivatives of a result, an element at a time."""
    stack, zeros = _opgrid.function("stack"), _opgrid.function("zeros_like")
    flat = y.reshape(-1)
    columns: list[list[Any]] = [[] for _ in given]
    for place in range(flat.numel() if flat.requires_grad else 0):
        back = _grad([flat[place]], given, [], retain_graph=True, create_graph=create_graph, strict=strict, what="jacobian()")
        for column, g in zip(columns, back, strict=True):
            column.append(g)
    sizes = [(*y.shape, *x.shape) for x in given]
    # A constant has no rows, but derivatives.
    return [
        stack(column).reshape(size) if column else zeros(x).expand(size).clone() for column, x, size in zip(columns, given, sizes, strict=True)
    ]


def _batch(y: Any, given: list[Any], create_graph: bool, strict: bool) -> list[Any]:
    """The derivatives of a result, of all elements in one batch."""
    if not y.requires_grad or y.numel() == 0:
        return _rows(y, given, create_graph, strict)
    from . import grad

    count = y.numel()
    basis = _opgrid.function("eye")(count, dtype=y.dtype, device=y.device).reshape((count, *y.shape))
    back = grad([y], given, [basis], create_graph=create_graph, retain_graph=True, materialize_grads=True, is_grads_batched=True)
    return [g.reshape((*y.shape, *x.shape)) for g, x in zip(cast("tuple[Any, ...]", back), given, strict=True)]


def _by_columns(func: _Function, inputs: Any) -> Any:
    """The derivatives by the elements of the inputs, of all of these in one batch."""
    from ..func import jacfwd

    is_single = isinstance(inputs, _opgrid.TensorBase)
    given = _listed(inputs)
    found = jacfwd(func, tuple(range(len(given))))(*given)
    if not is_single:
        return found
    is_one = isinstance(found, tuple) and isinstance(found[0], _opgrid.TensorBase)
    return found[0] if is_one else tuple(row[0] for row in found)


def hessian(
    func: _Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a function with a result of one element.

    ``vectorize`` and ``outer_jacobian_strategy`` are those of :func:`jacobian`, of the gradient.
    """
    given, is_single = _leaves(inputs, True)

    def first(*every: Any) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            from ..func import grad

            return grad(lambda *args: _single(func(*args), "hessian()"), tuple(range(len(every))))(*every)
        return _grad([_single(func(*every), "hessian()")], list(every), [], create_graph=True, strict=strict, what="hessian()")

    found = jacobian(first, tuple(given), create_graph, strict, vectorize, outer_jacobian_strategy)
    return found[0][0] if is_single else found


def vhp(func: _Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The result of a function with one element, and the product of ``v`` with its Hessian."""
    given, is_single = _leaves(inputs, True)
    moves = _factors(v, given, "vhp()")
    with _enable_grad():
        found = func(*given)
        first = _grad([_single(found, "vhp()")], given, [], create_graph=True, strict=strict, what="vhp()")
        both = [(g, move) for g, move in zip(first, moves, strict=True) if g.requires_grad]
        if both:
            second = _grad([g for g, _ in both], given, [move for _, move in both], create_graph=create_graph, strict=strict, what="vhp()")
        else:
            second = tuple(_opgrid.function("zeros_like")(x) for x in given)
    return found if create_graph else _detached(found), second[0] if is_single else second


def hvp(func: _Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The result of a function with one element, and the product of its Hessian with ``v``.

    Hessians are symmetric, so that this is :func:`vhp`, which needs one pass less.
    """
    return vhp(func, inputs, v, create_graph, strict)


def _factors(v: Any, like: list[Any], what: str) -> list[Any]:
    """The factors of a product, of the sizes of these tensors; 1 may be left out."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"{what}: `v` can only be left out for one tensor of one element; give one of the sizes of each tensor")
        return [_opgrid.function("ones_like")(like[0])]
    given = _listed(v)
    if [tuple(factor.shape) for factor in given] != [tuple(x.shape) for x in like]:
        sizes = [tuple(factor.shape) for factor in given]
        raise RuntimeError(f"{what}: `v` has sizes {sizes}, expected {[tuple(x.shape) for x in like]}")
    return given


def _listed(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, _opgrid.TensorBase) or tensors is None else list(tensors)


def _single(found: Any, what: str) -> Any:
    if not isinstance(found, _opgrid.TensorBase) or found.numel() != 1:
        kind = f"a result of sizes {tuple(found.shape)}" if isinstance(found, _opgrid.TensorBase) else type(found).__name__
        raise RuntimeError(f"{what}: the function returned {kind}, expected one element; sum it")
    return found.reshape(())


def _grad(
    outputs: list[Any],
    inputs: list[Any],
    grads: list[Any],
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    strict: bool = False,
    what: str = "",
) -> tuple[Any, ...]:
    """The gradients of the outputs that require them; zeros of inputs that none depends on, unless that is an error."""
    from . import grad

    wanted = [place for place, y in enumerate(outputs) if y.requires_grad]
    if not wanted:
        return tuple(_opgrid.function("zeros_like")(x) for x in inputs)
    given = [grads[place] for place in wanted] if grads else []
    found = grad(
        [outputs[place] for place in wanted], inputs, given, retain_graph=retain_graph, create_graph=create_graph, allow_unused=True
    )
    if strict and any(g is None for g in found):
        place = next(place for place, g in enumerate(found) if g is None)
        raise RuntimeError(f"{what}: no result depends on input {place}, which is an error with strict=True")
    return tuple(_opgrid.function("zeros_like")(x) if g is None else g for g, x in zip(found, inputs, strict=True))


def _check_dependence(what: str, outputs: list[Any], strict: bool) -> None:
    constant = [place for place, y in enumerate(outputs) if not y.requires_grad]
    if strict and constant:
        raise RuntimeError(f"{what}: result {constant[0]} does not depend on the inputs, which is an error with strict=True")


def _enable_grad() -> Any:
    from . import enable_grad

    return enable_grad()


def _leaves(inputs: Any, keeps: bool) -> tuple[list[Any], bool]:
    is_single = isinstance(inputs, _opgrid.TensorBase)
    every = _listed(inputs)
    # What is differentiated further leads on to the tensors that were given.
    return [x.view_as(x) if keeps and x.requires_grad else x.detach().requires_grad_() for x in every], is_single


def _detached(found: Any) -> Any:
    return found.detach() if isinstance(found, _opgrid.TensorBase) else tuple(y.detach() for y in found)
