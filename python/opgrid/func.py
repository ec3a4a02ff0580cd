"""Transforms of functions: batches, derivatives in both modes, and what is made of them, nested in any order.

>>> import opgrid as og
>>> og.func.grad(lambda x: (x ** 3).sum())(og.tensor([1.0, 2.0]))
tensor([ 3., 12.])
>>> og.func.vmap(og.func.grad(lambda x: x ** 2))(og.tensor([1.0, 2.0, 3.0]))
tensor([2., 4., 6.])

The names and arguments are those of ``torch.func``. Arguments and results may be nested in tuples, lists and dicts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from . import _opgrid, autograd
from ._opgrid import TensorBase
from ._opgrid import Tree, _batches, _broadcast, _flatten, _run_batch
from ._rearrange import rearrange

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]

_Function = Callable[..., Any]


_ones_like, _zeros_like = _opgrid.function("ones_like"), _opgrid.function("zeros_like")


def vmap(
    func: _Function,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> _Function:
    """A function that runs `func` on a batch, with one call for each operator.

    `in_dims` says along which dimension the examples of each argument lie, ``None`` for arguments that are the same for all; `out_dims`
    where results have them. `randomness` is ``"different"`` or ``"same"`` for random numbers of each example; they are refused with
    ``"error"``. With `chunk_size`, so many examples run at a time.
    """
    if randomness not in ("error", "different", "same"):
        raise ValueError(f"vmap(): found the randomness {randomness!r}, expected 'error', 'different' or 'same'")
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"vmap(): found the chunk_size {chunk_size}, expected at least 1")

    def batched(*args: Any, **kwargs: Any) -> Any:
        leaves, dims, tree, size = _batches(args, kwargs, in_dims)
        if chunk_size is None or chunk_size >= size:
            return _run_batch(func, leaves, dims, tree, size, out_dims, randomness)
        chunks = []
        for start in range(0, size, chunk_size):
            length = min(chunk_size, size - start)
            part = [leaf if dim is None else leaf.narrow(dim, start, length) for leaf, dim in zip(leaves, dims)]
            chunks.append(_run_batch(func, part, dims, tree, length, out_dims, randomness))
        flat = [_flatten(chunk) for chunk in chunks]
        out = _broadcast(out_dims, flat[0][1], "vmap(): out_dims")
        joined = [_opgrid.function("cat")([leaves[at] for leaves, _ in flat], 0 if dim is None else dim) for at, dim in enumerate(out)]
        return flat[0][1].nest(joined)

    return _named(batched, func)


def _tensors(value: Any, what: str) -> tuple[list[TensorBase], Tree]:
    leaves, tree = _flatten(value)
    for leaf in leaves:
        if not isinstance(leaf, TensorBase):
            raise ValueError(f"{what}: found {type(leaf).__name__}, expected tensors")
    return leaves, tree


def _record(func: Callable[[Any], Any], primals: Any, has_aux: bool, what: str) -> tuple[Any, Any, Any, Tree, Any]:
    """Runs the function at a level of its own: its results, and what products with its Jacobian are made of."""
    leaves, tree = _tensors(primals, what)
    with _opgrid._enter_reverse() as level:
        variables = [level.variable(leaf) for leaf in leaves]
        with autograd.enable_grad():
            output = func(tree.nest(variables))
        aux = None
        if has_aux:
            if not isinstance(output, tuple) or len(output) != 2:
                raise ValueError(f"{what}: with has_aux, the function has to return a tuple (output, aux)")
            output, aux = output
        results, results_tree = _tensors(output, f"{what}: the function returned another value")
        aux = _inner(level, aux) if has_aux else None
    vjp = level.vjp(variables, results)
    return [level.inner(result) for result in results], results_tree, vjp, tree, aux


def _inner(level: Any, value: Any) -> Any:
    leaves, tree = _flatten(value)
    return tree.nest([level.inner(leaf) if isinstance(leaf, TensorBase) else leaf for leaf in leaves])


def vjp(func: _Function, *primals: Any, has_aux: bool = False) -> Any:
    """The results of ``func(*primals)``, and a function that multiplies a vector with the Jacobian from the left.

    >>> import opgrid as og
    >>> result, product = og.func.vjp(og.sin, og.zeros(2))
    >>> product(og.ones(2))
    (tensor([1., 1.]),)
    """
    results, results_tree, product, tree, aux = _record(lambda args: func(*args), primals, has_aux, "vjp()")

    def multiply(*cotangents: Any) -> Any:
        given = cotangents[0] if len(cotangents) == 1 and results_tree.kind != "tuple" else cotangents
        if results_tree.kind == "tuple" and len(cotangents) == 1 and isinstance(cotangents[0], tuple):
            given = cotangents[0]
        leaves, given_tree = _tensors(given, "vjp()")
        if len(leaves) != len(results):
            raise RuntimeError(f"vjp(): found {len(leaves)} cotangents for {len(results)} results, expected one for each")
        return tree.nest(product(leaves))

    output = results_tree.nest(results)
    return (output, multiply, aux) if has_aux else (output, multiply)


def jvp(func: _Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The results of ``func(*primals)``, and the product of the Jacobian with the tangents.

    >>> import opgrid as og
    >>> og.func.jvp(og.sin, (og.zeros(2),), (og.ones(2),))
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise ValueError("jvp(): found other values than tuples, expected tuples of primals and of tangents; write (x,) for one")
    leaves, tree = _tensors(primals, "jvp()")
    moved, _ = _tensors(tangents, "jvp()")
    if len(leaves) != len(moved):
        raise ValueError(f"jvp(): found {len(moved)} tangents for {len(leaves)} primals, expected one for each")
    with _opgrid._enter_forward() as level:
        output = func(*tree.nest([level.dual(leaf, tangent) for leaf, tangent in zip(leaves, moved)]))
        aux = None
        if has_aux:
            if not isinstance(output, tuple) or len(output) != 2:
                raise ValueError("jvp(): with has_aux, the function has to return a tuple (output, aux)")
            output, aux = output
        results, results_tree = _tensors(output, "jvp(): the function returned another value")
        aux = _inner(level, aux) if has_aux else None
    changes = [level.tangent(result) for result in results]
    if strict and any(change is None for change in changes):
        raise RuntimeError("jvp(): a result does not depend on the primals, which is an error with strict=True")
    given = [level.inner(result) for result in results]
    filled = [_zeros_like(result) if change is None else change for result, change in zip(given, changes)]
    both = results_tree.nest(given), results_tree.nest(filled)
    return (*both, aux) if has_aux else both


def linearize(func: _Function, *primals: Any) -> tuple[Any, _Function]:
    """The results of ``func(*primals)``, and a function that multiplies the Jacobian with tangents."""
    output = func(*primals)

    def multiply(*tangents: Any) -> Any:
        return jvp(func, primals, tangents)[1]

    return output, multiply


def grad(func: _Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> _Function:
    """A function that gives the gradient of `func`, whose result is one number, by the arguments at `argnums`."""
    both = grad_and_value(func, argnums, has_aux)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return _named(gradient, func)


def grad_and_value(func: _Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> _Function:
    """A function that gives the gradient of `func`, and its result."""

    def both(*args: Any, **kwargs: Any) -> Any:
        chosen, put = _chosen(args, argnums, "grad()")
        results, results_tree, product, tree, aux = _record(lambda given: func(*put(given), **kwargs), chosen, has_aux, "grad()")
        if results_tree.kind != "leaf" or results[0].numel() != 1:
            found = f"a tensor of shape {tuple(results[0].shape)}" if results_tree.kind == "leaf" else f"a {results_tree.kind}"
            raise RuntimeError(f"grad(): the function returned {found}, expected a tensor with one element; sum it, or use jacrev()")
        grads = tree.nest(product([_ones_like(results[0])]))
        return grads, ((results[0], aux) if has_aux else results[0])

    return _named(both, func)


def _chosen(args: tuple[Any, ...], argnums: int | tuple[int, ...], what: str) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The arguments at places, and what puts others there."""
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for place in places:
        if not isinstance(place, int) or not -len(args) <= place < len(args):
            raise RuntimeError(f"{what}: found the argnums {argnums!r} for {len(args)} arguments, expected a place of one")

    def put(given: Any) -> tuple[Any, ...]:
        all = list(args)
        for place, value in zip(places, (given,) if isinstance(argnums, int) else given):
            all[place] = value
        return tuple(all)

    if isinstance(argnums, int):
        return args[argnums], put
    return tuple(args[place] for place in places), put


