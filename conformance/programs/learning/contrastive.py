"""Contrastive learning: SimCLR's loss for two views of a picture, CLIP's for pictures and captions, and a memory queue."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 12, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(12),
            nn.ReLU(inplace=True),
            nn.Conv2d(12, 24, 3, stride=2, padding=1, dilation=1),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(start_dim=1),
        )
        self.projector = nn.Sequential(nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, dim, bias=False))

    def forward(self, x):
        return F.normalize(self.projector(self.backbone(x)), dim=-1)


class TextEncoder(nn.Module):
    def __init__(self, vocabulary=20, dim=16):
        super().__init__()
        self.token_embedding = nn.Embedding(vocabulary, dim)
        self.positional = nn.Parameter(torch.empty(5, dim))
        layer = nn.TransformerEncoderLayer(dim, nhead=2, dim_feedforward=32, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.transformer = nn.TransformerEncoder(layer, num_layers=1, norm=nn.LayerNorm(dim), enable_nested_tensor=False)
        nn.init.normal_(self.positional, std=0.01)

    def forward(self, tokens):
        x = self.transformer(self.token_embedding(tokens) + self.positional)
        return F.normalize(x[torch.arange(x.shape[0]), tokens.argmax(dim=-1)], p=2, dim=1)


def augment(x):
    """Color jitter, a flip, noise and a random crop that is scaled back."""
    brightness = 1 + 0.4 * (torch.rand(x.size(0), 1, 1, 1) - 0.5)
    x = torch.where(torch.rand(x.size(0), 1, 1, 1) > 0.5, x.flip(3), x) * brightness
    top, left = torch.randint(0, 4, (2,)).tolist()
    x = x[:, :, top : top + 12, left : left + 12]
    x = F.interpolate(x, size=(16, 16), mode="bilinear", align_corners=False)
    theta = torch.tensor([[math.cos(0.1), -math.sin(0.1), 0.0], [math.sin(0.1), math.cos(0.1), 0.0]])
    grid = F.affine_grid(theta.expand(x.size(0), 2, 3), x.size(), align_corners=False)
    return F.grid_sample(x, grid, padding_mode="border", align_corners=False) + 0.05 * torch.randn_like(x)


def nt_xent(a, b, temperature=0.5):
    n = a.size(0)
    z = torch.cat([a, b])
    similarity = z @ z.t() / temperature
    similarity.fill_diagonal_(-torch.inf)
    targets = torch.arange(2 * n).roll(n)
    return F.cross_entropy(similarity, targets)


def clip_loss(images, texts, scale):
    logits = scale * images @ texts.t()
    labels = torch.arange(logits.shape[0], device=logits.device)
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


class Queue:
    """Keys of earlier batches, as MoCo keeps them."""

    def __init__(self, size, dim):
        self.keys = F.normalize(torch.randn(dim, size), dim=0)
        self.pointer = 0

    def push(self, keys):
        index = (self.pointer + torch.arange(len(keys))) % self.keys.size(1)
        self.keys[:, index] = keys.T
        self.pointer = int((index[-1] + 1) % self.keys.size(1))


def main(record):
    torch.manual_seed(13)
    model, text = Encoder(), TextEncoder()
    momentum, queue = copy.deepcopy(model), Queue(40, 16)
    scale = nn.Parameter(torch.ones([]) * math.log(1 / 0.07))
    optimizer = torch.optim.AdamW([*model.parameters(), *text.parameters(), scale], lr=3e-3)
    prototypes = torch.rand(8, 3, 16, 16)
    for step in range(20):
        labels = torch.randperm(8)
        images = prototypes[labels] + 0.05 * torch.randn(8, 3, 16, 16)
        captions = torch.stack([labels + 2, (labels * 3) % 7, (labels * 5) % 11, torch.full_like(labels, 19), torch.zeros_like(labels)], dim=1)
        a, b = model(augment(images)), model(augment(images))
        with torch.no_grad():
            for slow, fast in zip(momentum.parameters(), model.parameters()):
                slow.data = slow.data * 0.9 + fast.data * 0.1
            keys = momentum(augment(images))
        positive = torch.einsum("nc,nc->n", a, keys).unsqueeze(-1)
        negative = torch.einsum("nc,ck->nk", a, queue.keys.clone().detach())
        moco = F.cross_entropy(torch.cat([positive, negative], dim=1) / 0.2, torch.zeros(8, dtype=torch.long))
        clip = clip_loss(a, text(captions), scale.exp())
        simclr = nt_xent(a, b)
        optimizer.zero_grad()
        (simclr + clip + 0.5 * moco).backward()
        optimizer.step()
        queue.push(keys)
        with torch.no_grad():
            scale.clamp_(0, math.log(100))
        record(step, simclr=simclr.item(), clip=clip.item(), moco=moco.item(), scale=scale.item())
    model.eval(), text.eval()
    with torch.no_grad():
        z = model(prototypes)
        uniformity = torch.pdist(z).pow(2).mul(-2).exp().mean().log()
        triplet = F.triplet_margin_loss(z[:-2], z[1:-1], z[2:], margin=0.3)
        record("end", similarity=(z @ text(captions).T)[0], uniformity=uniformity, triplet=triplet)
