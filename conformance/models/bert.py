"""An encoder of BERT's shape: 6 layers, 384 wide, 12 heads, with a mask of padding."""

from __future__ import annotations

from typing import Any

ABOUT = "encoder of 6 layers, 384 wide, 2 sequences of 64 tokens"
LAYERS, WIDTH, HEADS, TOKENS = 6, 384, 12, 64
EPS = 1e-12


def module() -> Any:
    import torch
    from torch import nn

    # Otherwise torch takes operators of its own in one step for a whole layer.
    torch.backends.mha.set_fastpath_enabled(False)

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(30522, WIDTH, padding_idx=0)
            self.positions = nn.Embedding(512, WIDTH)
            self.kinds = nn.Embedding(2, WIDTH)
            self.norm = nn.LayerNorm(WIDTH, eps=EPS)
            layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, 0.1, "gelu", EPS, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
            self.pooler = nn.Linear(WIDTH, WIDTH)

        def forward(self, tokens: Any, kinds: Any) -> Any:
            positions = torch.arange(tokens.shape[1])
            x = self.norm(self.words(tokens) + self.positions(positions) + self.kinds(kinds))
            x = self.encoder(x, src_key_padding_mask=tokens == 0)
            return torch.cat([x, self.pooler(x[:, :1]).tanh()], 1)

    return Encoder()


def inputs(torch: Any) -> list[Any]:
    tokens = torch.randint(1, 30522, (2, TOKENS))
    tokens[1, 40:] = 0
    return [tokens, torch.randint(0, 2, (2, TOKENS))]


def answer(m: Any, w: dict[str, Any], tokens: Any, kinds: Any) -> Any:
    aten = m.ops.aten
    batch, count = tokens.shape

    def norm(x: Any, name: str) -> Any:
        return aten.layer_norm(x, [WIDTH], w[f"{name}.weight"], w[f"{name}.bias"], EPS)

    def linear(x: Any, name: str) -> Any:
        return aten.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def heads(x: Any) -> Any:
        return x.reshape(batch, count, HEADS, WIDTH // HEADS).transpose(1, 2)

    embedded = aten.embedding(w["words.weight"], tokens, 0) + aten.embedding(w["kinds.weight"], kinds)
    x = norm(embedded + aten.embedding(w["positions.weight"], m.arange(count)), "norm")
    is_word = (tokens != 0).reshape(batch, 1, 1, count)
    for layer in range(LAYERS):
        name = f"encoder.layers.{layer}"
        projected = aten.linear(x, w[f"{name}.self_attn.in_proj_weight"], w[f"{name}.self_attn.in_proj_bias"])
        q, k, v = (heads(part) for part in projected.chunk(3, -1))
        attended = aten.scaled_dot_product_attention(q, k, v, is_word)
        attended = attended.transpose(1, 2).reshape(batch, count, WIDTH)
        x = norm(x + linear(attended, f"{name}.self_attn.out_proj"), f"{name}.norm1")
        inner = aten.gelu(linear(x, f"{name}.linear1"))
        x = norm(x + linear(inner, f"{name}.linear2"), f"{name}.norm2")
    return m.cat([x, linear(x[:, :1], "pooler").tanh()], 1)
