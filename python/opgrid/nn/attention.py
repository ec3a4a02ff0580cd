"""Multi-head attention."""

from __future__ import annotations

import math

import opgrid as og

from .. import _opgrid
from .._opgrid import Tensor
from . import functional as F
from . import init
from .linear import Linear
from .module import Module
from .parameter import Parameter


class MultiheadAttention(Module):
    """Attention with ``num_heads`` heads over ``embed_dim`` features, with projections before and after.

    Inputs are ``(L, N, E)``, with ``batch_first`` ``(N, L, E)``, or ``(L, E)`` without a batch. Keys and values may
    have ``kdim`` and ``vdim`` features instead; then each input has a projection matrix of its own.
    """

    in_proj_weight: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None
    out_proj: Linear

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got {embed_dim} and {num_heads}")
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim must be divisible by num_heads; found {embed_dim} and {num_heads}")
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.add_zero_attn = add_zero_attn

        def made(*sizes: int) -> Parameter:
            return Parameter(og.empty(sizes, device=device, dtype=dtype))

        is_packed = self.kdim == embed_dim and self.vdim == embed_dim
        self.register_parameter("in_proj_weight", made(3 * embed_dim, embed_dim) if is_packed else None)
        self.register_parameter("q_proj_weight", None if is_packed else made(embed_dim, embed_dim))
        self.register_parameter("k_proj_weight", None if is_packed else made(embed_dim, self.kdim))
        self.register_parameter("v_proj_weight", None if is_packed else made(embed_dim, self.vdim))
        self.register_parameter("in_proj_bias", made(3 * embed_dim) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.register_parameter("bias_k", made(1, 1, embed_dim) if add_bias_kv else None)
        self.register_parameter("bias_v", made(1, 1, embed_dim) if add_bias_kv else None)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None and self.out_proj.bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The result, and the attention weights: averaged over heads, of each head, or ``None``.

        ``key_padding_mask`` ``(N, S)`` and ``attn_mask`` ``(L, S)`` or ``(N * num_heads, L, S)`` are true where
        attention is masked, or are added to the scores. ``is_causal`` says that ``attn_mask`` is the causal one.
        """
        if query.ndim not in (2, 3) or not query.ndim == key.ndim == value.ndim:
            raise ValueError(
                "MultiheadAttention: expected query, key and value to have 2 dimensions, or 3 with a batch; found "
                f"{query.ndim}, {key.ndim} and {value.ndim}"
            )
        if query.shape[-1] != self.embed_dim:
            raise ValueError(f"was expecting embedding dimension of {self.embed_dim}, but got {query.shape[-1]}")
        if is_causal and attn_mask is None:
            raise ValueError("need attn_mask if specifying the is_causal hint")
        is_batched = query.ndim == 3
        q, k, v = self._projected(query, key, value)
        if not is_batched:
            q, k, v = (x.unsqueeze(0) for x in (q, k, v))
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            q, k, v = (x.transpose(0, 1) for x in (q, k, v))
        padding, mask = _added(key_padding_mask, q.dtype), _added(attn_mask, q.dtype)
        result, weights = self._attended(q, k, v, padding, mask, need_weights)
        result = self.out_proj(result)
        if weights is not None:
            weights = weights.mean(1) if average_attn_weights else weights
        if not is_batched:
            return result.squeeze(0), None if weights is None else weights.squeeze(0)
        return (result if self.batch_first else result.transpose(0, 1)), weights

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        """The projected queries, keys and values."""
        if self.in_proj_weight is not None and query is key and key is value:
            return tuple(F.linear(query, self.in_proj_weight, self.in_proj_bias).chunk(3, -1))
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        if self.in_proj_weight is not None:
            weights = tuple(self.in_proj_weight.chunk(3))
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)  # type: ignore[assignment]
        inputs = (query, key, value)
        return tuple(F.linear(x, weight, bias) for x, weight, bias in zip(inputs, weights, biases, strict=True))

    def _attended(
        self, q: Tensor, k: Tensor, v: Tensor, padding: Tensor | None, mask: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Attention of each head, concatenated; all inputs are ``(N, L, E)``."""
        count, length, _ = q.shape
        more = 0
        if self.bias_k is not None and self.bias_v is not None:
            k = og.cat([k, self.bias_k.expand(count, 1, -1)], 1)
            v = og.cat([v, self.bias_v.expand(count, 1, -1)], 1)
            more += 1
        if self.add_zero_attn:
            zeros = og.zeros((count, 1, self.embed_dim), dtype=k.dtype, device=k.device)
            k, v = og.cat([k, zeros], 1), og.cat([v, zeros], 1)
            more += 1
        q, k, v = (x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2) for x in (q, k, v))
        bias = self._bias(padding, mask, count, length, k.shape[2] - more)
        if bias is not None and more:
            bias = F.pad(bias, (0, more))
        p = self.dropout if self.training else 0.0
        if not need_weights:
            result = F.scaled_dot_product_attention(q, k, v, bias, p)
            return result.transpose(1, 2).flatten(2), None
        scores = (q * math.sqrt(1.0 / self.head_dim)) @ k.transpose(-2, -1)
        weights = F.softmax(scores if bias is None else scores + bias, -1)
        if p > 0.0:
            weights = F.dropout(weights, p)
        return (weights @ v).transpose(1, 2).flatten(2), weights

    def _bias(self, padding: Tensor | None, mask: Tensor | None, count: int, length: int, keys: int) -> Tensor | None:
        """What is added to the scores ``(N, num_heads, L, S)``."""
        heads = self.num_heads
        if mask is not None:
            per_head = (count * heads, length, keys)
            if tuple(mask.shape) not in ((length, keys), per_head):
                raise ValueError(
                    f"The shape of attn_mask is {list(mask.shape)}, but should be {[length, keys]} or {list(per_head)}"
                )
            mask = mask if mask.ndim == 2 else mask.view(count, heads, length, keys)
        if padding is None:
            return mask
        if tuple(padding.shape) != (count, keys):
            raise ValueError(f"The shape of key_padding_mask is {list(padding.shape)}, but should be {[count, keys]}")
        padding = padding.view(count, 1, 1, keys)
        return padding if mask is None else mask + padding


def _added(mask: Tensor | None, dtype: _opgrid.dtype) -> Tensor | None:
    """A mask as values to add: minus infinity where it is true."""
    if mask is None or mask.is_floating_point():
        return mask
    if mask.dtype is not og.bool:
        raise TypeError(f"only bool and floating types of masks are supported, found {mask.dtype}")
    return og.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(mask, -math.inf)
