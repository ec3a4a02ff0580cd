"""Matrix products, embeddings and dropout."""

from __future__ import annotations

import opgrid as og

from ..._opgrid import Tensor
from ...autograd import no_grad


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``."""
    return og.linear(input, weight, bias)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for each output ``k``."""
    return og.bilinear(input1, input2, weight, bias)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of ``weight`` at the indices ``input``; with ``max_norm``, longer rows are first rescaled in place.

    ``sparse=True`` asks for sparse gradients, which raises where the operator has none.
    """
    padding = _padding(padding_idx, weight)
    if max_norm is not None:
        _renorm(weight, input, max_norm, norm_type)
    return og.embedding(weight, input, -1 if padding is None else padding, scale_grad_by_freq, sparse)


def _padding(padding_idx: int | None, weight: Tensor) -> int | None:
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        # torch raises an assertion here.
        raise AssertionError(f"Padding_idx must be within num_embeddings ({rows}), found {padding_idx}")
    return None if padding_idx is None else padding_idx % rows


def _renorm(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    with no_grad():
        og.embedding_renorm_(weight, input.contiguous(), max_norm, norm_type)


_BAG_MODES = {"sum": 0, "mean": 1, "max": 2}


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of the rows of ``weight`` for each bag of indices.

    Bags are the rows of ``input`` ``(B, N)``, or the parts of ``(N,)`` that begin at ``offsets``. ``per_sample_weights``
    multiplies rows and goes with the mode ``"sum"``. Rows of ``padding_idx`` do not count.
    """
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag(): per_sample_weights has shape {list(per_sample_weights.shape)}, expected that of input, "
            f"{list(input.shape)}"
        )
    if weight.dim() != 2:
        raise ValueError(f"embedding_bag(): weight has {weight.dim()} dimensions, expected 2")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("embedding_bag(): offsets are given for an input of 2 dimensions, of which each row is a bag")
        offsets = og.arange(0, input.numel(), input.shape[1], dtype=input.dtype, device=input.device)
        include_last_offset = False
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    elif input.dim() != 1:
        raise ValueError(f"embedding_bag(): input has {input.dim()} dimensions, expected 1 or 2")
    elif offsets is None or offsets.dim() != 1:
        found = "None" if offsets is None else f"a tensor of {offsets.dim()} dimensions"
        raise ValueError(f"embedding_bag(): offsets is {found}, expected a tensor of one dimension with an input of one")
    if mode not in _BAG_MODES:
        raise ValueError(f"embedding_bag(): mode is {mode!r}, expected sum, mean or max")
    if mode == "max" and (scale_grad_by_freq or sparse):
        raise ValueError("embedding_bag(): the mode max supports neither scale_grad_by_freq nor sparse")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"embedding_bag(): per_sample_weights is given with the mode {mode}, expected sum")
    if max_norm is not None:
        _renorm(weight, input, max_norm, norm_type)
    settings = (scale_grad_by_freq, _BAG_MODES[mode], sparse, per_sample_weights, include_last_offset, padding_idx)
    bags: Tensor = og.embedding_bag(weight, input, offsets, *settings)[0]
    return bags


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes elements with probability ``p`` and divides the others by ``1 - p``, when training."""
    return _dropped("dropout", input, p, training, inplace)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Sets elements with probability ``p`` to what `selu` tends to, and scales all so that mean and variance stay, when training."""
    return _dropped("alpha_dropout", input, p, training, inplace)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels: the first two dimensions are a batch and its channels."""
    return _dropped("feature_alpha_dropout", input, p, training, inplace)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of ``(N, C, L)`` or ``(C, L)``, as `dropout` does elements."""
    if input.dim() not in (2, 3):
        raise RuntimeError(f"dropout1d(): input has {input.dim()} dimensions, expected (N, C, L) or (C, L)")
    return _channels_dropped(input, p, training, inplace, is_batch=input.dim() == 3)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of ``(N, C, H, W)``, as `dropout` does elements; three dimensions are ``(N, C, L)``, as in torch."""
    return _channels_dropped(input, p, training, inplace, is_batch=True)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of ``(N, C, D, H, W)`` or ``(C, D, H, W)``, as `dropout` does elements."""
    return _channels_dropped(input, p, training, inplace, is_batch=input.dim() == 5)


def _channels_dropped(input: Tensor, p: float, training: bool, inplace: bool, *, is_batch: bool) -> Tensor:
    batch = input if is_batch else input.unsqueeze(0)
    result = _dropped("feature_dropout", batch, p, training, inplace)
    if is_batch:
        return result
    return input if inplace else result.squeeze(0)


def _dropped(name: str, input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    result: Tensor = getattr(og, name + "_" if inplace else name)(input, p, training)
    return result
