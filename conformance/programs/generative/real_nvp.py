"""Normalizing flows: coupling layers as transforms of distributions, invertible 1x1 convolutions, and autoregressive masks."""

import torch
import torch.distributions as D
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import constraints, transforms


class AffineCoupling(transforms.Transform):
    domain = constraints.independent(constraints.real, 1)
    codomain = constraints.independent(constraints.real, 1)
    bijective = True

    def __init__(self, mask, net, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.mask, self.net = mask, net

    def _terms(self, x):
        log_scale, shift = self.net(x * self.mask).chunk(2, dim=-1)
        return torch.tanh(log_scale) * (1 - self.mask), shift * (1 - self.mask)

    def _call(self, x):
        log_scale, shift = self._terms(x)
        return x * log_scale.exp() + shift

    def _inverse(self, y):
        log_scale, shift = self._terms(y)
        return (y - shift) * (-log_scale).exp()

    def log_abs_det_jacobian(self, x, y):
        return self._terms(x)[0].sum(-1)


class RealNVP(nn.Module):
    def __init__(self, dim, layers, width=16):
        super().__init__()
        masks = torch.stack([(torch.arange(dim) + k) % 2 for k in range(layers)]).to(torch.get_default_dtype())
        self.register_buffer("masks", masks)
        self.nets = nn.ModuleList(nn.Sequential(nn.Linear(dim, width), nn.ELU(), nn.Linear(width, 2 * dim)) for _ in range(layers))
        self.loc, self.log_scale = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.zeros(dim))
        for net in self.nets:
            nn.init.normal_(net[-1].weight, std=0.01)

    def distribution(self):
        base = D.Independent(D.Normal(self.loc, F.softplus(self.log_scale)), 1)
        return D.TransformedDistribution(base, [AffineCoupling(mask, net, cache_size=1) for mask, net in zip(self.masks, self.nets)])


class InvertibleConv(nn.Module):
    """A matrix over channels by its LU factors, as in Glow."""

    def __init__(self, channels):
        super().__init__()
        weight = torch.linalg.qr(torch.randn(channels, channels))[0]
        P, L, U = torch.linalg.lu(weight)
        self.register_buffer("P", P)
        self.L, self.U = nn.Parameter(L), nn.Parameter(U.triu(1))
        diagonal = U.diagonal()
        self.register_buffer("sign", diagonal.sign())
        self.log_diagonal = nn.Parameter(diagonal.abs().log())

    def weight(self):
        L = self.L.tril(-1) + torch.eye(len(self.L))
        return self.P @ L @ (self.U.triu(1) + torch.diag_embed(self.sign * self.log_diagonal.exp()))

    def forward(self, x):
        y = F.conv2d(x, self.weight()[..., None, None])
        return y, self.log_diagonal.sum() * x.shape[-1] * x.shape[-2]

    def inverse(self, y):
        return F.conv2d(y, torch.linalg.inv(self.weight())[..., None, None])


class ActNorm(nn.Module):
    """An affine map of channels that is initialized by the first batch."""

    def __init__(self, channels):
        super().__init__()
        self.bias, self.logs = (nn.Parameter(torch.zeros(1, channels, 1, 1)) for _ in range(2))
        self.register_buffer("initialized", torch.tensor(False))

    def forward(self, x):
        if not self.initialized:
            with torch.no_grad():
                std, mean = torch.std_mean(x, dim=(0, 2, 3), keepdim=True)
                self.bias.copy_(-mean)
                self.logs.copy_(torch.log(1 / (std + 1e-6)))
                self.initialized.fill_(True)
        return (x + self.bias) * self.logs.exp(), self.logs.sum() * x[0, 0].numel()


class MaskedLinear(nn.Linear):
    def __init__(self, in_degrees, out_degrees, strict=False):
        super().__init__(len(in_degrees), len(out_degrees))
        mask = out_degrees[:, None] > in_degrees if strict else out_degrees[:, None] >= in_degrees
        self.register_buffer("mask", mask.to(self.weight.dtype), persistent=False)

    def forward(self, x):
        return F.linear(x, self.mask * self.weight, self.bias)


