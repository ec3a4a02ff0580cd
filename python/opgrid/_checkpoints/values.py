"""What pickles of torch may name: dtypes, storages, and functions that make tensors and containers."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from typing import Any

import opgrid as og

from .. import _opgrid
from .._copies import _view_of
from .._size import Size
from .unpickler import Allowed, Unpickler, refused

STORAGES: dict[str, Any] = {
    "DoubleStorage": og.float64,
    "FloatStorage": og.float32,
    "HalfStorage": og.float16,
    "BFloat16Storage": og.bfloat16,
    "LongStorage": og.int64,
    "IntStorage": og.int32,
    "ShortStorage": og.int16,
    "CharStorage": og.int8,
    "ByteStorage": og.uint8,
    "BoolStorage": og.bool,
    "ComplexFloatStorage": og.complex64,
    "ComplexDoubleStorage": og.complex128,
}
"""The dtypes of the classes of storages. Others have storages of bytes."""

_QUANTIZED = frozenset(
    [
        "qint8",
        "quint8",
        "qint32",
        "quint4x2",
        "quint2x4",
        "_rebuild_qtensor",
        "QInt8Storage",
        "QUInt8Storage",
        "QInt32Storage",
        "QUInt4x2Storage",
        "QUInt2x4Storage",
    ]
)
_SPARSE = frozenset(["_rebuild_sparse_tensor", "_rebuild_sparse_csr_tensor", "_rebuild_nested_tensor"])
_NAMES_OF_PYTHON_2 = {"__builtin__": "builtins"}


class StorageClass:
    """The class of a storage, which says the dtype of its elements; ``None`` for bytes."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype


class Memory:
    """The memory of a storage: a row of bytes, and the dtype that it was saved with."""

    def __init__(self, row: Any, dtype: Any) -> None:
        self.row = row
        self.dtype = dtype


def find(module: str, name: str) -> Any:
    """What a name in a pickle stands for. Names that are not in the table are refused; nothing is imported."""
    module = _NAMES_OF_PYTHON_2.get(module, module)
    found = _TABLE.get((module, name))
    if found is not None:
        return found
    if module.split(".", 1)[0] == "torch" and name in _QUANTIZED:
        raise refused(f"found {module}.{name}: quantized tensors are not supported; save x.dequantize()")
    if module.split(".", 1)[0] == "torch" and name in _SPARSE:
        raise refused(f"found {module}.{name}: sparse and nested tensors are not supported; save x.to_dense()")
    raise refused(
        f"found {module}.{name}, which is not allowed: files may hold tensors, parameters, numbers, texts, lists, tuples, sets and "
        "dicts; save the state_dict() of a module or of an optimizer instead of the object"
    )


def _ints(name: str, values: Any) -> tuple[int, ...]:
    if type(values) not in (tuple, list, Size) or any(type(value) is not int for value in values):
        raise refused(f"{name} of a tensor should be a tuple of integers, found {type(values).__name__}")
    if any(value < 0 for value in values):
        raise refused(f"{name} of a tensor should not be negative, found {tuple(values)}")
    return tuple(values)


