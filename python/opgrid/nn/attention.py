"""Multi-head attention."""

from __future__ import annotations

import opgrid as og

from .. import _opgrid
from .._opgrid import Tensor
from . import functional as F
from . import init
from .linear import Linear
from .module import Module
from .parameter import Parameter


class NonDynamicallyQuantizableLinear(Linear):
    """The projection of the results, under the name that torch shows."""


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
            # torch raises an assertion here.
            raise AssertionError(f"embed_dim must be divisible by num_heads; found {embed_dim} and {num_heads}")
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
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
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
        if is_causal and attn_mask is None:
            raise RuntimeError("MultiheadAttention: is_causal says what attn_mask is; expected attn_mask as well")
        swaps = self.batch_first and query.dim() == 3
        if swaps and query is key and key is value:
            # One object stays one, which is then projected once.
            query = key = value = query.transpose(0, 1)
        elif swaps:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        result, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            self.in_proj_weight is None,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return result.transpose(0, 1) if swaps else result, weights