def jacrev(
    func: _Function,
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> _Function:
    """A function that gives the Jacobian of `func`, row by row in one batch: for fewer results than arguments."""

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen, put = _chosen(args, argnums, "jacrev()")
        results, results_tree, product, tree, aux = _record(lambda given: func(*put(given), **kwargs), chosen, has_aux, "jacrev()")
        inputs, _ = _flatten(chosen)
        rows = vmap(lambda *basis: tuple(product(list(basis))), chunk_size=chunk_size)(*_unit_vectors(results))
        sizes = [result.numel() for result in results]
        split = [row.split(sizes, 0) for row in rows]
        blocks = [
            tree.nest([part[at].reshape((*result.shape, *input.shape)) for part, input in zip(split, inputs)])
            for at, result in enumerate(results)
        ]
        nested = results_tree.nest(blocks)
        return (nested, aux) if has_aux else nested

    return _named(jacobian, func)


def jacfwd(func: _Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, randomness: str = "error") -> _Function:
    """A function that gives the Jacobian of `func`, column by column in one batch: for fewer arguments than results."""

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen, put = _chosen(args, argnums, "jacfwd()")
        inputs, tree = _tensors(chosen, "jacfwd()")
        kept: list[Any] = []

        def column(*basis: Any) -> Any:
            found = jvp(
                lambda *given: func(*put(tree.nest(given)), **kwargs), tuple(inputs), tuple(basis), has_aux=has_aux
            )
            tangents, results_tree = _flatten(found[1])
            kept.append(results_tree)
            return (tuple(tangents), found[2]) if has_aux else tuple(tangents)

        basis = _unit_vectors(inputs)
        if has_aux:
            columns, aux = vmap(column, randomness=randomness, out_dims=(-1, 0))(*basis)
            aux_leaves, aux_tree = _flatten(aux)
            aux = aux_tree.nest([leaf[0] for leaf in aux_leaves])
        else:
            columns = vmap(column, randomness=randomness, out_dims=-1)(*basis)
        sizes = [input.numel() for input in inputs]
        blocks = []
        for part in columns:
            pieces = part.split(sizes, -1)
            blocks.append(tree.nest([piece.reshape((*part.shape[:-1], *input.shape)) for piece, input in zip(pieces, inputs)]))
        nested = kept[0].nest(blocks)
        return (nested, aux) if has_aux else nested

    return _named(jacobian, func)


def hessian(func: _Function, argnums: int | tuple[int, ...] = 0) -> _Function:
    """A function that gives the second derivative of `func`, whose result is one number."""
    return jacfwd(jacrev(func, argnums), argnums)


def _unit_vectors(tensors: Sequence[TensorBase]) -> list[Any]:
    """For each element of all tensors, tensors that are 1 there and 0 elsewhere, along dimension 0."""
    total = sum(tensor.numel() for tensor in tensors)
    vectors, before = [], 0
    for tensor in tensors:
        count = tensor.numel()
        block = _opgrid.function("zeros")((total, count), dtype=tensor.dtype, device=tensor.device)
        block.narrow(0, before, count).copy_(_opgrid.function("eye")(count, dtype=tensor.dtype, device=tensor.device))
        vectors.append(block.reshape((total, *tensor.shape)))
        before += count
    return vectors


def functionalize(func: _Function, *, remove: str = "mutations") -> _Function:
    """A function in which no operator writes: writes become results of operators that give new tensors.

    Arguments that the function writes get their values at the end. With ``remove="mutations_and_views"``, views become copies, too.

    >>> import opgrid as og
    >>> def double_first(x):
    ...     x[0].mul_(2)
    ...     return x.sum()
    >>> x = og.ones(3)
    >>> og.func.functionalize(double_first)(x), x
    (tensor(4.), tensor([2., 1., 1.]))
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise ValueError(f"functionalize(): found {remove!r} for remove, expected 'mutations' or 'mutations_and_views'")

    def functionalized(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = _flatten((args, kwargs))
        inputs = [leaf for leaf in leaves if isinstance(leaf, TensorBase)]
        with _opgrid._enter_functional(remove == "mutations") as level:
            wrapped = level.functional(inputs)
            given = iter(wrapped)
            nested_args, nested_kwargs = tree.nest([next(given) if isinstance(leaf, TensorBase) else leaf for leaf in leaves])
            results, results_tree = _flatten(func(*nested_args, **nested_kwargs))
            # An argument that is returned is that argument.
            own = {id(tensor): input for tensor, input in zip(wrapped, inputs)}
            found = [own.get(id(result), level.value(result)[0]) if isinstance(result, TensorBase) else result for result in results]
            written = [level.value(tensor) for tensor in wrapped]
        for input, (value, is_written) in zip(inputs, written):
            if is_written:
                input.copy_(value)
        return results_tree.nest(found)

    return _named(functionalized, func)


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls a module with other parameters and buffers, by their names, in place of its own.

    >>> import opgrid as og
    >>> linear = og.nn.Linear(2, 1, bias=False)
    >>> og.func.functional_call(linear, {"weight": og.ones(1, 2)}, og.tensor([1.0, 2.0]))
    tensor([3.])
    """
    dicts = [parameter_and_buffer_dicts] if isinstance(parameter_and_buffer_dicts, Mapping) else list(parameter_and_buffer_dicts)
    given: dict[str, Any] = {}
    for values in dicts:
        for name, value in values.items():
            if name in given:
                raise ValueError(f"functional_call(): found {name!r} twice, expected each name once")
            given[name] = value
    own = dict([*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)])
    for name in given:
        if name not in own:
            raise ValueError(f"functional_call(): found {name!r}, which the module does not have; its names are {sorted(own)}")
    if strict and set(own) - set(given):
        raise RuntimeError(f"functional_call(): {sorted(set(own) - set(given))} are missing, which is an error with strict=True")
    if tie_weights:
        shared = {id(own[name]): value for name, value in given.items()}
        given.update({name: shared[id(tensor)] for name, tensor in own.items() if name not in given and id(tensor) in shared})
    call_args = args if isinstance(args, tuple) else () if args is None else (args,)
    with _replaced(module, given):
        return module(*call_args, **(kwargs or {}))


