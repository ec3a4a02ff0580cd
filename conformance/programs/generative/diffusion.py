"""A denoising diffusion model (DDPM) of points on a spiral, with time embeddings, EMA of weights and sampling."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

T = 50


def cosine_betas(steps, s=0.008):
    t = torch.linspace(0, steps, steps + 1, dtype=torch.float64) / steps
    alphas_bar = torch.cos((t + s) / (1 + s) * math.pi / 2) ** 2
    alphas_bar = alphas_bar / alphas_bar[0]
    return torch.clip(1 - alphas_bar[1:] / alphas_bar[:-1], 0, 0.999)


class SinusoidalPositionEmbeddings(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, time):
        half = self.dim // 2
        freqs = torch.exp(torch.arange(half, device=time.device) * -(math.log(10000) / (half - 1)))
        args = time[:, None] * freqs[None, :]
        return torch.cat((args.sin(), args.cos()), dim=-1)


class Residual(nn.Module):
    def __init__(self, dim, time_dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.time = nn.Linear(time_dim, 2 * dim)
        self.net = nn.Sequential(nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim))

    def forward(self, x, emb):
        scale, shift = self.time(F.silu(emb)).chunk(2, dim=-1)
        return x + self.net(self.norm(x) * (1 + scale) + shift)


class Denoiser(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.time_mlp = nn.Sequential(SinusoidalPositionEmbeddings(16), nn.Linear(16, dim), nn.GELU(), nn.Linear(dim, dim))
        self.inp = nn.Linear(2, dim)
        self.blocks = nn.ModuleList([Residual(dim, dim) for _ in range(3)])
        self.out = nn.Linear(dim, 2)

    def forward(self, x, t):
        emb = self.time_mlp(t)
        h = self.inp(x)
        for block in self.blocks:
            h = block(h, emb)
        return self.out(h)


class Diffusion(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        betas = cosine_betas(T)
        alphas_bar = torch.cumprod(1 - betas, dim=0)
        for name, value in {
            "betas": betas,
            "sqrt_ab": alphas_bar.sqrt(),
            "sqrt_1mab": (1 - alphas_bar).sqrt(),
            "recip": torch.rsqrt(1 - betas),
            "posterior": betas * (1 - F.pad(alphas_bar[:-1], (1, 0), value=1.0)) / (1 - alphas_bar),
        }.items():
            self.register_buffer(name, value.to(torch.float32), persistent=name == "betas")

    def extract(self, a, t, x):
        return a.gather(-1, t).reshape(t.shape[0], *((1,) * (x.dim() - 1)))

    def loss(self, x0):
        t = torch.randint(0, T, (x0.shape[0],)).long()
        noise = torch.randn_like(x0)
        xt = self.extract(self.sqrt_ab, t, x0) * x0 + self.extract(self.sqrt_1mab, t, x0) * noise
        return F.smooth_l1_loss(self.model(xt, t.float()), noise)

    @torch.no_grad()
    def sample(self, count):
        x = torch.randn(count, 2)
        for i in reversed(range(T)):
            t = torch.full((count,), i, dtype=torch.long)
            eps = self.model(x, t.float())
            mean = self.extract(self.recip, t, x) * (x - self.extract(self.betas, t, x) * eps / self.extract(self.sqrt_1mab, t, x))
            x = mean if i == 0 else mean + self.extract(self.posterior, t, x).sqrt() * torch.randn_like(x)
        return x


@torch.no_grad()
def update_ema(ema, model, decay=0.95):
    for e, p in zip(ema.parameters(), model.parameters()):
        e.mul_(decay).add_(p, alpha=1 - decay)


def main(record):
    torch.manual_seed(1234)
    diffusion = Diffusion(Denoiser())
    ema = copy.deepcopy(diffusion.model).eval().requires_grad_(False)
    optimizer = torch.optim.AdamW(diffusion.parameters(), lr=2e-3)
    for step in range(20):
        theta = torch.rand(64) * 3 * math.pi + 0.5
        x0 = torch.stack((theta * theta.cos(), theta * theta.sin()), dim=1) / 5 + 0.02 * torch.randn(64, 2)
        loss = diffusion.loss(x0)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(diffusion.parameters(), 1.0)
        optimizer.step()
        update_ema(ema, diffusion.model)
        record(step, loss=loss.item(), ema=sum(p.abs().sum() for p in ema.parameters()))
    record("end", keys=list(diffusion.state_dict())[:3], betas=diffusion.betas)
    diffusion.model = ema
    samples = diffusion.sample(32)
    record("end", mean=samples.mean(0), cov=torch.cov(samples.T))
