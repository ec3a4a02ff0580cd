"""Classes from before there were dtypes: ``FloatTensor(2, 3)`` makes a tensor, ``isinstance(x, FloatTensor)`` asks for its dtype."""

from __future__ import annotations

from typing import Any

from . import _opgrid
from .errors import ArgumentError

_DTYPES = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "ShortTensor": "int16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "BoolTensor": "bool",
    "ComplexFloatTensor": "complex64",
    "ComplexDoubleTensor": "complex128",
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


class TensorType(type):
    """The class of these classes, which have a dtype and a kind of device."""

    dtype: _opgrid.dtype
    device_type: str

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _opgrid.TensorBase) and instance.dtype is cls.dtype and instance.device.type == cls.device_type

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return construct(args, kwargs, cls.dtype, _opgrid.device(cls.device_type))

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def construct(args: tuple[Any, ...], kwargs: dict[str, Any], dtype: _opgrid.dtype, device: Any) -> Any:
    """What ``FloatTensor(...)`` makes: numbers one by one and a ``Size`` are sizes, anything else is data."""
    kwargs = {**kwargs}
    wanted = kwargs.pop("device", None)
    if wanted is not None and _opgrid.device(wanted).type != device.type:
        raise RuntimeError(
            f"legacy constructor expects device type: {device.type} but device type: {_opgrid.device(wanted).type} was passed"
        )
    given = _opgrid.Tensor(*args, **kwargs)
    only = args[0] if len(args) == 1 else next(iter(kwargs.values()), None)
    if isinstance(only, _opgrid.TensorBase):
        if only.dtype is not dtype:
            raise TypeError(f"expected a tensor of dtype {dtype}, found {only.dtype}; convert it with `to`")
        return only.detach()
    if only is None or isinstance(only, (int, _size_class())) or len(args) > 1:
        return _opgrid.function("empty")(list(given.shape), dtype=dtype, device=device)
    return _opgrid.tensor(only, dtype=dtype, device=device)


def _size_class() -> type:
    from ._size import Size

    return Size


def _legacy_type(name: str, device_type: str = "cpu") -> TensorType:
    module = "opgrid" if device_type == "cpu" else f"opgrid.{device_type}"
    dtype = getattr(_opgrid, _DTYPES[name])
    names = {"__module__": module, "__doc__": f"Tensors of {dtype} from before there were dtypes.", "dtype": dtype, "device_type": device_type}
    return TensorType(name, (), names)


FloatTensor = _legacy_type("FloatTensor")
DoubleTensor = _legacy_type("DoubleTensor")
HalfTensor = _legacy_type("HalfTensor")
BFloat16Tensor = _legacy_type("BFloat16Tensor")
ByteTensor = _legacy_type("ByteTensor")
CharTensor = _legacy_type("CharTensor")
ShortTensor = _legacy_type("ShortTensor")
IntTensor = _legacy_type("IntTensor")
LongTensor = _legacy_type("LongTensor")
BoolTensor = _legacy_type("BoolTensor")


def types_of(device_type: str) -> dict[str, TensorType]:
    """The classes of one kind of device, by their names."""
    return {name: _legacy_type(name, device_type) for name in _DTYPES if "Complex" not in name}


def type_name(tensor: Any) -> str:
    """The name of a tensor's class of this sort, as in ``opgrid.FloatTensor``."""
    kind = tensor.device.type
    name = _NAMES.get(str(tensor.dtype).rpartition(".")[2], "Tensor")
    return f"opgrid.{name}" if kind in ("cpu", "meta") else f"opgrid.{kind}.{name}"


def type_of(named: Any) -> TensorType:
    """The class that an argument is or names, as in ``"torch.FloatTensor"``."""
    if isinstance(named, TensorType):
        return named
    if named is _opgrid.Tensor:
        return _legacy_type(_NAMES[str(_opgrid.get_default_dtype()).rpartition(".")[2]])
    if isinstance(named, str):
        package, _, rest = named.partition(".")
        kind, _, name = rest.rpartition(".")
        if package in ("torch", "opgrid") and name in _DTYPES:
            return _legacy_type(name, kind or "cpu")
        raise ValueError(f"invalid type: {named!r}; expected a name such as 'opgrid.FloatTensor'")
    raise ArgumentError(f"type(): expected a dtype, a class such as FloatTensor or its name, found {type(named).__name__}")


def set_default_tensor_type(t: Any, /) -> None:
    """Sets the dtype of new tensors of floats by such a class or its name."""
    kind = type_of(t)
    if kind.device_type != "cpu":
        raise TypeError(f"set_default_tensor_type(): found a class of {kind.device_type} tensors, expected one of the CPU")
    _opgrid.set_default_dtype(kind.dtype)
