"""Normalization of channels, over a batch or within each sample, with running statistics for evaluation."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import opgrid as og

from .. import _opgrid
from .._opgrid import Tensor
from . import functional as F
from . import init
from .loading import checks_first
from .module import Module
from .parameter import Parameter


class _NormBase(Module):
    """Parameters and running statistics of channels."""

    _version = 2
    _ndims: ClassVar[tuple[int, ...]]
    """The numbers of dimensions that inputs may have."""
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        shape = (num_features,)
        for name, is_there in (("weight", affine), ("bias", affine and bias)):
            made = Parameter(og.empty(shape, device=device, dtype=dtype)) if is_there else None
            self.register_parameter(name, made)
        keeps = track_running_stats
        self.register_buffer("running_mean", og.zeros(shape, device=device, dtype=dtype) if keeps else None)
        self.register_buffer("running_var", og.ones(shape, device=device, dtype=dtype) if keeps else None)
        self.register_buffer("num_batches_tracked", og.zeros((), dtype=og.int64, device=device) if keeps else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Resets the running statistics."""
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Sets the weight to ones and the bias to zeros, and resets the running statistics."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in self._ndims:
            expected = " or ".join(f"{ndim}D" for ndim in self._ndims)
            raise ValueError(f"expected {expected} input (got {input.ndim}D input)")

    @checks_first
    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        version, key = local_metadata.get("version"), prefix + "num_batches_tracked"
        # State dicts of version 1 have no count.
        if (version is None or version < 2) and self.num_batches_tracked is not None and key not in state_dict:
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    """Normalizes each channel, then scales by ``weight`` and adds ``bias``.

    Training uses the batch's statistics and moves the running ones towards them by ``momentum`` (``None`` averages all
    batches). Evaluation uses the running ones, or the batch's with ``track_running_stats=False``.
    """

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        keeps = not self.training or self.track_running_stats
        mean, variance = (self.running_mean, self.running_var) if keeps else (None, None)
        return F.batch_norm(input, mean, variance, self.weight, self.bias, by_batch, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Batch normalization of ``(N, C)`` or ``(N, C, L)``."""

    _ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of ``(N, C, H, W)``."""

    _ndims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalization of ``(N, C, D, H, W)``."""

    _ndims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization of ``(N, C, …)`` over the batches of all processes; here there is one, and it computes as `BatchNorm1d` does.

    It loads state dicts of programs that train in several processes. ``process_group`` is stored.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with ``SyncBatchNorm`` in place of all batch normalization, with the same parameters and statistics."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group
            )
            for kind in ("_parameters", "_buffers"):
                converted._own(kind).update(module._own(kind))
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


class _InstanceNorm(_NormBase):
    """Normalizes each channel of each sample, then scales by ``weight`` and adds ``bias`` if it is ``affine``.

    With ``track_running_stats``, evaluation uses running statistics. Inputs may be without a batch.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    @checks_first
    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        # State dicts without a version have statistics that were always tracked.
        if local_metadata.get("version") is None and not self.track_running_stats:
            found = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if found:
                error_msgs.append(
                    f"Unexpected running statistics {' and '.join(found)} for {type(self).__name__} with "
                    "track_running_stats=False; remove them, or set track_running_stats=True."
                )
            for key in found:
                del state_dict[key]
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        has_batch = input.ndim == max(self._ndims)
        dim = 1 if has_batch else 0
        if input.shape[dim] != self.num_features:
            message = f"input has {input.shape[dim]} channels, expected num_features, which is {self.num_features}"
            if self.affine:
                raise ValueError(f"{type(self).__name__}: {message}")
            warnings.warn(f"{message}; without affine it changes nothing", stacklevel=2)
        result = F.instance_norm(
            input if has_batch else input.unsqueeze(0),
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result if has_batch else result.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Normalization of each channel of each sample: ``(N, C, L)`` or ``(C, L)``."""

    _ndims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalization of each channel of each sample: ``(N, C, H, W)`` or ``(C, H, W)``."""

    _ndims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalization of each channel of each sample: ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""

    _ndims = (4, 5)
