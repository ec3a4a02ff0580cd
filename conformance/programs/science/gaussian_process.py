"""A Gaussian process: kernels, Cholesky solves, hyperparameters by LBFGS, the predictive posterior, inducing points."""

import math

import torch
from torch import nn


class Kernel(nn.Module):
    """Positive parameters are kept as logarithms."""

    def __init__(self, lengthscale=1.0, variance=1.0):
        super().__init__()
        self.log_lengthscale = nn.Parameter(torch.tensor(lengthscale).log())
        self.log_variance = nn.Parameter(torch.tensor(variance).log())


class RBF(Kernel):
    def forward(self, a, b):
        squared = (a.unsqueeze(1) - b.unsqueeze(0)).square().sum(-1)
        return self.log_variance.exp() * torch.exp(-0.5 * squared / torch.exp(2 * self.log_lengthscale))


class Matern(Kernel):
    def forward(self, a, b):
        d = math.sqrt(3) * torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist") / self.log_lengthscale.exp()
        return self.log_variance.exp() * (1 + d) * torch.exp(-d)


class Sum(nn.Module):
    def __init__(self, *kernels):
        super().__init__()
        self.kernels = nn.ModuleList(kernels)

    def forward(self, a, b):
        return sum(kernel(a, b) for kernel in self.kernels)


class GP(nn.Module):
    def __init__(self, kernel, noise=0.1):
        super().__init__()
        self.kernel = kernel
        self.log_noise = nn.Parameter(torch.tensor(noise).log())

    def cholesky(self, x):
        jitter = self.log_noise.exp() + 1e-8
        return torch.linalg.cholesky(self.kernel(x, x) + jitter * torch.eye(len(x)))

    def neg_log_likelihood(self, x, y):
        L = self.cholesky(x)
        alpha = torch.cholesky_solve(y.unsqueeze(1), L).squeeze(1)
        return 0.5 * y.dot(alpha) + L.diagonal().log().sum() + 0.5 * len(x) * math.log(2 * math.pi)

    def posterior(self, x, y, new):
        L = self.cholesky(x)
        cross = self.kernel(x, new)
        mean = cross.T @ torch.cholesky_solve(y.unsqueeze(1), L)
        v = torch.linalg.solve_triangular(L, cross, upper=False)
        return mean.squeeze(1), self.kernel(new, new) - v.mT @ v


def main(record):
    torch.manual_seed(19)
    torch.set_default_dtype(torch.float64)
    x = torch.sort(torch.rand(30, 1) * 6, dim=0).values
    y = torch.sin(2 * x[:, 0]) + 0.5 * x[:, 0] + 0.1 * torch.randn(30)
    y = y - y.mean()
    model = GP(Sum(RBF(1.5), Matern(0.5, 0.3)))
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, history_size=5, line_search_fn="strong_wolfe")
    for step in range(20):
        evaluations = 0

        def closure():
            nonlocal evaluations
            evaluations += 1
            optimizer.zero_grad()
            loss = model.neg_log_likelihood(x, y)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        if step < 10:
            # Later steps are at the minimum, where rounding decides how often the line is searched.
            record(step, loss=loss.item(), noise=model.log_noise.exp().item(), evaluations=evaluations)
    record("optimum", loss=model.neg_log_likelihood(x, y).item())
    with torch.no_grad():
        new = torch.linspace(-1, 7, 9).unsqueeze(-1)
        model.log_noise.fill_(-3.0)
        for kernel in model.kernel.kernels:
            kernel.log_lengthscale.zero_()
        mean, covariance = model.posterior(x, y, new)
        deviation = covariance.diagonal().clamp(min=0).sqrt()
        draws = mean + torch.linalg.cholesky(covariance + 1e-6 * torch.eye(9)) @ torch.randn(9)
        record("end", mean=mean, deviation=deviation, draws=draws)
        # The Nyström approximation by inducing points.
        z = x[::5]
        kzz, kzx = model.kernel(z, z) + 1e-8 * torch.eye(len(z)), model.kernel(z, x)
        approximation = kzx.T @ torch.linalg.solve(kzz, kzx)
        residual = torch.linalg.norm(model.kernel(x, x) - approximation) / torch.linalg.matrix_norm(approximation)
        sign, logdet = torch.linalg.slogdet(model.kernel(x, x) + 0.1 * torch.eye(30))
        record("end", residual=residual, logdet=logdet, rank=torch.linalg.matrix_rank(approximation, rtol=1e-7))
