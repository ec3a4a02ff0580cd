"""Blocks of GPT-2's shape that write one token after the other, with the keys and values of those before it in a cache."""

from __future__ import annotations

from typing import Any

ABOUT = "2 blocks, 192 wide, 16 tokens at once and 16 one by one"
BLOCKS, WIDTH, HEADS, WORDS = 2, 192, 6, 1000
PROMPT, MORE = 16, 16


def module() -> Any:
    import torch
    from torch import nn
    from torch.nn import functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before = nn.LayerNorm(WIDTH)
            self.projection = nn.Linear(WIDTH, 3 * WIDTH)
            self.out = nn.Linear(WIDTH, WIDTH)
            self.between = nn.LayerNorm(WIDTH)
            self.wide = nn.Linear(WIDTH, 4 * WIDTH)
            self.narrow = nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            batch, count, _ = x.shape
            parts = self.projection(self.before(x)).split(WIDTH, -1)
            q, k, v = (part.view(batch, count, HEADS, -1).transpose(1, 2) for part in parts)
            attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(attended.transpose(1, 2).reshape(batch, count, WIDTH))
            return x + self.narrow(functional.gelu(self.wide(self.between(x)), approximate="tanh"))

    class Writer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(WORDS, WIDTH)
            self.positions = nn.Embedding(PROMPT + MORE, WIDTH)
            self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
            self.norm = nn.LayerNorm(WIDTH)

        def forward(self, tokens: Any) -> Any:
            """All at once, without a cache: the answer to the whole text says what it is for each part of it."""
            x = self.words(tokens) + self.positions(torch.arange(tokens.shape[1]))
            for block in self.blocks:
                x = block(x)
            return functional.linear(self.norm(x), self.words.weight)

    return Writer()


def inputs(torch: Any) -> list[Any]:
    return [torch.randint(0, WORDS, (2, PROMPT + MORE))]


def answer(m: Any, w: dict[str, Any], tokens: Any) -> Any:
    aten = m.ops.aten
    cache: list[tuple[Any, Any] | None] = [None] * BLOCKS

    def norm(x: Any, name: str) -> Any:
        return aten.layer_norm(x, [WIDTH], w[f"{name}.weight"], w[f"{name}.bias"])

    def linear(x: Any, name: str) -> Any:
        return aten.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def part(start: int, end: int) -> Any:
        """The answer to the tokens from `start` to `end`, where those before them are in the cache."""
        batch, count = tokens.shape[0], end - start
        x = aten.embedding(w["words.weight"], tokens[:, start:end])
        x = x + aten.embedding(w["positions.weight"], m.arange(start, end))
        for number in range(BLOCKS):
            name = f"blocks.{number}"
            parts = linear(norm(x, f"{name}.before"), f"{name}.projection").split(WIDTH, -1)
            q, k, v = (one.reshape(batch, count, HEADS, WIDTH // HEADS).transpose(1, 2) for one in parts)
            if (known := cache[number]) is not None:
                k, v = m.cat([known[0], k], 2), m.cat([known[1], v], 2)
            cache[number] = (k, v)
            attended = aten.scaled_dot_product_attention(q, k, v, None, 0.0, count > 1)
            x = x + linear(attended.transpose(1, 2).reshape(batch, count, WIDTH), f"{name}.out")
            wide = aten.gelu(linear(norm(x, f"{name}.between"), f"{name}.wide"), approximate="tanh")
            x = x + linear(wide, f"{name}.narrow")
        return aten.linear(norm(x, "norm"), w["words.weight"])

    steps = [(0, PROMPT), *((at, at + 1) for at in range(PROMPT, PROMPT + MORE))]
    return m.cat([part(start, end) for start, end in steps], 1)
