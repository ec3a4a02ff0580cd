"""Parts of a network whose graph keeps nothing: what their gradients need is computed a second time."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import _opgrid

__all__ = ["checkpoint", "checkpoint_sequential", "noop_context_fn"]


def noop_context_fn() -> tuple[contextlib.AbstractContextManager[Any], contextlib.AbstractContextManager[Any]]:
    """Contexts that do nothing, for the two runs of a function."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any] | None = None,
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    respect_saved_tensors_hooks: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Calls ``function(*args, **kwargs)`` and keeps its tensors among the arguments, instead of all that its gradients need.

    In the backward pass the function runs a second time, with the settings of this thread as they are now and with the same random
    numbers, unless ``preserve_rng_state`` is false. It has to do the same both times. Gradients reach the arguments and all else
    that the function uses, such as parameters; they are the same as without a checkpoint, and have gradients themselves.
    ``context_fn`` gives two contexts: the first run is in one, the second in the other. Without a function, the result is a
    decorator.

    There is one form, which behaves as torch's with ``use_reentrant=False``. With ``use_reentrant=True`` its arguments are checked as
    torch checks them. ``determinism_check``, ``debug``, ``early_stop`` and ``respect_saved_tensors_hooks`` are taken and not needed.

    >>> import opgrid as og
    >>> from opgrid.utils.checkpoint import checkpoint
    >>> layer = og.nn.Sequential(og.nn.Linear(4, 100), og.nn.ReLU(), og.nn.Linear(100, 1))
    >>> x = og.ones(8, 4)
    >>> loss = checkpoint(layer, x, use_reentrant=False).sum()
    >>> og.autograd.get_graph(loss).saved_bytes
    128
    >>> loss.backward()
    """
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be 'default' or 'none', found {determinism_check!r}")
    if use_reentrant:
        if kwargs:
            raise ValueError(f"Unexpected keyword arguments: {', '.join(kwargs)}; pass use_reentrant=False")
        if context_fn is not noop_context_fn or debug or respect_saved_tensors_hooks is not None:
            raise ValueError("context_fn, debug and respect_saved_tensors_hooks are only supported with use_reentrant=False")
    if function is None:
        if args or kwargs:
            raise ValueError("checkpoint: found arguments without a function")
        return functools.partial(_wrapped, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state, context_fn=context_fn)
    called = function
    places: list[int | str] = [i for i, a in enumerate(args) if isinstance(a, _opgrid.TensorBase)]
    places += [name for name, a in kwargs.items() if isinstance(a, _opgrid.TensorBase)]
    tensors = [kwargs[p] if isinstance(p, str) else args[p] for p in places]
    # The graph keeps the tensors, and this function what else there is.
    rest = [None if i in places else a for i, a in enumerate(args)]
    named = {name: None if name in places else a for name, a in kwargs.items()}
    first_context, second_context = context_fn()
    is_first = True

    def run(inputs: Sequence[Any]) -> Any:
        nonlocal is_first
        every, names = list(rest), dict(named)
        for place, tensor in zip(places, inputs, strict=True):
            if isinstance(place, str):
                names[place] = tensor
            else:
                every[place] = tensor
        if is_first:
            is_first = False
            with first_context:
                return called(*every, **names)
        try:
            with second_context:
                return called(*every, **names)
        except Exception as error:
            if hasattr(error, "add_note"):
                error.add_note("raised by the second run of a function for its gradients (opgrid.utils.checkpoint)")
            raise

    return _opgrid._checkpoint(run, tensors, preserve_rng_state)


def _wrapped(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """The function, of which each call is a checkpoint."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return checkpoint(function, *args, **options, **kwargs)

    return called


def checkpoint_sequential(
    functions: Iterable[Callable[..., Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
) -> Any:
    """Calls functions one after another, in as many segments of about the same length, each with a checkpoint but for the last."""
    every = list(functions)
    if not 1 <= segments <= max(len(every), 1):
        raise ValueError(f"checkpoint_sequential: found {segments} segments for {len(every)} functions, expected 1 to {len(every)}")
    size = len(every) // segments

    def part(start: int, end: int) -> Callable[[Any], Any]:
        def run(x: Any) -> Any:
            for function in every[start:end]:
                x = function(x)
            return x

        return run

    for segment in range(segments - 1):
        run = part(segment * size, (segment + 1) * size)
        input = checkpoint(run, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
    return part((segments - 1) * size, len(every))(input)