def _check_geometry(size: Any, stride: Any, offset: Any) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Sizes, strides and offset; the number of elements and the last index fit 64 bits."""
    sizes, strides = _ints("size", size), _ints("stride", stride)
    (begin,) = _ints("offset", (offset,))
    if len(sizes) != len(strides) or len(sizes) > 64:
        raise refused(f"a tensor has {len(sizes)} sizes and {len(strides)} strides")
    if math.prod(max(each, 1) for each in sizes) >= 2**62 or any(each >= 2**62 for each in strides):
        raise refused(f"a tensor of size {sizes} and strides {strides} is too large")
    return sizes, strides, begin


def _tensor(memory: Any, dtype: Any, offset: Any, size: Any, stride: Any) -> Any:
    """A view of a memory, inside of it."""
    if not isinstance(memory, Memory) or not isinstance(dtype, _opgrid.dtype):
        raise refused("a tensor should have a storage and a dtype")
    sizes, strides, begin = _check_geometry(size, stride, offset)
    last = begin + sum((length - 1) * step for length, step in zip(sizes, strides, strict=True)) if math.prod(sizes) else begin - 1
    count = memory.row.numel() // dtype.itemsize
    if last >= count or begin > count:
        raise refused(
            f"a tensor of size {sizes}, strides {strides} and offset {begin} is not inside of its storage of {count} elements"
        )
    return _view_of(memory.row, dtype, sizes, strides, begin)


def _finished(m: Unpickler, tensor: Any, requires_grad: Any, hooks: Any, metadata: Any) -> Any:
    if type(requires_grad) is not bool:
        raise refused("requires_grad of a tensor should be a bool")
    if hooks:
        raise refused("the hooks of a tensor cannot be read; remove them before it is saved")
    for name, resolve in (("conj", "conj_physical"), ("neg", "neg")):
        if metadata and metadata.get(name):
            # It takes memory of its own, which expanded tensors would make large.
            m.allocate(tensor.numel() * tensor.itemsize)
            tensor = getattr(tensor, resolve)()
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_tensor(m: Unpickler, storage: Any, offset: Any, size: Any, stride: Any) -> Any:
    return _tensor(storage, storage.dtype, offset, size, stride)


def _rebuild_tensor_v2(
    m: Unpickler, storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, metadata: Any = None
) -> Any:
    return _finished(m, _tensor(storage, storage.dtype, offset, size, stride), requires_grad, hooks, metadata)


def _rebuild_tensor_v3(
    m: Unpickler,
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Any:
    return _finished(m, _tensor(storage, dtype, offset, size, stride), requires_grad, hooks, metadata)


def _rebuild_parameter(m: Unpickler, data: Any, requires_grad: Any, hooks: Any) -> Any:
    return og.nn.Parameter(_finished(m, data, False, hooks, None), requires_grad)


def _rebuild_parameter_with_state(m: Unpickler, data: Any, requires_grad: Any, hooks: Any, state: Any) -> Any:
    return _with_attributes(_rebuild_parameter(m, data, requires_grad, hooks), state)


def _rebuild_meta_tensor(m: Unpickler, dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Any:
    sizes, strides, _ = _check_geometry(size, stride, 0)
    return og.empty_strided(sizes, strides, dtype=dtype, device="meta").requires_grad_(bool(requires_grad))


def _rebuild_from_type(m: Unpickler, function: Any, kind: Any, args: Any, state: Any) -> Any:
    """A tensor with attributes."""
    if not isinstance(function, Allowed) or kind not in (_TENSOR, _PARAMETER) or type(args) is not tuple:
        raise refused("a tensor with attributes should be made by one of torch's functions, of class Tensor or Parameter")
    return _with_attributes(function.function(m, *args), state)


def _with_attributes(tensor: Any, state: Any) -> Any:
    if type(state) is not dict:
        raise refused(f"attributes of a tensor should be a dict, found {type(state).__name__}")
    for name, value in state.items():
        if type(name) is not str or name.startswith("_") or hasattr(tensor, name):
            raise refused(f"a tensor has no room for an attribute {name!r}")
        setattr(tensor, name, value)
    return tensor


def _device(m: Unpickler, kind: str, index: int | None = None) -> Any:
    return _opgrid.device(kind) if index is None else _opgrid.device(kind, index)


def _layout(m: Unpickler, name: str) -> Any:
    found = getattr(_opgrid, str(name).removeprefix("torch."), None)
    if not isinstance(found, _opgrid.layout):
        raise refused(f"{name!r} is no layout")
    return found


def _size(m: Unpickler, sizes: Any = ()) -> Any:
    values = _ints("size", sizes)
    m.spend(len(values))
    return Size(values)


def _set(m: Unpickler, values: Any = ()) -> Any:
    if type(values) not in (list, tuple):
        raise refused("a set should be made of a list")
    m.spend(len(values))
    return {m.checked_key(value) for value in values}


def _ordered_dict(m: Unpickler, pairs: Any = ()) -> Any:
    if type(pairs) not in (list, tuple):
        raise refused("a dict should be made of a list of pairs")
    m.spend(len(pairs))
    made: OrderedDict[Any, Any] = OrderedDict()
    for key, value in pairs:
        made[m.checked_key(key)] = value
    return made


def _counter(m: Unpickler, counts: Any = None) -> Any:
    if counts is not None and type(counts) is not dict:
        raise refused("a counter should be made of a dict")
    m.spend(len(counts or ()))
    return Counter(counts or {})


def _encode(m: Unpickler, text: Any, encoding: Any = "latin1") -> bytes:
    if type(text) is not str or encoding not in ("latin1", "latin-1", "utf-8"):
        raise refused("bytes should be made of text, in latin1 or UTF-8")
    m.spend(len(text))
    return text.encode(encoding)


def _bytes(m: Unpickler) -> bytes:
    return b""


def _bytearray(m: Unpickler, content: Any = b"", encoding: Any = "latin1") -> bytearray:
    if type(content) is str:
        content = _encode(m, content, encoding)
    if type(content) is not bytes:
        raise refused("a bytearray should be made of bytes")
    m.spend(len(content))
    return bytearray(content)


def _complex(m: Unpickler, real: Any, imag: Any) -> complex:
    if type(real) is not float or type(imag) is not float:
        raise refused("a complex number should be made of two floats")
    return complex(real, imag)


_TENSOR, _PARAMETER = Allowed("torch.Tensor", lambda m: None), Allowed("torch.nn.Parameter", lambda m: None)
_FUNCTIONS: dict[str, Any] = {
    "torch._utils._rebuild_tensor": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": _rebuild_tensor_v2,
    "torch._utils._rebuild_tensor_v3": _rebuild_tensor_v3,
    "torch._utils._rebuild_parameter": _rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": _rebuild_parameter_with_state,
    "torch._utils._rebuild_meta_tensor_no_storage": _rebuild_meta_tensor,
    "torch._tensor._rebuild_from_type_v2": _rebuild_from_type,
    "torch.serialization._get_layout": _layout,
    "torch.Size": _size,
    "torch.device": _device,
    "collections.OrderedDict": _ordered_dict,
    "collections.Counter": _counter,
    "builtins.set": _set,
    "builtins.complex": _complex,
    "builtins.bytearray": _bytearray,
    "builtins.bytes": _bytes,
    "_codecs.encode": _encode,
}
_DTYPES = [
    *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32"),
    *("float64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2"),
]
_TABLE: dict[tuple[str, str], Any] = {
    **{(*name.rsplit(".", 1),): Allowed(name, function) for name, function in _FUNCTIONS.items()},  # type: ignore[misc]
    **{("torch", name): getattr(_opgrid, name) for name in _DTYPES},
    **{("torch", name): StorageClass(dtype) for name, dtype in STORAGES.items()},
    **{(module, "UntypedStorage"): StorageClass(None) for module in ("torch", "torch.storage")},
    ("torch", "Tensor"): _TENSOR,
    ("torch.nn.parameter", "Parameter"): _PARAMETER,
}
