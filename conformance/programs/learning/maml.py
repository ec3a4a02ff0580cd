"""MAML: few-shot regression of sine waves, with inner steps that are differentiated, by functional_call and by hand."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, stack_module_state, vmap


class SineModel(nn.Module):
    def __init__(self, hidden=20):
        super().__init__()
        self.hidden1 = nn.Linear(1, hidden)
        self.hidden2 = nn.Linear(hidden, hidden)
        self.output = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.output(F.relu(self.hidden2(torch.tanh(self.hidden1(x)))))


class Task:
    def __init__(self):
        self.amplitude = torch.empty(1).uniform_(0.5, 3.0)
        self.phase = torch.rand(1) * torch.pi

    def sample(self, count):
        x = (torch.rand(count, 1) - 0.5) * 10
        return x, self.amplitude * torch.sin(x + self.phase)


def inner_update(model, params, x, y, lr, create_graph=True):
    loss = F.mse_loss(functional_call(model, params, (x,)), y)
    grads = torch.autograd.grad(loss, tuple(params.values()), create_graph=create_graph)
    return {name: p - lr * g for (name, p), g in zip(params.items(), grads)}, loss


def by_gradients(record):
    """Second-order MAML with learned learning rates."""
    model = SineModel()
    lr = nn.Parameter(torch.tensor(0.02))
    optimizer = torch.optim.Adam([*model.parameters(), lr], lr=5e-3)
    for step in range(20):
        optimizer.zero_grad()
        total = 0.0
        for _ in range(4):
            task = Task()
            params = dict(model.named_parameters())
            for _ in range(2):
                params, before = inner_update(model, params, *task.sample(10), lr)
            x, y = task.sample(10)
            loss = F.mse_loss(functional_call(model, params, x), y) / 4
            loss.backward()
            total += loss.item()
        optimizer.step()
        record(step, outer=total, before=before.item(), lr=lr.item())
    return model


def by_transforms(model, record):
    """The same by vmap over tasks and grad of grad."""

    def task_loss(params, support_x, support_y, query_x, query_y):
        def support_loss(params):
            return F.mse_loss(functional_call(model, params, (support_x,)), support_y)

        gradients = grad(support_loss)(params)
        adapted = {name: params[name] - 0.02 * gradients[name] for name in params}
        return F.mse_loss(functional_call(model, adapted, (query_x,)), query_y)

    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.5)
    for step in range(20):
        tasks = [Task() for _ in range(5)]
        support, query = zip(*[task.sample(8) for task in tasks]), zip(*[task.sample(8) for task in tasks])
        batch = [torch.stack(part) for pair in (support, query) for part in pair]
        params = dict(model.named_parameters())
        losses = vmap(task_loss, in_dims=(None, 0, 0, 0, 0))(params, *batch)
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        record(step, losses=losses)


def main(record):
    torch.manual_seed(22)
    torch.set_default_dtype(torch.float64)
    model = by_gradients(record)
    by_transforms(model, record)
    # An ensemble that is called at once.
    models = [SineModel() for _ in range(3)]
    params, buffers = stack_module_state(models)
    x = torch.linspace(-1, 1, 5).unsqueeze(1)
    together = vmap(lambda p, b, x: functional_call(models[0], (p, b), (x,)), in_dims=(0, 0, None))(params, buffers, x)
    record("end", together=together.squeeze(-1), shapes={name: tuple(p.shape) for name, p in params.items()})
    norms = [p.norm().item() for p in model.parameters()]
    record("end", norms=norms, same=torch.allclose(together[1], models[1](x)))
