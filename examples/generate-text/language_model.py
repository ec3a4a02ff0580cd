"""Trains a small language model on text files, and exports it with a static cache.

    python language_model.py MODEL.pt2 TEXT…

It reads one character at a time. The cache is in buffers of the program, which each run writes. Beside the model stands MODEL.txt: a prompt
and, in the next line, what torch goes on with when it takes the likeliest character each time.
"""

import sys
from pathlib import Path

import torch
import transformers
from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

POSITIONS = 128
STEPS = 1500
PROMPT = "The operator "


def encoded(text: str) -> torch.Tensor:
    """Printable ASCII from 0 on, everything else as a line break."""
    return torch.tensor([ord(letter) - 32 if " " <= letter <= "~" else 95 for letter in text])


def decoded(symbol: int) -> str:
    return chr(symbol + 32) if symbol < 95 else "\n"


def model() -> transformers.LlamaForCausalLM:
    config = transformers.LlamaConfig(
        vocab_size=96,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=POSITIONS,
        tie_word_embeddings=True,
        use_cache=True,
        attn_implementation="sdpa",
    )
    return transformers.LlamaForCausalLM(config)


def train(network: transformers.LlamaForCausalLM, text: torch.Tensor) -> None:
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=STEPS)
    for step in range(STEPS):
        starts = torch.randint(len(text) - POSITIONS, (16,))
        batch = torch.stack([text[start : start + POSITIONS] for start in starts])
        loss = network(input_ids=batch, labels=batch, use_cache=False).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if (step + 1) % 100 == 0:
            print(f"step {step + 1}  loss {loss.item():.3f}", flush=True)


def main(path: str, *files: str) -> None:
    torch.manual_seed(0)
    network = model()
    train(network, encoded("\n".join(Path(file).read_text() for file in files)))
    network.eval().requires_grad_(False)
    network.generation_config.cache_implementation = "static"
    module = TorchExportableModuleWithStaticCache(network, batch_size=1, max_cache_len=POSITIONS)
    inputs = {"input_ids": torch.zeros(1, 1, dtype=torch.long), "cache_position": torch.zeros(1, dtype=torch.long)}
    program = torch.export.export(module, (), inputs, strict=False)
    torch.export.save(program, path)
    run, text = torch.export.load(path).module(), PROMPT
    symbols = encoded(PROMPT).tolist()
    for position in range(POSITIONS - 1):
        scores = run(input_ids=torch.tensor([[symbols[position]]]), cache_position=torch.tensor([position]))
        if position + 1 == len(symbols):
            symbols.append(scores[0, -1].argmax().item())
            text += decoded(symbols[-1])
    Path(path).with_suffix(".txt").write_text(PROMPT + "\n" + text)


if __name__ == "__main__":
    main(*sys.argv[1:])
