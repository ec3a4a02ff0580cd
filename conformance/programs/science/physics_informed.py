"""A physics-informed network for Burgers' equation, whose loss has second derivatives, by Adam and then LBFGS."""

import torch
import torch.nn as nn
from torch.autograd import grad


class Sine(nn.Module):
    def forward(self, x):
        return torch.sin(x)


class PINN(nn.Module):
    def __init__(self, layers=(2, 16, 16, 1)):
        super().__init__()
        blocks = []
        for a, b in zip(layers[:-2], layers[1:-1]):
            blocks += [nn.Linear(a, b), nn.Tanh() if len(blocks) else Sine()]
        self.net = nn.Sequential(*blocks, nn.Linear(layers[-2], layers[-1]))
        self.nu = nn.Parameter(torch.tensor(0.05))

    def forward(self, t, x):
        return self.net(torch.stack([t, x], dim=-1)).squeeze(-1)

    def residual(self, t, x):
        u = self(t, x)
        u_t, u_x = grad(u, (t, x), torch.ones_like(u), create_graph=True)
        (u_xx,) = grad(u_x.sum(), x, create_graph=True)
        return u_t + u * u_x - self.nu * u_xx


def points(count):
    t, x = torch.rand(2, count)
    return t.requires_grad_(), (2 * x - 1).requires_grad_()


def losses(model, t, x, initial):
    physics = model.residual(t, x).square().mean()
    start = (model(torch.zeros_like(initial), initial) + torch.sin(torch.pi * initial)).square().mean()
    times = t.detach()
    walls = sum(model(times, torch.full_like(times, side)).pow(2).mean() for side in (-1.0, 1.0))
    return physics, start, walls


def main(record):
    torch.manual_seed(66)
    torch.set_default_dtype(torch.float64)
    model = PINN()
    for module in model.net:
        if isinstance(module, nn.Linear):
            nn.init.xavier_normal_(module.weight)
    initial = torch.linspace(-1, 1, 20)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(14):
        optimizer.zero_grad()
        physics, start, walls = losses(model, *points(40), initial)
        loss = physics + 5 * start + walls
        loss.backward()
        optimizer.step()
        record(step, physics=physics.item(), start=start.item(), walls=walls.item(), nu=model.nu.item())
    t, x = points(60)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.3, max_iter=3, tolerance_grad=1e-10)

    def closure():
        optimizer.zero_grad()
        loss = sum(losses(model, t, x, initial))
        loss.backward()
        return loss

    for step in range(14, 20):
        record(step, loss=optimizer.step(closure).item(), norm=nn.utils.get_total_norm([p.grad for p in model.parameters()]))
    # Derivatives by torch.func agree with those of autograd.
    from torch.func import grad as functional_grad
    from torch.func import hessian, vmap

    def scalar(point):
        return model(point[0], point[1])

    grid = torch.cartesian_prod(torch.tensor([0.1, 0.5]), torch.tensor([-0.5, 0.0, 0.5]))
    hessians = vmap(hessian(scalar))(grid)
    record("end", slopes=vmap(functional_grad(scalar))(grid), hessians=hessians, symmetric=torch.allclose(hessians, hessians.mT))
    u = model(*grid.unbind(1))
    jacobian = torch.autograd.functional.jacobian(lambda p: vmap(scalar)(p).sum(0, keepdim=True), grid)
    record("end", u=u, jacobian=jacobian.squeeze(0))
