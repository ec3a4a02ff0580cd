"""Functions that run around a module's ``forward``, and around its part of the backward pass."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from .._opgrid import Tensor, TensorBase, is_grad_enabled
from ..autograd import Function

if TYPE_CHECKING:
    from .module import Module


_NUMBERS = itertools.count()


class HookHandle:
    """A registered hook."""

    def __init__(self, hooks: dict[int, Any]) -> None:
        self._hooks = hooks
        # The numbers of copied and unpickled hooks are taken, too.
        self.id = next(number for number in _NUMBERS if number not in hooks)

    def remove(self) -> None:
        """Removes the hook."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.remove()


def hooked(hooks: dict[int, Any], hook: tuple[Any, ...], first: bool) -> HookHandle:
    """Stores a hook and its settings, before all others or after them."""
    handle = HookHandle(hooks)
    others = dict(hooks) if first else {}
    if first:
        hooks.clear()
    hooks[handle.id] = (*hook, handle)
    hooks.update(others)
    return handle


EVERYWHERE: dict[int, Any] = {}
"""The hooks of all modules, each with its kind in front."""


def hooks_of(module: Module, kind: str) -> list[Any]:
    """The hooks of a kind that a call of the module runs: those of all modules, and its own."""
    # A module that was pickled by an older version has fewer kinds.
    own = vars(module).get(kind, {}).values()
    return [*(hook[1:] for hook in EVERYWHERE.values() if hook[0] == kind), *own] if EVERYWHERE else list(own)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> HookHandle:
    """Calls ``hook(module, args)`` before the ``forward`` of every module; a result, unless ``None``, replaces ``args``."""
    return hooked(EVERYWHERE, ("_forward_pre_hooks", hook, False), False)


def register_module_forward_hook(hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False) -> HookHandle:
    """Calls ``hook(module, args, result)`` after the ``forward`` of every module, as ``Module.register_forward_hook`` does for one."""
    return hooked(EVERYWHERE, ("_forward_hooks", hook, with_kwargs, always_call), False)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> HookHandle:
    """Calls ``hook(module, grad_output)`` before the backward pass of every module; a result replaces ``grad_output``."""
    return hooked(EVERYWHERE, ("_backward_pre_hooks", hook, False), False)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> HookHandle:
    """Calls ``hook(module, grad_input, grad_output)`` after the backward pass of every module; a result replaces ``grad_input``."""
    return hooked(EVERYWHERE, ("_backward_hooks", hook, False), False)


class _Boundary(Function):
    """Passes tensors on, and hands their gradients to a function, which may replace them."""

    @staticmethod
    def forward(ctx: Any, judge: Callable[[tuple[Any, ...]], Any], *tensors: Tensor) -> Any:
        ctx.judge = judge
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *ctx.judge(grads))


class BackwardHooks:
    """The backward hooks of one call of a module: its inputs and results pass by, and their gradients come back."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.grad_output: tuple[Any, ...] = ()
        self.count = 0
        self.inputs_differ = False

    def pass_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The inputs, of which the gradients, once they are there, go to the hooks."""
        self.count, places = len(args), _places(args)
        self.inputs_differ = any(args[place].requires_grad for place in places)
        if not self.inputs_differ:
            return args

        def judge(grads: tuple[Any, ...]) -> tuple[Any, ...]:
            replaced = self._asked("_backward_hooks", _spread(grads, places, self.count), self.grad_output)
            return tuple(replaced[place] for place in places)

        return _passed(args, places, judge)

    def pass_results(self, result: Any) -> Any:
        """The results, of which the gradients go to the hooks first."""
        parts = result if isinstance(result, tuple) else (result,)
        count, places = len(parts), _places(parts)
        if not any(parts[place].requires_grad for place in places):
            return result

        def judge(grads: tuple[Any, ...]) -> tuple[Any, ...]:
            self.grad_output = self._asked("_backward_pre_hooks", _spread(grads, places, count))
            if not self.inputs_differ:
                # Nothing comes back to the inputs.
                self._asked("_backward_hooks", (None,) * self.count, self.grad_output)
            return tuple(self.grad_output[place] for place in places)

        passed = _passed(parts, places, judge)
        return passed if isinstance(result, tuple) else passed[0]

    def _asked(self, kind: str, grads: tuple[Any, ...], *more: Any) -> tuple[Any, ...]:
        """Asks all hooks of a kind, each with what the ones before it gave."""
        for hook, *_ in hooks_of(self.module, kind):
            given = hook(self.module, grads, *more)
            if given is None:
                continue
            found = given if isinstance(given, tuple) else (given,)
            if len(found) != len(grads):
                raise RuntimeError(
                    f"a backward hook of {type(self.module).__name__} returned {len(found)} gradients, expected {len(grads)}"
                )
            grads = found
        return grads


def _places(parts: tuple[Any, ...]) -> list[int]:
    return [place for place, part in enumerate(parts) if isinstance(part, TensorBase)]


def _spread(grads: tuple[Any, ...], places: list[int], count: int) -> tuple[Any, ...]:
    """Gradients at the places of their tensors, and ``None`` elsewhere."""
    spread: list[Any] = [None] * count
    for place, grad in zip(places, grads, strict=True):
        spread[place] = grad
    return tuple(spread)


def _passed(parts: tuple[Any, ...], places: list[int], judge: Callable[..., Any]) -> tuple[Any, ...]:
    new = list(parts)
    for place, tensor in zip(places, _Boundary.apply(judge, *(parts[place] for place in places)), strict=True):
        new[place] = tensor
    return tuple(new)


def called(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What calling a module does: its hooks, and ``forward`` between them."""
    try:
        for hook, with_kwargs, _ in hooks_of(module, "_forward_pre_hooks"):
            if with_kwargs:
                given = hook(module, args, kwargs)
                if given is not None:
                    if not isinstance(given, tuple) or len(given) != 2:
                        raise RuntimeError(
                            "a forward pre-hook with with_kwargs=True must return None or a pair of arguments and keyword "
                            f"arguments; found {type(given).__name__}"
                        )
                    args, kwargs = given
                continue
            given = hook(module, args)
            if given is not None:
                args = given if isinstance(given, tuple) else (given,)
        backward = None
        if is_grad_enabled() and (hooks_of(module, "_backward_hooks") or hooks_of(module, "_backward_pre_hooks")):
            backward = BackwardHooks(module)
            args = backward.pass_inputs(args)
        result = module.forward(*args, **kwargs)
        for hook, with_kwargs, _, _ in hooks_of(module, "_forward_hooks"):
            given = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
            if given is not None:
                result = given
        return result if backward is None else backward.pass_results(result)
    except Exception:
        _call_anyway(module, args, kwargs)
        raise


def _call_anyway(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Runs the hooks that also run after an error; what they raise is a warning."""
    for hook, with_kwargs, always_call, _ in hooks_of(module, "_forward_hooks"):
        if not always_call:
            continue
        try:
            hook(module, args, kwargs, None) if with_kwargs else hook(module, args, None)
        except Exception as error:  # noqa: BLE001 the error of the call itself goes on
            warnings.warn(f"a forward hook with always_call=True raised {error!r}, which is dropped", stacklevel=3)
