"""Forward mode: dual numbers, functions with jvp, Hessians through writes, and products that are computed in several ways."""

import torch
import torch.autograd.forward_ad as fwAD
import torch.nn as nn
from torch.autograd.functional import hvp, vhp
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap


class Fn(torch.autograd.Function):
    """The function of the tutorial, with intermediate values for both modes."""

    @staticmethod
    def forward(foo):
        result = torch.exp(foo)
        return result

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def jvp(ctx, gI):
        (result,) = ctx.saved_tensors
        return gI * result * 1.5

    @staticmethod
    def backward(ctx, gO):
        (result,) = ctx.saved_tensors
        return gO * result


class Split(torch.autograd.Function):
    """Two results, of which forward mode alone knows the derivatives."""

    @staticmethod
    def forward(ctx, x, y, scale):
        ctx.save_for_forward(x, y)
        ctx.scale = scale
        return x * y * scale, x + y

    @staticmethod
    def jvp(ctx, tx, ty, _):
        x, y = ctx.saved_tensors
        return ctx.scale * (tx * y + x * ty), tx + ty


def with_writes(x):
    """A function that fills, zeroes and overwrites what it has computed."""
    y = (x**3).clone()
    y.fill_diagonal_(0)
    z = y.exp().clone()
    z[0].zero_()
    z[:, 1] = 2.0
    z[1, 2:].mul_(x[0, 0])
    w = torch.empty_like(x).copy_(z)
    w.masked_fill_(torch.eye(3, dtype=torch.bool), 1.0).add_(x, alpha=2).mul_(x)
    return w.addmm_(x, y).addcmul_(x, x, value=0.5).sum()


def main(record):
    torch.manual_seed(8)
    torch.set_default_dtype(torch.float64)
    primal, tangent = torch.randn(4), torch.randn(4)
    with fwAD.dual_level():
        dual = fwAD.make_dual(primal, tangent)
        out = fwAD.unpack_dual(Fn.apply(dual))
        plain = fwAD.unpack_dual(dual.clone().zero_() + dual.sin())
        record("dual", primal=out.primal, tangent=out.tangent, zeroed=plain.tangent, kept=fwAD.unpack_dual(dual.detach()).tangent is None)
        first, second = Split.apply(dual, fwAD.make_dual(primal.cos(), tangent), 2.0)
        record("dual", product=fwAD.unpack_dual(first).tangent, sum=fwAD.unpack_dual(second).tangent)
        filled = dual.clone()
        filled[1:3].normal_(generator=torch.Generator().manual_seed(0))
        record("dual", random=fwAD.unpack_dual(filled).tangent, level=type(fwAD.unpack_dual(filled)).__name__)
    record("dual", outside=fwAD.unpack_dual(primal).tangent is None)
    value, moved = jvp(Fn.apply, (primal,), (tangent,))
    record("func", value=value, moved=moved, back=vjp(Fn.apply, primal)[1](tangent)[0])

    x = torch.randn(3, 3)
    record("writes", gradient=grad(with_writes)(x), hessian=hessian(with_writes)(x).reshape(9, 9))
    record("writes", forward=jacfwd(with_writes)(x), same=torch.allclose(hessian(with_writes)(x), jacrev(jacrev(with_writes))(x)))

    model = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Softmax(-1), nn.Linear(6, 1))
    params = {name: p.detach() for name, p in model.named_parameters()}
    data, target = torch.randn(10, 3), torch.randn(10, 1)

    def loss_of(params):
        return nn.functional.mse_loss(functional_call(model, params, data), target)

    with fwAD.dual_level():
        direction = {name: torch.randn_like(p) for name, p in params.items()}
        slope = fwAD.unpack_dual(loss_of({name: fwAD.make_dual(p, direction[name]) for name, p in params.items()})).tangent
    record("model", slope=slope, same=torch.allclose(slope, jvp(loss_of, (params,), (direction,))[1]))
    # Gradients by forward mode in random directions, with steps of Newton's method along them.
    for step in range(20):
        direction = {name: torch.randn_like(p) for name, p in params.items()}

        def along(t):
            return loss_of({name: p + t * direction[name] for name, p in params.items()})

        zero = torch.zeros(())
        loss, slope = jvp(along, (zero,), (torch.ones(()),))
        curvature = hessian(along)(zero)
        length = -slope / curvature.abs().clamp(min=0.1)
        params = {name: p + length.clamp(-0.5, 0.5) * direction[name] for name, p in params.items()}
        record(step, loss=loss, slope=slope, curvature=curvature)
    _, product = hvp(lambda w: loss_of({**params, "0.weight": w}), params["0.weight"], torch.ones(6, 3))
    _, other = vhp(lambda w: loss_of({**params, "0.weight": w}), params["0.weight"], torch.ones(6, 3))
    record("end", hvp=product, vhp=torch.allclose(product, other), batch=vmap(jacfwd(lambda row: model(row).squeeze()))(data)[:2])
    value, linear = linearize(lambda row: torch.tanh(row) * row, data[0])
    record("end", value=value, linear=linear(torch.ones(3)))
