"""A RealNVP flow of two moons, with torch.distributions for the base, mixtures and transforms."""

import math

import torch
import torch.distributions as D
from torch import nn
from torch.distributions import constraints


class Coupling(D.Transform):
    """Scales and shifts half of the coordinates by a network of the other half."""

    domain = constraints.real_vector
    codomain = constraints.real_vector
    bijective = True

    def __init__(self, net, flip):
        super().__init__(cache_size=1)
        self.net, self.flip = net, flip

    def _params(self, x1):
        log_scale, shift = self.net(x1).chunk(2, dim=-1)
        return torch.tanh(log_scale), shift

    def _split(self, x):
        return tuple(reversed(x.split(1, dim=-1))) if self.flip else x.split(1, dim=-1)

    def _join(self, a, b):
        return torch.cat([b, a] if self.flip else [a, b], dim=-1)

    def _call(self, x):
        a, b = self._split(x)
        log_scale, shift = self._params(a)
        return self._join(a, b * log_scale.exp() + shift)

    def _inverse(self, y):
        a, b = self._split(y)
        log_scale, shift = self._params(a)
        return self._join(a, (b - shift) * (-log_scale).exp())

    def log_abs_det_jacobian(self, x, y):
        a, _ = self._split(x)
        return self._params(a)[0].sum(-1)


class Flow(nn.Module):
    def __init__(self, layers=4, width=16):
        super().__init__()
        self.nets = nn.ModuleList(nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, 2)) for _ in range(layers))
        self.loc = nn.Parameter(torch.zeros(2))
        self.log_scale = nn.Parameter(torch.zeros(2))

    def distribution(self):
        base = D.Independent(D.Normal(self.loc, self.log_scale.exp()), 1)
        return D.TransformedDistribution(base, [Coupling(net, i % 2 == 1) for i, net in enumerate(self.nets)])


def two_moons(count):
    angle = math.pi * torch.rand(count)
    upper = torch.bernoulli(torch.full((count,), 0.5)).bool()
    x = torch.where(upper, angle.cos(), 1 - angle.cos())
    y = torch.where(upper, angle.sin(), 0.5 - angle.sin())
    return torch.stack([x, y], dim=-1) + 0.05 * torch.randn(count, 2)


def main(record):
    torch.manual_seed(8)
    torch.set_default_dtype(torch.float64)
    flow = Flow()
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
    for step in range(20):
        loss = -flow.distribution().log_prob(two_moons(96)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record(step, loss=loss.item(), base=flow.loc.norm().item())
    distribution = flow.distribution()
    sample = distribution.rsample((5,))
    record("end", sample=sample, log_prob=distribution.log_prob(sample), shape=tuple(distribution.event_shape))
    # Transforms that the package brings, and a mixture as a reference.
    weights = D.Categorical(logits=torch.tensor([0.1, 0.7, -0.4]))
    mixture = D.MixtureSameFamily(weights, D.Independent(D.Normal(torch.randn(3, 2), torch.rand(3, 2) + 0.5), 1))
    points = mixture.sample((6,))
    record("end", mixture=mixture.log_prob(points), mean=mixture.mean, variance=mixture.variance)
    squash = D.TransformedDistribution(D.Normal(0.2, 1.3), [D.AffineTransform(0.5, 2.0), D.TanhTransform()])
    record("end", squash=squash.log_prob(torch.tensor([-0.5, 0.1, 0.9])), cdf=squash.cdf(torch.tensor(0.3)))
    entropy = -distribution.log_prob(distribution.sample((64,))).mean()
    record("end", entropy=entropy, stick=D.StickBreakingTransform()(torch.tensor([0.3, -0.2, 0.5])))
