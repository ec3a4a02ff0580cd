"""Per-sample gradients by vmap of grad: private training, influence by Hessians, Jacobians, and random directions by jvp."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap


class SimpleCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, 1)
        self.conv2 = nn.Conv2d(4, 6, 3, 1)
        self.fc1 = nn.Linear(24, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.conv2(x))
        return F.log_softmax(self.fc1(torch.flatten(x, 1)), dim=1)


def private_training(record):
    """Gradients are clipped for each sample, summed, and noise is added."""
    torch.manual_seed(50)
    model = SimpleCNN()
    params = {k: v.detach() for k, v in model.named_parameters()}

    def compute_loss(params, sample, target):
        output = functional_call(model, params, (sample.unsqueeze(0),))
        return F.nll_loss(output, target.unsqueeze(0))

    per_sample = vmap(grad_and_value(compute_loss), in_dims=(None, 0, 0))
    prototypes = torch.randn(3, 1, 10, 10)
    for step in range(20):
        targets = torch.randint(0, 3, (12,))
        data = prototypes[targets] + 0.5 * torch.randn(12, 1, 10, 10)
        grads, losses = per_sample(params, data, targets)
        norms = torch.sqrt(sum(g.flatten(1).pow(2).sum(1) for g in grads.values()))
        factor = (1.0 / (norms + 1e-6)).clamp(max=1.0)
        for name, g in grads.items():
            summed = torch.einsum("i,i...->...", factor, g) + 0.1 * torch.randn(g.shape[1:])
            params[name] = params[name] - 0.5 * summed / len(data)
        record(step, loss=losses.mean().item(), norms=norms)
    # Each is what one backward pass of the sample gives.
    model.load_state_dict(params)
    grads, _ = per_sample(params, data, targets)
    loss = F.nll_loss(model(data[3:4]), targets[3:4])
    expected = torch.autograd.grad(loss, list(model.parameters()))
    record("end", same=all(torch.allclose(grads[n][3], e, atol=1e-6) for (n, _), e in zip(model.named_parameters(), expected)))
    return model


def derivatives(record):
    torch.manual_seed(51)
    weight, bias, x = torch.randn(4, 5), torch.randn(4), torch.randn(5)

    def predict(weight, bias, x):
        return torch.tanh(F.linear(x, weight, bias))

    reverse, forward = jacrev(predict, argnums=2)(weight, bias, x), jacfwd(predict, argnums=2)(weight, bias, x)
    record("jacobian", reverse=reverse, same=torch.allclose(reverse, forward, atol=1e-6), both=jacrev(predict, argnums=(0, 1))(weight, bias, x)[1])
    batch = torch.randn(6, 5)
    record("jacobian", batch=vmap(jacrev(predict, argnums=2), in_dims=(None, None, 0))(weight, bias, batch)[2])
    record("hessian", hessian=hessian(lambda x: predict(weight, bias, x).pow(2).sum())(x), mixed=jacfwd(jacrev(lambda b: predict(weight, b, x).prod()))(bias))
    value, pull = vjp(lambda w, x: predict(w, bias, x), weight, x)
    record("vjp", value=value, pulled=pull(torch.ones(4))[1])
    basis = vmap(pull)(torch.eye(4))
    record("vjp", rows=torch.allclose(basis[1], reverse, atol=1e-6))
    out, tangent = jvp(lambda x: predict(weight, bias, x), (x,), (torch.ones(5),))
    record("jvp", out=out, tangent=tangent)

    def forward_gradient(x, direction):
        value, slope = jvp(lambda x: predict(weight, bias, x).square().sum(), (x,), (direction,))
        return slope * direction

    directions = torch.randn(200, 5)
    estimate = vmap(forward_gradient, in_dims=(None, 0))(x, directions).mean(0)
    record("jvp", estimate=estimate, exact=grad(lambda x: predict(weight, bias, x).square().sum())(x))
    noise = vmap(lambda x: x + torch.randn(3), randomness="different")(torch.zeros(4, 3))
    record("random", rows=len({tuple(row.tolist()) for row in noise}), chunked=vmap(torch.sin, chunk_size=2)(batch).sum())


def main(record):
    model = private_training(record)
    derivatives(record)
    # The neural tangent kernel of two batches.
    params = {k: v.detach() for k, v in model.named_parameters()}
    a, b = torch.randn(3, 1, 10, 10), torch.randn(2, 1, 10, 10)

    def single(params, x):
        return functional_call(model, params, (x.unsqueeze(0),)).squeeze(0)

    left, right = (vmap(jacrev(single), (None, 0))(params, x) for x in (a, b))
    kernel = sum(torch.einsum("Naf,Mbf->NMab", l.flatten(2), r.flatten(2)) for l, r in zip(left.values(), right.values()))
    record("end", kernel=kernel[0, 0], shape=tuple(kernel.shape))
