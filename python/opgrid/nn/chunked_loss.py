"""Cross entropy of scores that a linear layer gives."""

from __future__ import annotations

from dataclasses import dataclass

from .. import _opgrid
from .._opgrid import Tensor
from . import functional as F
from .linear import Linear
from .loss import _WeightedLoss

_POLICIES = ("accurate", "compact", "auto")
_DTYPES = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How `LinearCrossEntropyLoss` goes over parts of a batch to save memory. The options are checked, and change nothing here."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: _opgrid.dtype | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"acc_policy is {self.acc_policy!r}, expected one of {', '.join(_POLICIES)}")
        method, colon, factor = (self.chunking_method or "auto").partition(":")
        is_known = method == "aspect_ratio" and (not colon or (factor.isdigit() and int(factor) > 0))
        if not is_known and (method, colon) != ("auto", ""):
            raise ValueError(f"chunking_method is {self.chunking_method!r}, expected auto, aspect_ratio, aspect_ratio:N or None")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size is {size!r}, expected a number above zero or None")
        if self.acc_dtype is not None and str(self.acc_dtype).rpartition(".")[2] not in _DTYPES:
            raise ValueError(f"acc_dtype is {self.acc_dtype}, expected {', '.join(_DTYPES)} or None")


class LinearCrossEntropyLoss(_WeightedLoss):
    """`CrossEntropyLoss` of the scores that a `Linear` layer gives: inputs ``(N, in_features)``.

    Targets are classes ``(N, *out_features)`` or probabilities ``(N, num_classes, *out_features)``.
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(f"weight has shape {list(weight.shape)}, expected {[num_classes]}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"label_smoothing is {label_smoothing}, expected a number between 0 and 1")
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        count = num_classes
        for size in self.out_features:
            count *= size
        self.linear = Linear(in_features, count, bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, -1),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        settings = ("out_features", "bias", "reduction", "ignore_index", "label_smoothing", "options")
        shown = {name: getattr(self, name, None) for name in settings} | {"bias": self.linear.bias is not None}
        head = f"in_features={self.linear.in_features}, num_classes={self.num_classes}"
        return ", ".join([head, *(f"{name}={value}" for name, value in shown.items())])
