"""Methods and properties of tensors that are no operators: conversions, what a tensor is, and forms from before there were dtypes."""

from __future__ import annotations

from . import _opgrid
from ._opgrid import TensorBase
from ._storage import TypedStorage
from .errors import MissingAttributeError, OperatorError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._legacy import TensorType


HANDLERS = ("__opgrid_function__", "__torch_function__")
"""The names under which a class says what a function does with its objects."""


def _conversion(name: str, dtype: str) -> Callable[[Any], Any]:
    """The method that converts a tensor to a dtype."""
    to = getattr(_opgrid, dtype)

    def convert(self: Any) -> Any:
        return self.to(to)

    convert.__name__, convert.__qualname__, convert.__doc__ = name, f"Tensor.{name}", f"The tensor with the dtype ``{dtype}``."
    return convert


def _is_on(device_type: str) -> property:
    """The property that says whether a tensor is on a device of that kind."""
    return property(lambda self: self.device.type == device_type, doc=f"Whether the tensor is on a device of the kind {device_type!r}.")


def _move_to_kind(device_type: str) -> Callable[..., Any]:
    """The method that copies a tensor to a device of that kind."""

    def move(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
        from ._devices import require

        number = device if isinstance(device, int) else None
        target = _opgrid.device(device_type, number) if device is None or number is not None else _opgrid.device(device)
        require(target.type)
        return self.to(target, non_blocking=non_blocking)

    move.__name__, move.__qualname__ = device_type, f"Tensor.{device_type}"
    move.__doc__ = f"The tensor on a device of the kind {device_type!r}; the current one if none is named."
    return move


def _complex_part(name: str) -> property:
    """The property that views the real or the imaginary parts of a tensor; what is assigned to it is copied there."""

    def part(self: Any) -> Any:
        try:
            return _opgrid.function(name)(self)
        except OperatorError as refused:
            # Libraries that take any array ask with `hasattr` for what an array has.
            raise MissingAttributeError(*refused.args) from None

    def assign(self: Any, value: Any) -> None:
        part(self).copy_(value)

    return property(part, assign, doc=f"The {name} parts of the elements, as a view.")


class TensorMethods:
    """What is given to the class of tensors."""

    byte = _conversion("byte", "uint8")
    char = _conversion("char", "int8")
    short = _conversion("short", "int16")
    cfloat = _conversion("cfloat", "complex64")
    cdouble = _conversion("cdouble", "complex128")
    cuda = _move_to_kind("cuda")
    xpu = _move_to_kind("xpu")
    ipu = _move_to_kind("ipu")
    mtia = _move_to_kind("mtia")
    is_xpu = _is_on("xpu")
    is_ipu = _is_on("ipu")
    is_xla = _is_on("xla")
    is_mps = _is_on("mps")
    is_maia = _is_on("maia")
    is_mtia = _is_on("mtia")
    is_vulkan = _is_on("vulkan")
    real = _complex_part("real")
    imag = _complex_part("imag")
    is_quantized = is_nested = is_mkldnn = is_sparse_csr = False
    name = None
    volatile = property(lambda self: False, doc="Whether no gradients lead through the tensor, before ``no_grad`` was there; never.")

    @property
    def mH(self: Any) -> Any:
        """The conjugates of matrices with the last two dimensions exchanged."""
        return _opgrid.function("adjoint")(self) if self.ndim != 0 else _opgrid.function("mH")(self)

    @property
    def grad_dtype(self: Any) -> Any:
        """The dtype of the gradient, which is the tensor's."""
        return self.dtype

    def type(self: Any, dtype: Any = None, non_blocking: bool = False, **_options: Any) -> Any:
        """The name of the class that the tensor had before there were dtypes, ``"opgrid.FloatTensor"``; given a dtype, such a class or the
        name of one, the tensor with that dtype."""
        from . import _legacy

        if dtype is None:
            return _legacy.type_name(self)
        if isinstance(dtype, _opgrid.dtype):
            return self.to(dtype, non_blocking=non_blocking)
        kind: TensorType = _legacy.type_of(dtype)
        return self.to(device=kind.device_type, dtype=kind.dtype, non_blocking=non_blocking)

    def new_tensor(self: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **_options: Any) -> Any:
        """A tensor of the data with the dtype and on the device of this one, unless others are given."""
        return _opgrid.tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)

    def new(self: Any, *args: Any, **kwargs: Any) -> Any:
        """A tensor of the sizes, or of the data, with the dtype of this one and on its device."""
        from . import _legacy

        return _legacy.construct(args, kwargs, self.dtype, self.device)

    def get_device(self: Any) -> int:
        """The number of the tensor's device, -1 on the CPU."""
        device = self.device
        return -1 if device.type in ("cpu", "meta") else device.index or 0

    def ndimension(self: Any) -> int:
        """The number of dimensions."""
        return int(self.ndim)

    def const_data_ptr(self: Any) -> int:
        """The address of the first element."""
        return int(self.data_ptr())

    def dim_order(self: Any, ambiguity_check: Any = False) -> tuple[int, ...]:
        """The dimensions in the order in which they lie in memory, that with the largest stride first."""
        strides = self.stride()
        return tuple(sorted(range(self.ndim), key=lambda dim: -strides[dim]))

    def dense_dim(self: Any) -> int:
        """The number of dimensions that are dense, which all are."""
        return int(self.ndim)

    def sparse_dim(self: Any) -> int:
        """The number of dimensions that are sparse: none."""
        return 0

    def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
        """The tensor, which is dense; with another dtype if one is given."""
        return self if dtype is None else self.to(dtype)

    def is_inference(self: Any) -> bool:
        """Whether the tensor comes from ``inference_mode``, so that no gradients lead through it."""
        return not self.keys().has("ADInplaceOrView")

    def is_distributed(self: Any) -> bool:
        """Whether several processes hold parts of the tensor: no."""
        return False

    def is_shared(self: Any) -> bool:
        """Whether other processes see the tensor's memory: no, except on a device."""
        return bool(self.device.type == "cuda")

    def share_memory_(self: Any) -> Any:
        """The tensor. Its memory stays its own: a process that is forked sees a copy, one that gets it in a pickle has one."""
        return self

    def is_set_to(self: Any, tensor: Any) -> bool:
        """Whether both are the same elements of the same memory, with the same sizes and strides."""
        return bool(
            self.untyped_storage() == tensor.untyped_storage()
            and self.storage_offset() == tensor.storage_offset()
            and self.shape == tensor.shape
            and self.stride() == tensor.stride()
        )

    def storage(self: Any) -> TypedStorage:
        """The tensor's memory as a sequence of elements, all of it."""
        return TypedStorage.for_tensor(self)

    def storage_type(self: Any) -> Any:
        """The class of the tensor's memory as a sequence of elements."""
        return type(TypedStorage.for_tensor(self))

    def record_stream(self: Any, stream: Any) -> None:
        """Has the memory of a device kept until the stream is done with it. There is nothing to keep on the CPU."""
        if self.device.type in ("cpu", "meta"):
            raise NotImplementedError(f"record_stream(): found a tensor on {self.device}, expected one on a device with streams")

    def apply_(self: Any, callable: Callable[[Any], Any]) -> Any:
        """Replaces each element by what the function gives for it, a number. It runs in Python, element by element."""
        return self._replace_by(callable, [self], "apply_")

    def map_(self: Any, tensor: Any, callable: Callable[[Any, Any], Any]) -> Any:
        """Replaces each element by what the function gives for it and the element of another tensor, which is broadcast."""
        return self._replace_by(callable, [self, tensor.expand_as(self)], "map_")

    def map2_(self: Any, x: Any, y: Any, callable: Callable[[Any, Any, Any], Any]) -> Any:
        """Replaces each element by what the function gives for it and the elements of two other tensors, which are broadcast."""
        return self._replace_by(callable, [self, x.expand_as(self), y.expand_as(self)], "map2_")

    def _replace_by(self: Any, callable: Callable[..., Any], tensors: list[Any], what: str) -> Any:
        if self.requires_grad:
            raise RuntimeError(f"Can't call {what}() on Variable that requires grad. Use var.detach().{what}() instead.")
        if self.device.type != "cpu":
            raise TypeError(f"{what}(): found a tensor on {self.device}, expected one on the CPU")
        columns = [tensor.detach().reshape(-1).tolist() for tensor in tensors]
        found = [callable(*numbers) for numbers in zip(*columns, strict=True)]
        self.copy_(_opgrid.tensor(found, dtype=self.dtype).reshape(self.shape))
        return self

    def norm(self: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
        """The norm of all elements, or along dimensions; see :func:`opgrid.norm`."""
        from .functional import norm

        return norm(self, p, dim, keepdim, dtype=dtype)

    def where(self: Any, condition: Any, y: Any) -> Any:
        """The tensor's elements where the condition holds, else those of ``y``, a tensor or a number."""
        return _opgrid.function("where")(condition, self, y)

    def polygamma(self: Any, n: int) -> Any:
        """The derivative of order ``n`` of the digamma function."""
        return _opgrid.function("polygamma")(n, self)

    def module_load(self: Any, other: Any, assign: bool = False) -> Any:
        """What a module takes in place of this parameter when it loads ``other``: this one with the other's elements, or the other."""
        if assign:
            return other.detach() if not other.requires_grad else other
        return self.copy_(other).detach()

    def dequantize(self: Any) -> Any:
        """The tensor, which is not quantized, as float32."""
        return self.float()

    def unsafe_split_with_sizes(self: Any, split_sizes: Any, dim: int = 0) -> Any:
        """The tensor in parts of these sizes; see ``split``."""
        return self.split_with_sizes(split_sizes, dim)

    def resize_as(self: Any, tensor: Any) -> Any:
        """The elements with the sizes of another tensor that has as many; newer programs call ``reshape_as``."""
        return self.reshape_as(tensor)

    def lu(self: Any, pivot: bool = True, get_infos: bool = False) -> Any:
        """The LU factorization; see :func:`opgrid.lu`."""
        from .functional import lu

        return lu(self, pivot, get_infos)

    def register_post_accumulate_grad_hook(self: Any, hook: Callable[[Any], None]) -> Any:
        """Calls ``hook(tensor)`` each time that a backward pass has added to the gradient of this leaf, as to step at once."""
        from .autograd import enable_grad

        if not self.requires_grad:
            raise RuntimeError("register_post_accumulate_grad_hook(): the tensor requires no gradient; call requires_grad_() before")
        if not self.is_leaf:
            raise RuntimeError("register_post_accumulate_grad_hook(): expected a leaf, found a result; use register_hook() for its gradient")

        def added(_: Any) -> None:
            hook(self)

        with enable_grad():
            ((node, _),) = self.view_as(self).grad_fn.next_functions
        return node.register_hook(added)

    def reinforce(self: Any, reward: Any) -> None:
        """Refused, as gradients of random numbers are the business of ``distributions``."""
        raise RuntimeError("reinforce(): it was removed; use `log_prob` of a distribution as in policy gradients")


def _removed(name: str) -> Callable[..., Any]:
    """The method in place of a function that was removed, which refuses its call."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        from . import functional

        return getattr(functional, name)(self, *args, **kwargs)

    refuse.__name__, refuse.__qualname__ = name, f"Tensor.{name}"
    refuse.__doc__ = f"Refused: it was removed in favor of ``linalg``; see :func:`opgrid.functional.{name}`."
    return refuse


def _begin_class(cls: type[Any], /, **options: Any) -> None:
    """Has the methods of a class that is derived from tensors ask it, if it says what functions do."""
    parent: Any = super(TensorBase, cls)
    parent.__init_subclass__(**options)
    if any(name in kind.__dict__ for kind in cls.__mro__[: cls.__mro__.index(TensorBase)] for name in HANDLERS):
        from .overrides import ask_of_all_methods

        ask_of_all_methods(cls)


setattr(TensorBase, "__init_subclass__", classmethod(_begin_class))
for _name, _value in vars(TensorMethods).items():
    if not _name.startswith("__"):
        setattr(TensorBase, _name, _value)
for _name in ("cholesky", "eig", "lstsq", "qr", "solve", "symeig"):
    setattr(TensorBase, _name, _removed(_name))
del _name, _value
