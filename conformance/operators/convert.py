"""Arguments that both libraries get alike: frozen once, then thawed for each side in memory of its own.

Sizes, strides, offsets and which tensors share memory stay what they are. Conjugated and negated views of torch's become
ordinary memory, because opgrid has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import opgrid
import torch


class Unsupported(Exception):
    """An argument that one side does not have, such as a sparse tensor or a dtype."""


def dtype_name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def opgrid_dtype(dtype: torch.dtype) -> Any:
    found = getattr(opgrid, dtype_name(dtype), None)
    if not isinstance(found, opgrid.dtype):
        raise Unsupported(f"dtype {dtype_name(dtype)}")
    return found


@dataclass(frozen=True)
class FrozenTensor:
    """A tensor of the arguments: how it lies in one of the frozen storages.

    A tensor that occurs several times is one object here, too, and becomes one object on each side.
    """

    storage: int
    dtype: torch.dtype
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


@dataclass
class Frozen:
    """Positional and named arguments, their tensors frozen."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    storages: list[torch.Tensor] = field(default_factory=list)
    """The bytes of each storage."""

    def tensors(self) -> Iterator[FrozenTensor]:
        yield from (leaf for leaf in leaves((self.args, self.kwargs)) if isinstance(leaf, FrozenTensor))

    def key(self) -> str:
        """What calls that differ in elements alone have in common."""
        return repr((self.args, sorted(self.kwargs.items())))

    def with_(self, *, args: tuple[Any, ...] | None = None, **kwargs: Any) -> Frozen:
        """The same arguments and some more."""
        return Frozen(self.args if args is None else args, {**self.kwargs, **kwargs}, self.storages)


