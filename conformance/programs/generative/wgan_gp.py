"""A Wasserstein GAN with a gradient penalty, which differentiates gradients, on a ring of Gaussians."""

import math

import torch
import torch.autograd as autograd
import torch.nn as nn
import torch.optim as optim


class Generator(nn.Module):
    def __init__(self, dim=32, latent=4):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(latent, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 2))
        self.latent = latent

    def forward(self, noise):
        return self.main(noise)


class Critic(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(2, dim), nn.LeakyReLU(0.2), nn.Linear(dim, dim), nn.LayerNorm(dim), nn.Softplus(beta=2.0), nn.Linear(dim, 1)
        )

    def forward(self, x):
        return self.main(x).view(-1)


def ring(count, modes=8, radius=2.0):
    angle = torch.randint(modes, (count,)) * (2 * math.pi / modes)
    return radius * torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(count, 2)


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1).expand(real.size())
    interpolates = alpha * real + (1 - alpha) * fake
    interpolates = autograd.Variable(interpolates, requires_grad=True)
    scores = critic(interpolates)
    gradients = autograd.grad(
        outputs=scores,
        inputs=interpolates,
        grad_outputs=torch.ones(scores.size()),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


def main(record):
    torch.manual_seed(5)
    torch.set_default_dtype(torch.float64)
    generator, critic = Generator(), Critic()
    opt_g = optim.Adam(generator.parameters(), lr=1e-2, betas=(0.0, 0.9))
    opt_d = optim.Adam(critic.parameters(), lr=1e-2, betas=(0.0, 0.9))
    one = torch.tensor(1, dtype=torch.double)
    mone = one * -1
    for step in range(20):
        for p in critic.parameters():
            p.requires_grad = True
        for _ in range(2):
            critic.zero_grad()
            real = ring(48)
            score_real = critic(real).mean()
            score_real.backward(mone)
            with torch.no_grad():
                fake = generator(torch.randn(48, generator.latent))
            score_fake = critic(fake).mean()
            score_fake.backward(one)
            penalty = 0.5 * gradient_penalty(critic, real, fake)
            penalty.backward()
            opt_d.step()
        for p in critic.parameters():
            p.requires_grad = False
        generator.zero_grad()
        score = critic(generator(torch.randn(48, generator.latent))).mean()
        score.backward(mone)
        opt_g.step()
        record(step, wasserstein=(score_real - score_fake).item(), penalty=penalty.item(), score=score.item())
    with torch.no_grad():
        samples = generator(torch.randn(64, generator.latent))
        modes = torch.cdist(samples, ring(16)).min(dim=1)
        record("end", samples=samples[:4], nearest=modes.values.mean(), radius=samples.norm(dim=1).quantile(torch.tensor([0.25, 0.5, 0.75])))
    record("end", weights=[p.norm().item() for p in critic.parameters()])
