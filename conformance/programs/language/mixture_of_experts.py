"""Blocks with sparse mixtures of experts: top-2 routing, capacity by index_add, a balancing loss, and gradient checkpointing."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


class Expert(nn.Module):
    """A gated feed-forward network."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class MoE(nn.Module):
    def __init__(self, dim, hidden=16, experts=4, top_k=2, noise=0.1):
        super().__init__()
        self.gate = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(Expert(dim, hidden) for _ in range(experts))
        self.top_k, self.noise = top_k, noise

    def forward(self, x):
        shape = x.shape
        x = x.view(-1, shape[-1])
        logits = self.gate(x)
        if self.training:
            logits = logits + self.noise * torch.randn_like(logits)
        weights, chosen = torch.topk(logits, self.top_k, dim=-1)
        weights = F.softmax(weights, dim=-1, dtype=torch.float).type_as(x)
        results = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows, place = torch.where(chosen == i)
            if rows.numel() == 0:
                continue
            results.index_add_(0, rows, weights[rows, place, None] * expert(x[rows]))
        load = torch.zeros(len(self.experts), dtype=x.dtype).scatter_add_(0, chosen.flatten(), torch.ones(chosen.numel(), dtype=x.dtype))
        importance = logits.softmax(-1).mean(0)
        balance = len(self.experts) * torch.sum(importance * load / load.sum())
        return results.view(shape), balance


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(dim), nn.RMSNorm(dim, eps=1e-6)
        self.attention = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.moe = MoE(dim)

    def forward(self, x, mask):
        h = self.norm1(x)
        x = x + self.attention(h, h, h, attn_mask=mask, need_weights=False)[0]
        y, balance = self.moe(self.norm2(x))
        return x + y, balance


class Model(nn.Module):
    def __init__(self, vocabulary=20, dim=16, layers=2, remat=True):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(layers))
        self.tail = nn.Sequential(nn.Linear(dim, dim), nn.Mish(), nn.Linear(dim, dim), nn.Dropout(0.2))
        self.head = nn.Linear(dim, vocabulary)
        self.remat = remat

    def forward(self, tokens):
        x = self.embed(tokens)
        mask = torch.triu(torch.ones(tokens.size(1), tokens.size(1), dtype=torch.bool), diagonal=1)
        balance = 0.0
        for block in self.blocks:
            if self.remat and self.training:
                x, one = checkpoint(block, x, mask, use_reentrant=False)
            else:
                x, one = block(x, mask)
            balance = balance + one
        x = checkpoint_sequential(self.tail, 2, x, use_reentrant=False) if self.remat else self.tail(x)
        return self.head(x), balance


def train(model, steps, record=None):
    torch.manual_seed(4)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    model.train()
    for step in range(steps):
        tokens = (torch.randint(20, (6, 1)) + torch.arange(9) * torch.randint(1, 4, (6, 1))) % 20
        logits, balance = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        (loss + 0.01 * balance).backward()
        optimizer.step()
        if record:
            record(step, loss=loss.item(), balance=balance.item())
    return loss.item()


def main(record):
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(21)
    model = Model()
    initial = {k: v.clone() for k, v in model.state_dict().items()}
    last = train(model, 20, record)
    plain = Model(remat=False)
    record("end", loaded=str(plain.load_state_dict(initial)), same=abs(train(plain, 20) - last) < 1e-9)
    model.eval()
    with torch.no_grad():
        record("end", logits=model(torch.arange(8).unsqueeze(0))[0][0, -1])
