"""Scores of a mixture by denoising at several levels of noise, sampled by annealed Langevin dynamics and by a predictor and a corrector."""

import copy
import math

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical, MixtureSameFamily, MultivariateNormal


class GaussianFourierProjection(nn.Module):
    def __init__(self, embed_dim, scale=30.0):
        super().__init__()
        self.W = nn.Parameter(torch.randn(embed_dim // 2) * scale, requires_grad=False)

    def forward(self, x):
        x_proj = x[:, None] * self.W[None, :] * 2 * np.pi
        return torch.cat([torch.sin(x_proj), torch.cos(x_proj)], dim=-1)


class ScoreNet(nn.Module):
    def __init__(self, marginal_prob_std, dim=2, width=32):
        super().__init__()
        self.embed = nn.Sequential(GaussianFourierProjection(8, scale=2.0), nn.Linear(8, width), nn.SiLU())
        self.first, self.hidden, self.last = nn.Linear(dim, width), nn.ModuleList(nn.Linear(width, width) for _ in range(2)), nn.Linear(width, dim)
        self.norms = nn.ModuleList(nn.GroupNorm(4, width) for _ in range(2))
        self.marginal_prob_std = marginal_prob_std

    def forward(self, x, t):
        embed = self.embed(t)
        h = self.first(x)
        for layer, norm in zip(self.hidden, self.norms):
            h = h + torch.nn.functional.silu(norm(layer(h) + embed))
        return self.last(h) / self.marginal_prob_std(t)[:, None]


def marginal_prob_std(t, sigma=5.0):
    return torch.sqrt((sigma ** (2 * t) - 1.0) / 2.0 / math.log(sigma))


def diffusion_coeff(t, sigma=5.0):
    return torch.as_tensor(sigma) ** t


def loss_fn(model, x, eps=1e-3):
    random_t = torch.rand(x.shape[0], device=x.device) * (1.0 - eps) + eps
    z = torch.randn_like(x)
    std = marginal_prob_std(random_t)
    perturbed_x = x + z * std[:, None]
    score = model(perturbed_x, random_t)
    return torch.mean(torch.sum((score * std[:, None] + z) ** 2, dim=(1,)))


def sliced_score_loss(score, x, slices=4):
    """The loss of slices, with a product of the Jacobian by vmap of jvp."""

    def one(x, v):
        value, product = torch.func.jvp(score, (x[None],), (v[None],))
        return 0.5 * (value[0] @ v) ** 2 + product[0] @ v

    v = torch.randn(slices, *x.shape)
    return torch.vmap(torch.vmap(one), in_dims=(None, 0), randomness="different")(x, v).mean()


class ExponentialMovingAverage:
    def __init__(self, parameters, decay):
        self.decay, self.num_updates = decay, 0
        self.shadow_params = [p.clone().detach() for p in parameters if p.requires_grad]

    def update(self, parameters):
        self.num_updates += 1
        decay = min(self.decay, (1 + self.num_updates) / (10 + self.num_updates))
        with torch.no_grad():
            for s_param, param in zip(self.shadow_params, [p for p in parameters if p.requires_grad]):
                s_param.sub_((1.0 - decay) * (s_param - param))

    def copy_to(self, parameters):
        for s_param, param in zip(self.shadow_params, [p for p in parameters if p.requires_grad]):
            param.data.copy_(s_param.data)


@torch.no_grad()
def predictor_corrector(model, count, steps=20, snr=0.16, eps=1e-2):
    x = torch.randn(count, 2) * marginal_prob_std(torch.ones(count))[:, None]
    time_steps = np.linspace(1.0, eps, steps)
    step_size = time_steps[0] - time_steps[1]
    for time_step in time_steps:
        batch_time_step = torch.ones(count) * time_step
        grad = model(x, batch_time_step)
        grad_norm = torch.norm(grad.reshape(grad.shape[0], -1), dim=-1).mean()
        noise_norm = np.sqrt(np.prod(x.shape[1:]))
        langevin_step_size = 2 * (snr * noise_norm / grad_norm) ** 2
        x = x + langevin_step_size * grad + torch.sqrt(2 * langevin_step_size) * torch.randn_like(x)
        g = diffusion_coeff(batch_time_step)
        x_mean = x + (g**2)[:, None] * model(x, batch_time_step) * step_size
        x = x_mean + torch.sqrt(g**2 * step_size)[:, None] * torch.randn_like(x)
    return x_mean


def main(record):
    torch.manual_seed(2)
    torch.set_default_dtype(torch.float64)
    angles = torch.arange(4) * (2 * torch.pi / 4)
    means = 2 * torch.stack((angles.cos(), angles.sin()), dim=1)
    target = MixtureSameFamily(Categorical(logits=torch.tensor([0.0, 0.5, 1.0, 0.0])), MultivariateNormal(means, 0.05 * torch.eye(2).expand(4, 2, 2)))
    model = ScoreNet(marginal_prob_std)
    ema = ExponentialMovingAverage(model.parameters(), 0.95)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.ChainedScheduler(
        [torch.optim.lr_scheduler.LinearLR(optimizer, 0.2, total_iters=5), torch.optim.lr_scheduler.PolynomialLR(optimizer, 40, power=2)]
    )
    for step in range(20):
        x = target.sample((64,))
        loss = loss_fn(model, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        ema.update(model.parameters())
        record(step, loss=loss.item(), lr=schedule.get_last_lr()[0], sample=x[0])
    averaged = copy.deepcopy(model)
    ema.copy_to(averaged.parameters())
    samples = predictor_corrector(averaged, 16)
    record("samples", samples=samples[:3], likelihood=target.log_prob(samples).clamp(min=-50).mean(), true=target.log_prob(means))

    # An exact score by autograd, and annealed Langevin dynamics with it.
    points = torch.randn(8, 2, requires_grad=True)
    (score,) = torch.autograd.grad(target.log_prob(points).sum(), points)
    record("exact", score=score[:2], variance=target.variance, mean=target.mean)
    x = torch.empty(8, 2).uniform_(-3, 3)
    for level, sigma in enumerate(torch.logspace(0, -1, 5)):
        smoothed = MixtureSameFamily(target.mixture_distribution, MultivariateNormal(means, (0.05 + sigma**2) * torch.eye(2).expand(4, 2, 2)))
        for _ in range(4):
            x = x.detach().requires_grad_()
            (score,) = torch.autograd.grad(smoothed.log_prob(x).sum(), x)
            x = x + 0.1 * sigma**2 * score + (0.2 * sigma**2).sqrt() * torch.randn_like(x)
        record(f"langevin {level}", x=x.detach()[0], density=smoothed.log_prob(x.detach()).mean())
    t = torch.full((8,), 0.5)
    sliced = sliced_score_loss(lambda row: model(row, t[:1]), target.sample((8,)))
    record("end", sliced=sliced, gradient=torch.autograd.grad(sliced, model.first.weight)[0].norm())
