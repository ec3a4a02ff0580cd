"""Attention: of given queries, keys and values, and with several heads between projections."""

from __future__ import annotations

import math

import opgrid as og

from ..._opgrid import Tensor
from ... import _opgrid


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(query @ key.mT * scale + mask) @ value``; the scale defaults to ``1 / sqrt(E)``."""
    return og.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """What `MultiheadAttention` computes: the result, and the attention weights ``(N, L, S)``, or ``None``.

    Inputs are ``(L, N, E)``, or ``(L, E)`` without a batch. Projected keys and values may be given as ``static_k`` and
    ``static_v``, ``(N * num_heads, S, E / num_heads)``. ``key_padding_mask`` ``(N, S)`` and ``attn_mask`` ``(L, S)`` or
    ``(N * num_heads, L, S)`` are true where attention is masked, or are added to the scores.
    """
    is_batched = _is_batched(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, count, width = query.shape
    if is_causal and attn_mask is None:
        raise RuntimeError("multi_head_attention_forward(): is_causal says what attn_mask is; expected attn_mask as well")
    _expect(width == embed_dim_to_check, f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    _expect(width % num_heads == 0, f"embed_dim {width} not divisible by num_heads {num_heads}")
    shared = 2 if use_separate_proj_weight else 3
    _expect(
        key.shape[:shared] == value.shape[:shared],
        f"shapes of key and value are {list(key.shape)} and {list(value.shape)}, expected the first {shared} sizes to be equal",
    )
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight
    q, k, v = _projected((query, key, value), weights, in_proj_bias)
    mask = _per_head(_added(attn_mask, "attn_mask", query.dtype), count * num_heads, length, key.shape[0])
    padding = _added(key_padding_mask, "key_padding_mask", query.dtype)
    more = 0
    if bias_k is not None and bias_v is not None:
        _expect(static_k is None and static_v is None, "bias_k and bias_v cannot be added to static_k and static_v")
        k, v = og.cat([k, bias_k.expand(1, count, -1)]), og.cat([v, bias_v.expand(1, count, -1)])
        more += 1
    else:
        _expect(bias_k is None and bias_v is None, "bias_k and bias_v: only one is given, expected both or neither")
    q = _heads(q, num_heads)
    k = _heads(k, num_heads) if static_k is None else _static(static_k, "static_k", q)
    v = _heads(v, num_heads) if static_v is None else _static(static_v, "static_v", q)
    if add_zero_attn:
        zeros = og.zeros((q.shape[0], 1, q.shape[2]), dtype=k.dtype, device=k.device)
        k, v = og.cat([k, zeros], 1), og.cat([v, zeros], 1)
        more += 1
    if more:
        mask, padding = (None if x is None else og.pad(x, (0, more)) for x in (mask, padding))
    if padding is not None:
        _expect(
            padding.shape == (count, k.shape[1]),
            f"key_padding_mask has shape {list(padding.shape)}, expected {[count, k.shape[1]]}",
        )
        padding = padding.view(count, 1, 1, -1).expand(-1, num_heads, -1, -1).flatten(0, 1)
        mask = padding if mask is None else mask + padding
    p = dropout_p if training else 0.0
    attended, found = _attended(q, k, v, mask, p, need_weights, count)
    result = og.linear(attended.transpose(0, 1).reshape(length, count, width), out_proj_weight, out_proj_bias)
    if found is not None:
        found = found.unflatten(0, (count, num_heads))
        found = found.mean(1) if average_attn_weights else found
    if not is_batched:
        return result.squeeze(1), None if found is None else found.squeeze(0)
    return result, found


def _expect(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(f"multi_head_attention_forward(): {message}")


def _is_batched(
    query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None, num_heads: int
) -> bool:
    """Whether the inputs have a batch dimension, as they all have to, or none."""
    dims = query.dim()
    _expect(dims in (2, 3), f"query has {dims} dimensions, expected 2, or 3 with a batch")
    _expect(key.dim() == dims and value.dim() == dims, f"key and value have {key.dim()} and {value.dim()} dimensions, expected {dims}")
    if padding is not None:
        _expect(padding.dim() == dims - 1, f"key_padding_mask has {padding.dim()} dimensions, expected {dims - 1}")
    if mask is not None:
        _expect(mask.dim() in (2, 3), f"attn_mask has {mask.dim()} dimensions, expected 2 or 3")
        if dims == 2 and mask.dim() == 3:
            expected = [num_heads, query.shape[0], key.shape[0]]
            _expect(list(mask.shape) == expected, f"attn_mask has shape {list(mask.shape)}, expected {expected}")
    return dims == 3


def _projected(
    inputs: tuple[Tensor, Tensor, Tensor], weights: tuple[Tensor | None, ...] | Tensor | None, bias: Tensor | None
) -> tuple[Tensor, ...]:
    """The projected queries, keys and values: with a weight for all three, or one for each."""
    if isinstance(weights, tuple):
        given = [weight for weight in weights if weight is not None]
        _expect(len(given) == 3, "use_separate_proj_weight needs q_proj_weight, k_proj_weight and v_proj_weight")
    else:
        if weights is None:
            raise AssertionError("multi_head_attention_forward(): in_proj_weight is None, expected a tensor")
        if inputs[0] is inputs[1] and inputs[1] is inputs[2]:
            return tuple(_linear(inputs[0], weights, bias).chunk(3, -1))
        given = list(weights.chunk(3))
    biases = [None] * 3 if bias is None else list(bias.chunk(3))
    return tuple(_linear(x, weight, part) for x, weight, part in zip(inputs, given, biases, strict=True))


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """A projection in the order of memory, which is that of the batch where modules have it first: one product of matrices."""
    swapped = x.transpose(0, 1)
    if x.is_contiguous() or not swapped.is_contiguous():
        return og.linear(x, weight, bias)
    return og.linear(swapped, weight, bias).transpose(0, 1)


def _heads(x: Tensor, num_heads: int) -> Tensor:
    """``(L, N, E)`` as ``(N * num_heads, L, E / num_heads)``."""
    length, count, width = x.shape
    return x.reshape(length, count * num_heads, width // num_heads).transpose(0, 1)


def _static(given: Tensor, name: str, q: Tensor) -> Tensor:
    found, expected = (given.shape[0], given.shape[2]), (q.shape[0], q.shape[2])
    _expect(found == expected, f"{name} has first and last size {found}, expected {expected}")
    return given


def _attended(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float, need_weights: bool, count: int
) -> tuple[Tensor, Tensor | None]:
    """Attention of each head ``(N * num_heads, L, E)``, and its weights if they are asked for."""
    if not need_weights:
        q, k, v = (x.unflatten(0, (count, -1)) for x in (q, k, v))
        if mask is not None:
            mask = mask.unsqueeze(0) if mask.shape[0] == 1 else mask.unflatten(0, (count, -1))
        return scaled_dot_product_attention(q, k, v, mask, p).flatten(0, 1), None
    q, k = q * math.sqrt(1.0 / q.shape[-1]), k.transpose(-2, -1)
    scores = og.bmm(q, k) if mask is None else og.baddbmm(mask, q, k)
    weights = og.softmax(scores, -1)
    if p > 0.0:
        weights = og.dropout(weights, p, True)
    return og.bmm(weights, v), weights


def _per_head(mask: Tensor | None, heads: int, length: int, keys: int) -> Tensor | None:
    """A mask ``(1, L, S)`` or ``(N * num_heads, L, S)``."""
    if mask is None:
        return None
    if tuple(mask.shape) not in ((length, keys), (heads, length, keys)):
        raise RuntimeError(
            f"The shape of attn_mask is {list(mask.shape)}, but should be {[length, keys]} or {[heads, length, keys]}"
        )
    return mask if mask.dim() == 3 else mask.unsqueeze(0)


def _added(mask: Tensor | None, name: str, dtype: _opgrid.dtype) -> Tensor | None:
    """A mask as values to add: minus infinity where it is true."""
    if mask is None or mask.is_floating_point():
        return mask
    _expect(mask.dtype is og.bool, f"only bool and floating types of {name} are supported, found {mask.dtype}")
    return og.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(mask, -math.inf)
