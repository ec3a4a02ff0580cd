"""Functions with derivatives of their own: a straight-through estimator, gradient reversal, double backward, setup_context."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function, gradcheck, gradgradcheck
from torch.autograd.function import once_differentiable


class Quantize(Function):
    """Rounds to levels forward, and passes gradients where nothing was clipped."""

    @staticmethod
    def forward(ctx, x, levels):
        ctx.save_for_backward(x)
        return torch.round(x.clamp(-1, 1) * levels) / levels

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1).to(grad_output.dtype), None


class ReverseGradient(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


class Swish(Function):
    """In the newer form, with a backward that can be differentiated again, and a rule for vmap."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, beta):
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        slope = s + beta * x * s * (1 - s)
        grad_beta = (grad * x * x * s * (1 - s)).sum() if ctx.needs_input_grad[1] else None
        return grad * slope, grad_beta


class SortWithOrder(Function):
    """Two outputs, one of which has no derivative."""

    @staticmethod
    def forward(ctx, x):
        values, order = torch.sort(x, dim=-1)
        ctx.mark_non_differentiable(order)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(order)
        return values, order

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_values, _):
        if grad_values is None:
            return None
        (order,) = ctx.saved_tensors
        return torch.zeros_like(grad_values).scatter_(-1, order, grad_values)


class DoubleInPlace(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


class Adversary(nn.Module):
    """A regressor whose features must not tell the domain."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(5, 12)
        self.beta = nn.Parameter(torch.ones(()))
        self.label, self.domain = nn.Linear(12, 1), nn.Linear(12, 1)

    def forward(self, x):
        h = Swish.apply(self.encoder(x), self.beta)
        h = Quantize.apply(h, 16)
        return self.label(h).squeeze(-1), self.domain(ReverseGradient.apply(h, 0.3)).squeeze(-1)


def main(record):
    torch.manual_seed(70)
    torch.set_default_dtype(torch.float64)
    model = Adversary()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for step in range(20):
        domain = torch.randint(2, (40,)).double()
        x = torch.randn(40, 5) + domain[:, None] * torch.tensor([1.0, 0, 0, 0, 0])
        y = x[:, 1] * 0.5 - x[:, 2].tanh()
        predicted, guessed = model(x)
        loss = F.mse_loss(predicted, y)
        confusion = F.binary_cross_entropy_with_logits(guessed, domain)
        optimizer.zero_grad()
        (loss + confusion).backward()
        optimizer.step()
        record(step, loss=loss.item(), confusion=confusion.item(), beta=model.beta.item())
    x = torch.randn(4, 3, requires_grad=True)
    beta = torch.tensor(1.3, requires_grad=True)
    record("check", first=gradcheck(Swish.apply, (x, beta)), second=gradgradcheck(Swish.apply, (x, beta)))
    record("check", batched=torch.func.vmap(Swish.apply, in_dims=(0, None))(x, beta), slope=torch.func.grad(lambda x: Swish.apply(x, beta).sum())(x.detach()))
    values, order = SortWithOrder.apply(x)
    (grad,) = torch.autograd.grad((values * torch.arange(3)).sum(), x, retain_graph=True)
    record("sort", grad=grad, order=order, differentiable=order.requires_grad)
    try:
        g = torch.autograd.grad((values**2).sum(), x, create_graph=True)[0]
        g.sum().backward()
    except RuntimeError as error:
        record("sort", refused=type(error).__name__, once="once_differentiable" in str(error))
    y = x * 1.0
    z = DoubleInPlace.apply(y)
    record("dirty", same=z is y, grad=torch.autograd.grad(z.sum(), x)[0][0], name=z.grad_fn.name())
    second = torch.autograd.grad(torch.autograd.grad(Swish.apply(x, beta).sum(), x, create_graph=True)[0].pow(2).sum(), (x, beta))
    record("second", x=second[0], beta=second[1])
