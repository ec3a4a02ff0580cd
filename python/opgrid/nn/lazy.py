"""Modules that learn the sizes of their parameters from the first input."""

from __future__ import annotations

from typing import Any, ClassVar

import opgrid as og

from .. import _opgrid
from .._opgrid import Tensor
from ..autograd import no_grad
from .batchnorm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    _NormBase,
)
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, _ConvNd
from .functional.sizes import Sizes
from .linear import Linear
from .module import Module
from .parameter import UninitializedBuffer, UninitializedParameter, is_lazy

_Device = _opgrid.device | str | None
_Dtype = _opgrid.dtype | None


class LazyModuleMixin(Module):
    """Calls ``initialize_parameters`` with the first input, and becomes a module of the class ``cls_to_become`` then.

    Parameters and buffers are `UninitializedParameter` and `UninitializedBuffer` before that. A state dict that is loaded
    earlier gives them their sizes.
    """

    cls_to_become: ClassVar[type[Module] | None] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Gives parameters and buffers their sizes; modules override it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether any parameter or buffer has no size yet."""
        return any(is_lazy(tensor) for kind in ("_parameters", "_buffers") for tensor in self._own(kind).values())

    def reset_parameters(self) -> None:
        """Sets or draws initial values, once sizes are known."""
        if not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]

    def _infer_parameters(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        module.initialize_parameters(*args, **kwargs)
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {type(module).__name__} has not been fully initialized")
        for name in ("_initialize_hook", "_load_hook"):
            getattr(module, name).remove()
            delattr(module, name)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _lazy_load_hook(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        for kind in ("_parameters", "_buffers"):
            for name, tensor in self._own(kind).items():
                given = state_dict.get(prefix + name)
                if is_lazy(tensor) and given is not None and not is_lazy(given):
                    with no_grad():
                        tensor.materialize(given.shape)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for kind in ("_parameters", "_buffers"):
            # Those without a size stay what they are, so that another lazy module recognizes them.
            own = {prefix + name: tensor for name, tensor in self._own(kind).items() if is_lazy(tensor)}
            destination.update({name: tensor for name, tensor in own.items() if name in destination})


def _give_shapes(module: Module, shapes: dict[str, tuple[int, ...]]) -> None:
    """Gives parameters and buffers of these names memory, as far as they are there."""
    for kind in ("_parameters", "_buffers"):
        for name, tensor in module._own(kind).items():
            if is_lazy(tensor):
                tensor.materialize(shapes[name])


class LazyLinear(LazyModuleMixin, Linear):
    """`Linear` that takes ``in_features`` from its first input."""

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: _Device = None, dtype: _Dtype = None) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.bias = UninitializedParameter(device=device, dtype=dtype) if bias else None

    def initialize_parameters(self, input: Tensor) -> None:
        """Gives weight and bias their sizes."""
        if not self.has_uninitialized_params():
            self.in_features = self.weight.shape[-1]
            return
        self.in_features = input.shape[-1]
        _give_shapes(self, {"weight": (self.out_features, self.in_features), "bias": (self.out_features,)})
        self.reset_parameters()


class _LazyConvNd(LazyModuleMixin, _ConvNd):
    """What lazy convolutions have in common."""

    def _lazily(self, out_channels: int, bias: bool, device: _Device, dtype: _Dtype) -> None:
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.bias = UninitializedParameter(device=device, dtype=dtype) if bias else None

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Gives weight and bias their sizes."""
        dims = self._dims
        if input.dim() not in (dims + 1, dims + 2):
            name = type(self).__name__
            raise RuntimeError(f"{name}: input has shape {list(input.shape)}, expected {dims + 1} dimensions, or {dims + 2} with a batch")
        self.in_channels = input.shape[-dims - 1]
        if not self.has_uninitialized_params():
            return
        self._check()
        _give_shapes(self, {"weight": self._weight_shape(), "bias": (self.out_channels,)})
        self.reset_parameters()


class _LazyConv(_LazyConvNd):
    """A convolution that takes ``in_channels`` from its first input."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: _Device = None,
        dtype: _Dtype = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self._lazily(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvNd):
    """A transposed convolution that takes ``in_channels`` from its first input."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: _Device = None,
        dtype: _Dtype = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode)
        self._lazily(out_channels, bias, device, dtype)


class _LazyNorm(LazyModuleMixin, _NormBase):
    """A normalization that takes ``num_features`` from its first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: _Device = None,
        dtype: _Dtype = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, is_there in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, UninitializedParameter(device=device, dtype=dtype) if is_there else None)
        if track_running_stats:
            for name in ("running_mean", "running_var"):
                self.register_buffer(name, UninitializedBuffer(device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked", og.zeros((), dtype=og.int64, device=device))

    def initialize_parameters(self, input: Tensor) -> None:
        """Gives parameters and statistics their sizes."""
        self.num_features = input.shape[1]
        if not self.has_uninitialized_params():
            return
        names = ("weight", "bias", "running_mean", "running_var")
        _give_shapes(self, dict.fromkeys(names, (self.num_features,)))
        self.reset_parameters()


class LazyConv1d(_LazyConv, Conv1d):
    """`Conv1d` that takes ``in_channels`` from its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """`Conv2d` that takes ``in_channels`` from its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """`Conv3d` that takes ``in_channels`` from its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """`ConvTranspose1d` that takes ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """`ConvTranspose2d` that takes ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """`ConvTranspose3d` that takes ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose3d


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """`BatchNorm1d` that takes ``num_features`` from its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """`BatchNorm2d` that takes ``num_features`` from its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """`BatchNorm3d` that takes ``num_features`` from its first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """`InstanceNorm1d` that takes ``num_features`` from its first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """`InstanceNorm2d` that takes ``num_features`` from its first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """`InstanceNorm3d` that takes ``num_features`` from its first input."""

    cls_to_become = InstanceNorm3d
