"""Memory of tensors as sequences: of bytes (``untyped_storage()``), or of elements of one dtype (``storage()``)."""

from __future__ import annotations

from . import _opgrid
from ._opgrid import Storage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class TypedStorage:
    """The memory of tensors as a sequence of elements of one dtype. ``TypedStorage(3)`` makes new memory, ``TypedStorage([1, 2])`` fills it."""

    dtype_of_class: str | None = None

    def __init__(self, *args: Any, dtype: Any = None, device: Any = None, wrap_storage: Storage | None = None) -> None:
        kind = getattr(_opgrid, self.dtype_of_class) if self.dtype_of_class else dtype or _opgrid.get_default_dtype()
        if wrap_storage is not None:
            self._elements: Any = _bytes_of(wrap_storage).view(kind)
        elif len(args) > 1:
            raise TypeError(f"TypedStorage(): expected a number of elements or a sequence of them, found {len(args)} arguments")
        elif not args or isinstance(args[0], int):
            self._elements = _opgrid.function("empty")([args[0] if args else 0], dtype=kind, device=device)
        else:
            self._elements = _opgrid.tensor(list(args[0]), dtype=kind, device=device)

    @classmethod
    def for_tensor(cls, tensor: Any) -> TypedStorage:
        """The memory of a tensor, all of it."""
        kind: type[TypedStorage] = _CLASSES.get(str(tensor.dtype).rpartition(".")[2], TypedStorage)
        made = kind.__new__(kind)
        flat = tensor.detach()
        made._elements = flat.as_strided([flat.untyped_storage().nbytes() // flat.itemsize], [1], 0)
        return made

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self._elements.dtype

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return self._elements.device

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is on a device of the kind ``cuda``."""
        return bool(self._elements.is_cuda)

    def size(self) -> int:
        """The number of elements."""
        return int(self._elements.numel())

    __len__ = size

    def nbytes(self) -> int:
        """The number of bytes."""
        return self.size() * self.element_size()

    def element_size(self) -> int:
        """The bytes of an element."""
        return int(self._elements.element_size())

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self._elements.data_ptr())

    def untyped(self) -> Storage:
        """The memory as bytes."""
        found: Storage = self._elements.untyped_storage()
        return found

    def tolist(self) -> list[Any]:
        """The elements as numbers."""
        found: list[Any] = self._elements.tolist()
        return found

    def __getitem__(self, index: Any) -> Any:
        found = self._elements[index]
        return type(self).for_tensor(found.clone()) if isinstance(index, slice) else found.item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self.dtype is other.dtype and self.untyped() == other.untyped()

    __hash__ = None  # type: ignore[assignment]

    def fill_(self, value: Any) -> TypedStorage:
        """Writes a number to all elements."""
        self._elements.fill_(value)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        """Writes the elements of other memory to this."""
        self._elements.copy_(source._elements)
        return self

    def clone(self) -> TypedStorage:
        """A copy."""
        return self.for_tensor(self._elements.clone())

    def type(self, dtype: Any = None) -> Any:
        """The name of the class, or the elements in another one."""
        return f"opgrid.{type(self).__name__}" if dtype is None else self.for_tensor(self._elements.to(dtype))

    def cpu(self) -> TypedStorage:
        """The memory, which is on the CPU, or a copy that is."""
        return self.for_tensor(self._elements.cpu())

    def is_shared(self) -> bool:
        """Whether other processes see the memory: no."""
        return False

    def share_memory_(self) -> TypedStorage:
        """The memory, which stays that of this process."""
        return self

    def __repr__(self) -> str:
        lines = "".join(f" {value}\n" for value in self.tolist())
        return f"{lines}[opgrid.storage.{type(self).__name__}(dtype={self.dtype}, device={self.device}) of size {self.size()}]"


def _bytes_of(storage: Storage) -> Any:
    """The memory as a tensor of bytes."""
    whole: Any = _opgrid.Tensor(storage).detach()
    return whole.view(getattr(_opgrid, "uint8")).as_strided([storage.nbytes()], [1], 0)


def _class(name: str, dtype: str) -> type[TypedStorage]:
    names = {"__module__": "opgrid", "__doc__": f"Memory of elements of ``{dtype}``.", "dtype_of_class": dtype}
    return type(name, (TypedStorage,), names)


FloatStorage = _class("FloatStorage", "float32")
DoubleStorage = _class("DoubleStorage", "float64")
HalfStorage = _class("HalfStorage", "float16")
BFloat16Storage = _class("BFloat16Storage", "bfloat16")
ByteStorage = _class("ByteStorage", "uint8")
CharStorage = _class("CharStorage", "int8")
ShortStorage = _class("ShortStorage", "int16")
IntStorage = _class("IntStorage", "int32")
LongStorage = _class("LongStorage", "int64")
BoolStorage = _class("BoolStorage", "bool")
ComplexFloatStorage = _class("ComplexFloatStorage", "complex64")
ComplexDoubleStorage = _class("ComplexDoubleStorage", "complex128")

_CLASSES = {
    kind.dtype_of_class: kind for kind in list(globals().values()) if isinstance(kind, type) and issubclass(kind, TypedStorage) and kind.dtype_of_class
}


class StorageMethods:
    """What is given to the class of memory, whose elements are bytes."""

    def size(self: Any) -> int:
        """The number of bytes."""
        return int(self.nbytes())

    __len__ = size

    def element_size(self: Any) -> int:
        """The bytes of an element: one."""
        return 1

    def data_ptr(self: Any) -> int:
        """The address of the first byte, 0 where there is none."""
        return self._address() or 0

    def tolist(self: Any) -> list[int]:
        """The bytes as numbers."""
        found: list[int] = _bytes_of(self).tolist()
        return found

    def __getitem__(self: Any, index: Any) -> Any:
        found = _bytes_of(self)[index]
        return found.clone().untyped_storage() if isinstance(index, slice) else found.item()

    def __setitem__(self: Any, index: Any, value: Any) -> None:
        _bytes_of(self)[index] = value

    def __iter__(self: Any) -> Iterator[int]:
        return iter(self.tolist())

    def fill_(self: Any, value: int) -> Any:
        """Writes a number to all bytes."""
        _bytes_of(self).fill_(value)
        return self

    def copy_(self: Any, source: Any, non_blocking: bool | None = None) -> Any:
        """Writes the bytes of other memory to this."""
        _bytes_of(self).copy_(_bytes_of(source))
        return self

    def clone(self: Any) -> Any:
        """A copy."""
        return _bytes_of(self).clone().untyped_storage()

    def cpu(self: Any) -> Any:
        """The memory, which is on the CPU, or a copy that is."""
        return self if self.device.type == "cpu" else _bytes_of(self).cpu().untyped_storage()

    def is_shared(self: Any) -> bool:
        """Whether other processes see the memory: no."""
        return False

    def share_memory_(self: Any) -> Any:
        """The memory, which stays that of this process."""
        return self


for _name, _value in vars(StorageMethods).items():
    if _name not in ("__module__", "__dict__", "__weakref__", "__doc__"):
        setattr(Storage, _name, _value)
del _name, _value
