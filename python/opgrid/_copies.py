"""Copies of tensors: ``copy.copy``, ``copy.deepcopy`` and pickles.

All of them keep the class, attributes, slots, strides, and whether a gradient is required. A deep copy copies the memory as a
whole, and once: tensors that share memory share that of their copies. A pickle has the whole memory of each tensor as well.
"""

from __future__ import annotations

import copy
from typing import Any

from . import _opgrid
from ._opgrid import TensorBase

_State = tuple[dict[str, Any] | None, dict[str, Any]]


def _slots(kind: type) -> list[str]:
    """The names of the slots that classes of Python give their objects."""
    found = []
    for ancestor in kind.__mro__:
        names = ancestor.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            is_private = name.startswith("__") and not name.endswith("__")
            found.append(f"_{ancestor.__name__.lstrip('_')}{name}" if is_private else name)
    return [name for name in found if name not in ("__dict__", "__weakref__")]


def _state_of(x: Any) -> _State:
    """What users keep with an object: attributes and slots."""
    attributes = getattr(x, "__dict__", None)
    if attributes is None:
        attributes = x._attributes
    return attributes or None, {name: getattr(x, name) for name in _slots(type(x)) if hasattr(x, name)}


def _give_state(x: Any, state: Any) -> None:
    """Gives an object what was kept with another one; a class with ``__setstate__`` does it itself."""
    own = getattr(type(x), "__setstate__", None)
    if own is not None:
        own(x, state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, {})
    for name, value in {**(attributes or {}), **(slots or {})}.items():
        setattr(x, name, value)


def _has_own_state(x: Any) -> bool:
    return getattr(type(x), "__getstate__", None) is not getattr(object, "__getstate__", None)


def _state_to_keep(x: Any) -> Any:
    """What a pickle keeps of an object beside the tensor; ``None`` where there is nothing."""
    if _has_own_state(x):
        return x.__getstate__()
    state = _state_of(x)
    return state if any(state) else None


def _of_class(x: Any, kind: type) -> Any:
    return x if type(x) is kind else x.as_subclass(kind)


def _plain(x: Any) -> Any:
    """The same memory as a plain tensor."""
    return TensorBase.as_subclass(TensorBase.detach(x), _opgrid.Tensor)


def _wrapper_like(kind: Any, sizes: Any, strides: Any, offset: int, dtype: Any, device: Any, requires_grad: bool) -> Any:
    return kind._make_wrapper_subclass(
        kind, sizes, strides=strides, storage_offset=offset, dtype=dtype, device=device, requires_grad=requires_grad
    )


def _described(x: Any) -> tuple[Any, ...]:
    return type(x), tuple(x.shape), tuple(x.stride()), x.storage_offset(), x.dtype, x.device, x.requires_grad


def shallow(self: Any) -> Any:
    """Another object of the class on the same memory, with the same attributes."""
    if self._is_wrapper:
        made = _wrapper_like(*_described(self))
    else:
        with _opgrid.exclude("Python"):
            made = _of_class(_plain(self), type(self))
        if self.requires_grad:
            made.requires_grad_()
    state = _state_to_keep(self)
    if state is not None:
        _give_state(made, copy.copy(state))
    return made


def deep(self: Any, memo: dict[int, Any]) -> Any:
    """A copy with memory of its own, that tensors on the same memory share with it, and with its gradient.

    That of a parameter has no gradient: a copied module begins to learn anew.
    """
    known = memo.get(id(self))
    if known is not None:
        return known
    if not self.is_leaf:
        raise RuntimeError(
            "deepcopy: found a tensor that is not a leaf of the graph, expected a leaf, "
            "because a graph is not copied; use x.detach() or x.clone()"
        )
    if self._is_wrapper:
        made = _wrapper_like(*_described(self))
    else:
        made = _of_class(_with_memory(self, memo), type(self))
        if self.requires_grad:
            made.requires_grad_()
    memo[id(self)] = made
    state = _state_to_keep(self)
    if state is not None:
        _give_state(made, copy.deepcopy(state, memo))
    grad = self.grad
    if grad is not None and not getattr(self, "_is_parameter", False):
        made.grad = copy.deepcopy(grad, memo)
    return made


class _Memories(dict[int, Any]):
    """Copies of the memory of tensors, by what it is a copy of. It keeps the originals, so that their numbers stay theirs."""

    originals: list[Any]


def _with_memory(x: Any, memo: dict[int, Any]) -> Any:
    """A plain tensor on a copy of the memory, which it shares with others of the memo."""
    from .autograd import no_grad

    with no_grad(), _opgrid.exclude("Python"):
        plain = _plain(x)
        if plain.is_meta:
            return _opgrid.function("empty_strided")(x.shape, x.stride(), dtype=x.dtype, device=x.device)
        memories = memo.setdefault(id(_Memories), _Memories())
        storage = plain.untyped_storage()
        memory = memories.get(storage._identity())
        if memory is None:
            memory = memories[storage._identity()] = _all_bytes(plain).clone()
            memories.__dict__.setdefault("originals", []).append(storage)
        return _view_of(memory, x.dtype, x.shape, x.stride(), x.storage_offset())


def _all_bytes(plain: Any) -> Any:
    """All of the memory behind a tensor, as a row of bytes; those after the last whole element are left out."""
    count = plain.untyped_storage().nbytes() // plain.itemsize
    return plain.as_strided((count,), (1,), 0).view(_opgrid.uint8)


def _view_of(memory: Any, dtype: Any, sizes: Any, strides: Any, offset: int) -> Any:
    whole = memory.numel() // dtype.itemsize * dtype.itemsize
    return memory[:whole].view(dtype).as_strided(tuple(sizes), tuple(strides), offset)


def rebuilt(kind: type, memory: Any, described: tuple[Any, ...], state: Any = None) -> Any:
    """What pickles call to make a tensor anew: ``memory`` are the bytes of its memory, ``None`` where it has none."""
    from .autograd import no_grad

    _, sizes, strides, offset, dtype, device, requires_grad = described
    if described[0] is not None:
        made = _wrapper_like(*described)
    else:
        with no_grad():
            if memory is None:
                made = _opgrid.function("empty_strided")(sizes, strides, dtype=dtype, device=device)
            else:
                cpu = _opgrid.device("cpu")
                row = _opgrid._rebuild(memory, _opgrid.uint8, cpu, [len(memory)], [1])
                made = _view_of(row.to(device), dtype, sizes, strides, offset)
        made = _of_class(made, kind)
        if requires_grad:
            made.requires_grad_()
    if state is not None:
        _give_state(made, state)
    return made


def reduced(self: Any, protocol: int) -> tuple[Any, ...]:
    """What a pickle keeps of a tensor. Neither gradients nor graphs are kept."""
    described = _described(self)
    state = _state_to_keep(self)
    # Attributes may refer to the tensor itself, and are given to it when it is there.
    given = () if state is None else (state, None, None, _give_state)
    if self._is_wrapper:
        return rebuilt, (type(self), None, described), *given
    with _opgrid.exclude("Python"):
        plain = _plain(self)
        memory = None if plain.is_meta else _opgrid._bytes(_all_bytes(plain))
    return rebuilt, (type(self), memory, (None, *described[1:])), *given