@dataclass
class Thawed:
    """Arguments of one library."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    tensors: list[Any]
    """The tensors among them, in order."""


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    else:
        yield value


def rebuilt(value: Any, convert: Callable[[Any], Any]) -> Any:
    """The value with other leaves."""
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, (list, tuple)):
        items = [rebuilt(item, convert) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {name: rebuilt(item, convert) for name, item in value.items()}
    return convert(value)


def freeze(args: Any, kwargs: dict[str, Any]) -> Frozen:
    """Copies arguments of torch's.

    Raises `Unsupported` for what opgrid has no tensors for.
    """
    frozen = Frozen()
    seen: dict[int, tuple[int, torch.dtype]] = {}

    def leaf(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return frozen_tensor(value)
        if isinstance(value, torch.Generator):
            raise Unsupported("a generator")
        if type(value).__module__ == "numpy":
            return value.item() if getattr(value, "ndim", 1) == 0 else refuse(value)
        if value is None or isinstance(
            value, (bool, int, float, complex, str, torch.dtype, torch.device, torch.layout, torch.memory_format)
        ):
            return value
        return refuse(value)

    def refuse(value: Any) -> Any:
        raise Unsupported(f"an argument of type {type(value).__name__}")

    def frozen_tensor(given: torch.Tensor) -> FrozenTensor:
        if id(given) not in known:
            known[id(given)] = taken(given)
            kept.append(given)
        return known[id(given)]

    def taken(tensor: torch.Tensor) -> FrozenTensor:
        if tensor.layout != torch.strided or tensor.is_quantized or tensor.device.type != "cpu":
            raise Unsupported(f"a tensor with layout {tensor.layout} on {tensor.device}")
        opgrid_dtype(tensor.dtype)
        tensor = tensor.detach().resolve_conj().resolve_neg()
        storage = tensor.untyped_storage()
        index, dtype = seen.get(storage._cdata, (len(frozen.storages), tensor.dtype))
        if dtype != tensor.dtype:
            raise Unsupported("tensors of several dtypes in one storage")
        if index == len(frozen.storages):
            seen[storage._cdata] = index, dtype
            frozen.storages.append(torch.empty(0, dtype=torch.uint8).set_(storage).clone())  # type: ignore[call-overload]
            kept.append(tensor)
        return FrozenTensor(index, tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset())

    known: dict[int, FrozenTensor] = {}
    # What went would leave its address to the next one.
    kept: list[torch.Tensor] = []
    frozen.args = rebuilt(tuple(args), leaf)
    frozen.kwargs = rebuilt(dict(kwargs), leaf)
    return frozen


def for_torch(frozen: Frozen, device: str = "cpu") -> Thawed:
    copies = [storage.clone().untyped_storage() for storage in frozen.storages]
    tensors: list[Any] = []
    known: dict[int, Any] = {}

    def made(given: FrozenTensor) -> Any:
        if device == "meta":
            return torch.empty_strided(given.size, given.stride, dtype=given.dtype, device="meta")
        tensor = torch.empty(0, dtype=given.dtype)
        return tensor.set_(copies[given.storage], given.offset, given.size, given.stride)  # type: ignore[call-overload]

    def leaf(value: Any) -> Any:
        if isinstance(value, FrozenTensor):
            if id(value) not in known:
                known[id(value)] = made(value)
                tensors.append(known[id(value)])
            return known[id(value)]
        return torch.device(device) if isinstance(value, torch.device) else value

    return Thawed(rebuilt(frozen.args, leaf), rebuilt(frozen.kwargs, leaf), tensors)


def for_opgrid(frozen: Frozen, device: str = "cpu") -> Thawed:
    bases: dict[int, Any] = {}
    tensors: list[Any] = []
    known: dict[int, Any] = {}

    def base_of(given: FrozenTensor) -> Any:
        if given.storage not in bases:
            opgrid_dtype(given.dtype)
            storage = frozen.storages[given.storage]
            length = storage.numel() // given.dtype.itemsize
            if device == "meta" or length == 0:
                made = opgrid.ops.aten.empty_strided([length], [1], dtype=opgrid_dtype(given.dtype), device=device)
            else:
                made = opgrid.from_dlpack(storage[: length * given.dtype.itemsize].view(given.dtype), copy=True)
            bases[given.storage] = made
        return bases[given.storage]

    def leaf(value: Any) -> Any:
        if isinstance(value, FrozenTensor):
            if id(value) not in known:
                view = opgrid.ops.aten.as_strided.default
                known[id(value)] = view(base_of(value), value.size, value.stride, value.offset)
                tensors.append(known[id(value)])
            return known[id(value)]
        return plain_for_opgrid(value, device)

    return Thawed(rebuilt(frozen.args, leaf), rebuilt(frozen.kwargs, leaf), tensors)


DOUBLE = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}


def in_double(frozen: Frozen) -> Frozen:
    """The arguments in double precision, to see which of two answers is nearer to the exact one."""
    dtypes = {tensor.storage: tensor.dtype for tensor in frozen.tensors()}
    known: dict[int, FrozenTensor] = {}

    def leaf(value: Any) -> Any:
        if isinstance(value, FrozenTensor):
            dtype = DOUBLE.get(value.dtype, value.dtype)
            return known.setdefault(id(value), replace(value, dtype=dtype))
        return DOUBLE.get(value, value) if isinstance(value, torch.dtype) else value

    storages = []
    for index, storage in enumerate(frozen.storages):
        dtype = dtypes[index]
        if dtype in DOUBLE:
            whole = storage[: storage.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
            storages.append(whole.to(DOUBLE[dtype]).view(torch.uint8) if whole.numel() else whole.view(torch.uint8))
        else:
            storages.append(storage)
    return Frozen(rebuilt(frozen.args, leaf), rebuilt(frozen.kwargs, leaf), storages)


def plain_for_opgrid(value: Any, device: str) -> Any:
    """The counterpart of an argument that is no tensor."""
    if isinstance(value, torch.dtype):
        return opgrid_dtype(value)
    if isinstance(value, torch.device):
        return opgrid.device(device if value.type == "cpu" else str(value))
    if isinstance(value, (torch.layout, torch.memory_format)):
        name = dtype_name(value)
        if not hasattr(opgrid, name):
            raise Unsupported(name)
        return getattr(opgrid, name)
    return value


def as_torch(tensor: Any) -> torch.Tensor:
    """The elements of a tensor of opgrid's, in its memory."""
    if tensor.numel() == 0:
        return torch.empty(tuple(tensor.shape), dtype=getattr(torch, dtype_name(tensor.dtype)))
    return torch.from_dlpack(tensor)


def written(frozen: Frozen, elements: int = 24) -> str:
    """The arguments as a person reads them."""

    def leaf(value: Any) -> str:
        if not isinstance(value, FrozenTensor):
            return repr(value)
        storage = frozen.storages[value.storage].clone().untyped_storage()
        tensor = torch.empty(0, dtype=value.dtype)
        tensor.set_(storage, value.offset, value.size, value.stride)  # type: ignore[call-overload]
        count = tensor.numel()
        shown = f", {tensor.tolist()}" if count <= elements else ""
        strides = "" if tensor.is_contiguous() else f", strides {list(value.stride)}"
        offset = f", offset {value.offset}" if value.offset else ""
        return f"{dtype_name(value.dtype)}{list(value.size)}({strides}{offset}{shown})".replace("(, ", "(").replace("()", "")

    def text(value: Any) -> str:
        if isinstance(value, list):
            return f"[{', '.join(map(text, value))}]"
        if isinstance(value, tuple):
            return f"({', '.join(map(text, value))})"
        return leaf(value)

    named = [f"{name}={text(value)}" for name, value in frozen.kwargs.items()]
    return ", ".join([*map(text, frozen.args), *named])
