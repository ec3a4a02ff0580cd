"""Bayesian models by variational inference: regression by the ELBO, counts with a Gamma posterior, and conjugate updates."""

import torch
import torch.distributions as dist
from torch import nn
from torch.distributions import constraints, kl_divergence, transform_to

# torch takes the derivative of Gamma's samples from an approximation, which is up to 6e-4 off; opgrid computes it.
TOLERANCE = 1e-3


class BayesianLinear(nn.Module):
    """A layer whose weights are normal, with the local reparameterization."""

    def __init__(self, in_features, out_features, prior_scale=1.0):
        super().__init__()
        self.mu = nn.Parameter(0.1 * torch.randn(out_features, in_features))
        self.rho = nn.Parameter(torch.full((out_features, in_features), -3.0))
        self.prior_scale = prior_scale

    @property
    def posterior(self):
        return dist.Normal(self.mu, nn.functional.softplus(self.rho))

    def kl(self):
        return kl_divergence(self.posterior, dist.Normal(0.0, self.prior_scale)).sum()

    def forward(self, x):
        q = self.posterior
        mean, variance = x @ q.mean.T, x.pow(2) @ q.variance.T
        return dist.Normal(mean, variance.sqrt() + 1e-9).rsample()


class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = BayesianLinear(2, 12), BayesianLinear(12, 1)
        self.unconstrained = nn.Parameter(torch.tensor(0.0))

    def elbo(self, x, y):
        scale = transform_to(constraints.positive)(self.unconstrained)
        mean = self.second(torch.tanh(self.first(x))).squeeze(-1)
        likelihood = dist.StudentT(5.0, mean, scale).log_prob(y).sum()
        prior = dist.HalfNormal(1.0).log_prob(scale)
        return likelihood + prior - self.first.kl() - self.second.kl(), scale


def counts(record):
    """Poisson rates with a Gamma prior, and mixture weights with a Dirichlet, fitted and in closed form."""
    data = dist.Poisson(torch.tensor([1.5, 4.0, 9.0])).sample((50,))
    prior = dist.Gamma(2.0, 0.5)
    raw = nn.Parameter(torch.zeros(2, 3))
    positive = transform_to(constraints.positive)
    optimizer = torch.optim.Adam([raw], lr=0.3)
    for step in range(20):
        concentration, rate = positive(raw)
        q = dist.Gamma(concentration, rate)
        rates = q.rsample((8,))
        elbo = dist.Poisson(rates).log_prob(data.unsqueeze(1)).sum(0).mean(0) - kl_divergence(q, prior)
        loss = -elbo.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record(step, counts=loss.item(), rates=q.mean)
    exact = dist.Gamma(2.0 + data.sum(0), 0.5 + len(data))
    record("end", exact=exact.mean, gap=kl_divergence(q, exact))
    tally = dist.Multinomial(30, probs=torch.tensor([0.2, 0.3, 0.5])).sample()
    posterior = dist.Dirichlet(torch.ones(3) + tally)
    record("end", posterior=posterior.mean, entropy=posterior.entropy(), draw=posterior.sample(), sure=posterior.log_prob(posterior.mean))


def score_function(record):
    """The gradient of an expectation over discrete variables, and its relaxation."""
    logits = nn.Parameter(torch.zeros(4))
    reward = torch.tensor([0.1, 0.4, 1.0, 0.2])
    optimizer = torch.optim.SGD([logits], lr=0.5)
    for step in range(20):
        if step % 2 == 0:
            q = dist.Categorical(logits=logits)
            chosen = q.sample((16,))
            loss = -(q.log_prob(chosen) * (reward[chosen] - reward.mean())).mean() - 0.01 * q.entropy()
        else:
            q = dist.RelaxedOneHotCategorical(torch.tensor(0.7), logits=logits)
            loss = -(q.rsample((16,)) @ reward).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record(step, discrete=loss.item(), best=logits.softmax(0)[2])


def main(record):
    torch.manual_seed(101)
    torch.set_default_dtype(torch.float64)
    x = dist.Uniform(-2.0, 2.0).sample((60, 2))
    y = torch.sin(x[:, 0]) * x[:, 1] + dist.Laplace(0.0, 0.1).sample((60,))
    model = Regression()
    optimizer = torch.optim.RAdam(model.parameters(), lr=2e-2)
    for step in range(20):
        elbo, scale = model.elbo(x, y)
        optimizer.zero_grad()
        (-elbo).backward()
        optimizer.step()
        record(step, elbo=elbo.item(), scale=scale.item())
    counts(record)
    score_function(record)
    bernoulli, normal = dist.Bernoulli(logits=torch.tensor([0.3, -1.0])), dist.MultivariateNormal(torch.zeros(2), torch.tensor([[2.0, 0.5], [0.5, 1.0]]))
    record("end", entropies=torch.stack([bernoulli.entropy().sum(), normal.entropy(), dist.Beta(2.0, 3.0).entropy()]))
    record("end", draws=normal.sample((2,)), log_prob=normal.log_prob(torch.ones(2)), lognormal=dist.LogNormal(0.0, 0.5).icdf(torch.tensor(0.3)), text=repr(dist.Normal(0.0, 1.0)))
