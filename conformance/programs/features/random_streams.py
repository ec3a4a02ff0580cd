"""Streams of random numbers: generators and their states, forks, samplers, masks of dropout that repeat, and every way to draw."""

import random

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, RandomSampler, SubsetRandomSampler, TensorDataset, WeightedRandomSampler, random_split
from torch.utils.checkpoint import checkpoint


def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True


class ConsistentDropout(torch.nn.Module):
    """Dropout whose mask is kept until a new one is asked for."""

    def __init__(self, p):
        super().__init__()
        self.p, self.mask = p, None

    def forward(self, x):
        if not self.training:
            return x
        if self.mask is None or self.mask.shape != x.shape:
            self.mask = torch.empty_like(x).bernoulli_(1 - self.p).div_(1 - self.p)
        return x * self.mask


def main(record):
    seed_all(1234)
    g = torch.Generator().manual_seed(2147483647)
    record("draws", uniform=torch.rand(3, generator=g), normal=torch.randn(5, generator=g), ints=torch.randint(-3, 9, (6,), generator=g), perm=torch.randperm(7, generator=g))
    kept = g.get_state()
    first = torch.empty(4).normal_(1.0, 2.0, generator=g)
    other = torch.Generator()
    other.set_state(kept)
    record("state", same=torch.equal(first, torch.empty(4).normal_(1.0, 2.0, generator=other)), seed=g.initial_seed(), bytes=kept.numel(), dtype=str(kept.dtype).split(".")[1])
    clone = g.clone_state() if hasattr(g, "clone_state") else other
    record("state", clone=torch.equal(torch.rand(3, generator=clone), torch.rand(3, generator=g)))
    p = torch.tensor([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
    record("multinomial", with_replacement=torch.multinomial(p, 6, replacement=True, generator=g), without=torch.multinomial(p, 3, generator=g))
    x = torch.zeros(5, dtype=torch.float64)
    for name, args in {"uniform_": (-1, 1), "normal_": (2, 3), "exponential_": (1.5,), "geometric_": (0.3,), "log_normal_": (0, 1), "cauchy_": (), "random_": (10,), "bernoulli_": (0.4,)}.items():
        record(name, values=getattr(x.clone(), name)(*args, generator=g))
    record("functions", poisson=torch.poisson(torch.tensor([1.0, 5.0, 30.0]), generator=g), bernoulli=torch.bernoulli(p, generator=g), normal=torch.normal(p, 0.1, generator=g), pair=torch.normal(0.0, 1.0, (2, 2)))
    record("functions", binomial=torch.binomial(torch.tensor([10.0, 4.0]), torch.tensor([0.5, 0.9])), like=torch.rand_like(p), ints=torch.randint_like(p, 5), half=torch.randn(3, dtype=torch.bfloat16).float(), cplx=torch.randn(2, dtype=torch.cfloat))

    state = torch.random.get_rng_state()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        inside = torch.rand(2)
    after = torch.rand(2)
    torch.random.set_rng_state(state)
    record("fork", inside=inside, after=torch.equal(after, torch.rand(2)), initial=torch.initial_seed(), python=random.random(), numpy=float(np.random.rand()))

    w = torch.randn(6, 6, requires_grad=True)

    def block(x):
        return F.dropout(torch.tanh(x @ w), 0.4, training=True)

    torch.manual_seed(77)
    plain = torch.autograd.grad(block(block(torch.ones(2, 6))).sum(), w)[0]
    torch.manual_seed(77)
    saved = torch.autograd.grad(checkpoint(block, checkpoint(block, torch.ones(2, 6), use_reentrant=False), use_reentrant=False).sum(), w)[0]
    record("checkpoint", same=torch.allclose(plain, saved), grad=plain[0])

    dropout = ConsistentDropout(0.5)
    a, b = dropout(torch.ones(4)), dropout(torch.full((4,), 2.0))
    record("dropout", same=torch.equal(a * 2, b), kinds=[F.dropout1d(torch.ones(1, 3, 2), 0.5), F.alpha_dropout(torch.ones(3), 0.5, True), F.feature_alpha_dropout(torch.ones(1, 3, 2), 0.5, True)][0], rrelu=F.rrelu(-torch.ones(3), training=True), gumbel=F.gumbel_softmax(torch.zeros(2, 3), tau=0.7, hard=True))
    data = TensorDataset(torch.arange(12))
    loaders = {
        "shuffle": DataLoader(data, batch_size=5, shuffle=True, generator=torch.Generator().manual_seed(5)),
        "weighted": DataLoader(data, batch_size=4, sampler=WeightedRandomSampler(torch.linspace(0, 1, 12), 8, generator=g)),
        "subset": DataLoader(data, batch_size=3, sampler=SubsetRandomSampler([1, 3, 5, 7], generator=g)),
        "replaced": DataLoader(data, sampler=RandomSampler(data, replacement=True, num_samples=5, generator=g), batch_size=None),
    }
    for name, loader in loaders.items():
        for epoch in range(2):
            record(f"{name} {epoch}", order=[int(i) for (batch,) in loader for i in batch.reshape(-1)])
    record("split", parts=[list(part.indices) for part in random_split(data, [0.5, 0.3, 0.2], generator=torch.Generator().manual_seed(1))])
    seeds = [torch.seed() != torch.initial_seed() - 1, torch.manual_seed(9).initial_seed(), torch.default_generator.initial_seed()]
    record("end", seeds=seeds, next=torch.rand(2))
    total = torch.zeros(())
    for step in range(20):
        noise = torch.randn(100, 3) @ torch.diag(torch.tensor([1.0, 2.0, 0.5])) + torch.empty(3).uniform_(-0.1, 0.1)
        total = total + noise.std(0).prod()
        record(step, moments=torch.stack(torch.std_mean(noise, 0)), total=total)
