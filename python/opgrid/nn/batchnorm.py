"""Normalization over a batch, with running statistics for evaluation."""

from __future__ import annotations

from typing import Any, ClassVar

import opgrid as og

from .. import _opgrid
from .._opgrid import Tensor
from . import functional as F
from . import init
from .loading import checks_first
from .module import Module
from .parameter import Parameter


class _BatchNorm(Module):
    """Normalizes each channel, then scales by ``weight`` and adds ``bias``.

    Training uses the batch's statistics and moves the running ones towards them by ``momentum`` (``None`` averages all
    batches). Evaluation uses the running ones, or the batch's with ``track_running_stats=False``.
    """

    _version = 2
    _ndims: ClassVar[tuple[int, ...]]
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
        self.weight = Parameter(og.empty(shape, device=device, dtype=dtype)) if affine else None
        self.bias = Parameter(og.empty(shape, device=device, dtype=dtype)) if affine and bias else None
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

    @checks_first
    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        version, key = local_metadata.get("version"), prefix + "num_batches_tracked"
        # State dicts of version 1 have no count.
        if (version is None or version < 2) and self.num_batches_tracked is not None and key not in state_dict:
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in self._ndims:
            expected = " or ".join(f"{ndim}D" for ndim in self._ndims)
            raise ValueError(f"expected {expected} input (got {input.ndim}D input)")
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        return F.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, by_batch, momentum, self.eps
        )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalization of ``(N, C)`` or ``(N, C, L)``."""

    _ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of ``(N, C, H, W)``."""

    _ndims = (4,)
