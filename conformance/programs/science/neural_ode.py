"""A neural ODE: Runge-Kutta steps of fourth order, gradients by backpropagation and by the adjoint equation."""

import torch
import torch.nn as nn


class ODEFunc(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.2)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y**3)


def rk4_step(func, t, dt, y):
    k1 = func(t, y)
    k2 = func(t + dt / 2, y + dt * k1 / 2)
    k3 = func(t + dt / 2, y + dt * k2 / 2)
    k4 = func(t + dt, y + dt * k3)
    return y + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6


def odeint(func, y0, t):
    solution = [y0]
    for t0, t1 in zip(t[:-1], t[1:]):
        solution.append(rk4_step(func, t0, t1 - t0, solution[-1]))
    return torch.stack(solution)


class OdeintAdjoint(torch.autograd.Function):
    """Solves forward without a graph, and the adjoint equation backward."""

    @staticmethod
    def forward(ctx, func, y0, t, *params):
        with torch.no_grad():
            solution = odeint(func, y0, t)
        ctx.func = func
        ctx.save_for_backward(t, solution, *params)
        return solution

    @staticmethod
    def backward(ctx, grad_output):
        func = ctx.func
        t, solution, *params = ctx.saved_tensors
        sizes = [p.numel() for p in params]
        shape = solution[0].shape
        count = solution[0].numel()

        def dynamics(time, state):
            y, a = state[:count].view(shape), state[count : 2 * count].view(shape)
            with torch.enable_grad():
                y = y.detach().requires_grad_(True)
                f = func(time, y)
                grads = torch.autograd.grad(f, (y, *params), -a, allow_unused=True)
            grads = [torch.zeros_like(p) if g is None else g for g, p in zip(grads, (y, *params))]
            return torch.cat([f.detach().flatten(), *(g.flatten() for g in grads)])

        with torch.no_grad():
            a = grad_output[-1].clone()
            total = torch.zeros(sum(sizes), dtype=t.dtype)
            for i in range(len(t) - 1, 0, -1):
                state = torch.cat([solution[i].flatten(), a.flatten(), total])
                state = rk4_step(dynamics, t[i], t[i - 1] - t[i], state)
                a = state[count : 2 * count].view(shape) + grad_output[i - 1]
                total = state[2 * count :]
        found = [part.view_as(p) for part, p in zip(total.split(sizes), params)]
        return None, a, None, *found


def main(record):
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    true_y0 = torch.tensor([[2.0, 0.0]])
    t = torch.linspace(0.0, 10.0, 200)
    with torch.no_grad():
        true_y = odeint(lambda time, y: torch.mm(y**3, true_A), true_y0, t)
        exact = torch.matrix_exp(true_A * 0.5)
    record("start", data=true_y[::50, 0], rotation=exact)
    func = ODEFunc()
    optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-2)
    for step in range(20):
        start = torch.randperm(190)[:10]
        y0 = true_y[start]
        target = torch.stack([true_y[start + i] for i in range(6)], dim=0)
        optimizer.zero_grad()
        if step % 2 == 0:
            predicted = odeint(func, y0, t[:6])
        else:
            predicted = OdeintAdjoint.apply(func, y0, t[:6], *func.parameters())
        loss = torch.mean(torch.abs(predicted - target))
        loss.backward()
        optimizer.step()
        record(step, loss=loss.item(), grad=torch.cat([p.grad.flatten() for p in func.parameters()]).norm())
    # Both ways to a gradient agree up to the error of the steps.
    plain = torch.autograd.grad(odeint(func, y0, t[:6]).pow(2).mean(), list(func.parameters()))
    adjoint = torch.autograd.grad(OdeintAdjoint.apply(func, y0, t[:6], *func.parameters()).pow(2).mean(), list(func.parameters()))
    record("end", plain=plain[0][0], agree=all(torch.allclose(a, b, rtol=1e-2, atol=1e-4) for a, b in zip(plain, adjoint)))
    with torch.no_grad():
        record("end", trajectory=odeint(func, true_y0, t[:50])[-1], spread=torch.trapezoid(true_y[:, 0, 0].abs(), t))
