"""A transformer that translates between two generated languages: nn.Transformer with masks, the Noam schedule, label smoothing."""

import math

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

PAD, BOS, EOS = 0, 1, 2
SOURCE, TARGET = 14, 16


class PositionalEncoding(nn.Module):
    def __init__(self, emb_size: int, dropout: float, maxlen: int = 50):
        super().__init__()
        den = torch.exp(-torch.arange(0, emb_size, 2) * math.log(10000) / emb_size)
        pos = torch.arange(0, maxlen).reshape(maxlen, 1)
        table = torch.zeros((maxlen, emb_size))
        table[:, 0::2] = torch.sin(pos * den)
        table[:, 1::2] = torch.cos(pos * den)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pos_embedding", table.unsqueeze(-2))

    def forward(self, token_embedding: Tensor):
        return self.dropout(token_embedding + self.pos_embedding[: token_embedding.size(0), :])


class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size: int, emb_size: int):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_size)
        self.emb_size = emb_size

    def forward(self, tokens: Tensor):
        return self.embedding(tokens.long()) * math.sqrt(self.emb_size)


class Seq2SeqTransformer(nn.Module):
    def __init__(self, emb_size=32, nhead=4, layers=2, dropout=0.1):
        super().__init__()
        self.transformer = nn.Transformer(
            d_model=emb_size,
            nhead=nhead,
            num_encoder_layers=layers,
            num_decoder_layers=layers,
            dim_feedforward=64,
            dropout=dropout,
        )
        self.generator = nn.Linear(emb_size, TARGET)
        self.src_tok_emb = TokenEmbedding(SOURCE, emb_size)
        self.tgt_tok_emb = TokenEmbedding(TARGET, emb_size)
        self.positional_encoding = PositionalEncoding(emb_size, dropout)

    def forward(self, src, trg, tgt_mask, src_padding_mask, tgt_padding_mask):
        src_emb = self.positional_encoding(self.src_tok_emb(src))
        tgt_emb = self.positional_encoding(self.tgt_tok_emb(trg))
        outs = self.transformer(
            src_emb, tgt_emb, None, tgt_mask, None, src_padding_mask, tgt_padding_mask, src_padding_mask
        )
        return self.generator(outs)

    def encode(self, src):
        return self.transformer.encoder(self.positional_encoding(self.src_tok_emb(src)))

    def decode(self, tgt, memory, tgt_mask):
        return self.transformer.decoder(self.positional_encoding(self.tgt_tok_emb(tgt)), memory, tgt_mask)


def make_batch(count):
    """The target doubles odd words, and shifts all by two."""
    sources, targets = [], []
    for _ in range(count):
        words = torch.randint(3, SOURCE, (int(torch.randint(2, 6, ())),))
        sources.append(torch.cat([torch.tensor([BOS]), words, torch.tensor([EOS])]))
        doubled = [w + 2 for w in words.tolist() for _ in range(1 + w % 2)]
        targets.append(torch.tensor([BOS, *doubled, EOS]))
    return pad_sequence(sources, padding_value=PAD), pad_sequence(targets, padding_value=PAD)


def greedy_decode(model, src, max_len):
    memory = model.encode(src)
    ys = torch.ones(1, 1).fill_(BOS).type(torch.long)
    for _ in range(max_len - 1):
        mask = nn.Transformer.generate_square_subsequent_mask(ys.size(0))
        out = model.decode(ys, memory, mask).transpose(0, 1)
        _, next_word = torch.max(model.generator(out[:, -1]), dim=1)
        ys = torch.cat([ys, torch.ones(1, 1).type_as(src.data).fill_(next_word.item())], dim=0)
        if next_word.item() == EOS:
            break
    return ys.flatten()


def main(record):
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    model = Seq2SeqTransformer()
    for p in model.parameters():
        if p.dim() > 1:
            nn.init.xavier_uniform_(p)
    loss_fn = torch.nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lr_lambda=lambda step: 32**-0.5 * min((step + 1) ** -0.5, (step + 1) * 10**-1.5)
    )
    model.train()
    for step in range(20):
        src, tgt = make_batch(12)
        tgt_input = tgt[:-1, :]
        mask = model.transformer.generate_square_subsequent_mask(tgt_input.shape[0])
        src_padding, tgt_padding = (src == PAD).transpose(0, 1), (tgt_input == PAD).transpose(0, 1)
        pad = torch.zeros(tgt_padding.shape).masked_fill(tgt_padding, float("-inf"))
        logits = model(src, tgt_input, mask, src_padding, pad)
        optimizer.zero_grad()
        loss = loss_fn(logits.reshape(-1, logits.shape[-1]), tgt[1:, :].reshape(-1))
        loss.backward()
        optimizer.step()
        scheduler.step()
        record(step, loss=loss.item(), lr=scheduler.get_last_lr()[0])
    model.eval()
    with torch.no_grad():
        src, _ = make_batch(1)
        record("end", decoded=greedy_decode(model, src, 12), memory=model.encode(src)[0, 0, :5])
    record("end", norms=[p.norm().item() for p in model.parameters()])