@contextlib.contextmanager
def _replaced(module: Any, given: Mapping[str, Any]) -> Iterator[None]:
    """Has a module other tensors in place of its own."""
    before: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for path, value in given.items():
            owner = module
            *parts, name = path.split(".")
            for part in parts:
                owner = owner._modules[part]
            place = owner._parameters if name in owner._parameters else owner._buffers
            before.append((place, name, place[name]))
            place[name] = value
        yield
    finally:
        for place, name, tensor in reversed(before):
            place[name] = tensor


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of modules of one kind, each stacked along dimension 0 by name."""
    if not models:
        raise RuntimeError("stack_module_state(): found no models, expected at least one")
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError("stack_module_state(): found models of several classes, expected one class for all")
    stack = _opgrid.function("stack")

    def stacked(named: list[dict[str, Any]]) -> dict[str, Any]:
        together = {}
        for name, first in named[0].items():
            whole = stack([one[name].detach() for one in named], 0)
            together[name] = whole.requires_grad_(first.requires_grad)
        return together

    parameters = stacked([dict(model.named_parameters()) for model in models])
    return parameters, stacked([dict(model.named_buffers()) for model in models])


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Has a module and those in it normalize by the batch alone: without running statistics, which transforms cannot write."""
    for module in root.modules():
        if getattr(module, "track_running_stats", False) and hasattr(module, "running_mean"):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def debug_unwrap(tensor: TensorBase, *, recurse: bool = True) -> TensorBase:
    """The tensor that a transform works on, in place of the one example or variable that the transformed function sees.

    With ``recurse=False``, only the innermost transform is undone. A tensor of no transform is returned as it is. For printing and debuggers:
    the transform does not know what is computed with the result.

    Raises ``TypeError`` if the argument is no tensor.
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"debug_unwrap(): expected a tensor, found {type(tensor).__name__}")
    return _opgrid._unwrapped(tensor, recurse)


def _named(wrapper: _Function, func: _Function) -> _Function:
    name = getattr(func, "__name__", None)
    if isinstance(name, str):
        wrapper.__name__ = name
    wrapper.__doc__ = getattr(func, "__doc__", None)
    return wrapper