def main(record):
    torch.manual_seed(17)
    torch.set_default_dtype(torch.float64)

    def moons(count):
        angle = torch.rand(count) * torch.pi
        upper = torch.rand(count) < 0.5
        points = torch.stack([torch.where(upper, angle.cos(), 1 - angle.cos()), torch.where(upper, angle.sin(), 0.5 - angle.sin())], 1)
        return points + 0.05 * torch.randn(count, 2)

    flow = RealNVP(2, 4)
    optimizer = torch.optim.NAdam(flow.parameters(), lr=1e-2)
    for step in range(20):
        optimizer.zero_grad()
        loss = -flow.distribution().log_prob(moons(64)).mean()
        loss.backward()
        torch.nn.utils.clip_grad_value_(flow.parameters(), 1.0)
        optimizer.step()
        record(step, loss=loss.item(), largest=max(p.grad.abs().max() for p in flow.parameters() if p.grad is not None))
    distribution = flow.distribution()
    samples = distribution.rsample((3,))
    back = samples
    for transform in reversed(distribution.transforms):
        back = transform.inv(back)
    jacobian = torch.autograd.functional.jacobian(lambda x: transforms.ComposeTransform(distribution.transforms)(x), back[0].detach())
    logdet = transforms.ComposeTransform(distribution.transforms).log_abs_det_jacobian(back, samples)
    record("end", samples=samples.detach(), logdet=logdet.detach(), same=torch.allclose(torch.linalg.slogdet(jacobian).logabsdet, logdet[0]))

    conv, norm = InvertibleConv(4), ActNorm(4)
    optimizer = torch.optim.Adamax([*conv.parameters(), *norm.parameters()], lr=1e-2)
    prior = D.Normal(0.0, 1.0)
    for step in range(10):
        image = F.pixel_unshuffle(torch.rand(8, 1, 8, 8) ** 2, 2)
        hidden, first = norm(image)
        hidden, second = conv(hidden)
        loss = -(prior.log_prob(hidden).sum(dim=(1, 2, 3)) + first + second).mean() / image[0].numel()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record(f"glow {step}", loss=loss.item())
    with torch.no_grad():
        record("glow", inverse=torch.allclose(conv.inverse(conv(image)[0]), image), det=torch.linalg.det(conv.weight()), buffers=[n for n, _ in conv.named_buffers()])

    degrees = torch.arange(1, 7), torch.arange(24) % 5 + 1
    made = nn.Sequential(MaskedLinear(degrees[0], degrees[1]), nn.ReLU(), MaskedLinear(degrees[1], degrees[0], strict=True))
    optimizer = torch.optim.RMSprop(made.parameters(), lr=1e-2, momentum=0.5, centered=True)
    for step in range(10):
        bits = torch.bernoulli(torch.full((32, 1), 0.5)).cumsum(1).add(torch.randint(0, 2, (32, 6)).cumsum(1)).remainder(2)
        bernoulli = D.Independent(D.Bernoulli(logits=made(bits)), 1)
        loss = -bernoulli.log_prob(bits).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record(f"made {step}", loss=loss.item())
    ordered = torch.func.jacrev(lambda row: made(row))(bits[0])
    record("made", lower=torch.equal(ordered, ordered.tril(-1)), entropy=bernoulli.entropy().mean(), keys=list(made.state_dict()))

    simplex = D.TransformedDistribution(D.Normal(torch.zeros(3), 1.0), [transforms.AffineTransform(0.2, 0.5), transforms.StickBreakingTransform()])
    sample = simplex.rsample((2,))
    record("bijections", sample=sample, log_prob=simplex.log_prob(sample), shape=tuple(simplex.event_shape))
    for constraint in (constraints.positive, constraints.interval(-1.0, 2.0), constraints.simplex, constraints.lower_cholesky, constraints.less_than(3.0)):
        bijection = D.transform_to(constraint)
        value = bijection(torch.arange(9.0).reshape(3, 3) / 10)
        record(str(constraint), value=value, holds=bool(constraint.check(value).all()), inverse=bijection.inv(value).sum())
