"""Operators of one's own: by decorators and by libraries, with derivatives, batching rules, fake kernels and writes; modes that see them."""

import numpy as np
import torch
from torch.library import Library, custom_op, impl, opcheck, register_autograd, register_fake
from torch.utils._python_dispatch import TorchDispatchMode


@custom_op("second::numpy_sort", mutates_args=())
def numpy_sort(x: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    x = x.detach().cpu().numpy()
    index = np.argsort(x, axis=dim)
    inverse = np.argsort(index, axis=dim)
    return torch.tensor(np.take_along_axis(x, index, axis=dim)), torch.tensor(index), torch.tensor(inverse)


@numpy_sort.register_fake
def _(x, dim):
    return torch.empty_like(x), torch.empty_like(x, dtype=torch.long), torch.empty_like(x, dtype=torch.long)


def sort_setup(ctx, inputs, output):
    _, ctx.dim = inputs
    _, index, inverse = output
    ctx.mark_non_differentiable(index, inverse)
    ctx.save_for_backward(index, inverse)


def sort_backward(ctx, grad, _index, _inverse):
    index, inverse = ctx.saved_tensors
    return numpy_take(grad, inverse, index, ctx.dim), None


numpy_sort.register_autograd(sort_backward, setup_context=sort_setup)


@custom_op("second::numpy_take", mutates_args=())
def numpy_take(x: torch.Tensor, ind: torch.Tensor, inverse: torch.Tensor, dim: int) -> torch.Tensor:
    return torch.tensor(np.take_along_axis(x.detach().numpy(), ind.numpy(), dim))


@numpy_take.register_fake
def _(x, ind, inverse, dim):
    return torch.empty_like(x)


def take_setup(ctx, inputs, output):
    _, ind, inverse, ctx.dim = inputs
    ctx.save_for_backward(ind, inverse)


register_autograd("second::numpy_take", lambda ctx, g: (numpy_take(g, ctx.saved_tensors[1], ctx.saved_tensors[0], ctx.dim), None, None, None), setup_context=take_setup)


@custom_op("second::decay_", mutates_args={"x"})
def decay_(x: torch.Tensor, rate: float = 0.5) -> None:
    x.mul_(rate)


@custom_op("second::pick", mutates_args=(), schema="(Tensor x, Tensor[] others, int[]? sizes=None, *, str mode='sum') -> Tensor")
def pick(x, others, sizes=None, *, mode="sum"):
    total = sum(others, torch.zeros_like(x))
    return (x + total if mode == "sum" else x * total).clone()


library = Library("second_lib", "DEF")
library.define("soft_threshold(Tensor x, float lambd=0.5) -> Tensor")
library.define("scale(Tensor x, Scalar by) -> Tensor")


@impl(library, "soft_threshold", "CPU")
def soft_threshold(x, lambd=0.5):
    return torch.sign(x) * torch.clamp(x.abs() - lambd, min=0)


@register_fake("second_lib::soft_threshold", lib=library)
def _(x, lambd=0.5):
    return torch.empty_like(x)


class SoftThreshold(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lambd):
        ctx.save_for_backward(x)
        ctx.lambd = lambd
        with torch._C._AutoDispatchBelowAutograd():
            return torch.ops.second_lib.soft_threshold(x, lambd)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() > ctx.lambd), None


library.impl("soft_threshold", lambda x, lambd=0.5: SoftThreshold.apply(x, lambd), "Autograd")
library.impl("scale", lambda x, by: x * by, "CompositeImplicitAutograd")


class Logged(TorchDispatchMode):
    def __init__(self, prefix):
        super().__init__()
        self.prefix, self.seen = prefix, []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace.startswith(self.prefix):
            self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def main(record):
    torch.manual_seed(5)
    torch.set_default_dtype(torch.float64)
    x = torch.randn(3, 4, requires_grad=True)
    values, index, inverse = numpy_sort(x, 1)
    record("sort", values=values, index=index, inverse=inverse, schema=str(torch.ops.second.numpy_sort.default._schema))
    (grad,) = torch.autograd.grad((values * torch.arange(4.0)).sum(), x)
    record("sort", grad=grad, checked=torch.autograd.gradcheck(lambda x: numpy_sort(x, 0)[0], x), twice=torch.autograd.gradgradcheck(lambda x: numpy_sort(x, 0)[0] ** 2, x))
    record("sort", tests=[opcheck(numpy_sort, (x, 1))[f"test_{kind}"] for kind in ("schema", "autograd_registration", "faketensor")])
    state = torch.ones(2)
    record("write", result=decay_(state, rate=0.25), state=state, version=state._version)
    record("lists", sum=pick(state, [state, state]), product=torch.ops.second.pick(state, (state * 2,), mode="product"), default=str(torch.ops.second.pick.default._schema))
    with torch.device("meta"):
        record("fake", shape=tuple(torch.ops.second.numpy_sort(torch.empty(5, 2), 0)[0].shape), kind=torch.ops.second_lib.soft_threshold(torch.empty(3)).device.type)

    dictionary, signal = torch.randn(6, 10) / 6**0.5, torch.randn(6)
    code = torch.zeros(10, requires_grad=True)
    step_size = 1 / torch.linalg.matrix_norm(dictionary, 2) ** 2
    for step in range(20):
        residual = dictionary @ code - signal
        loss = 0.5 * residual.square().sum() + 0.05 * torch.ops.second_lib.soft_threshold(code, 0.0).abs().sum()
        (grad,) = torch.autograd.grad(loss, code)
        with torch.no_grad():
            code.copy_(torch.ops.second_lib.soft_threshold(code - step_size * dictionary.T @ residual, 0.05 * float(step_size)))
        record(step, loss=loss.item(), sparsity=int((code == 0).sum()), grad=grad.norm())
    with Logged("second") as mode:
        torch.ops.second_lib.scale(code, 2)
        numpy_sort(code, 0)
    record("mode", seen=mode.seen)
    y = torch.ops.second_lib.scale(x, 3)
    record("end", composite=torch.autograd.grad(y.sum(), x)[0][0], overloads=torch.ops.second_lib.scale.overloads(), soft=torch.autograd.grad(torch.ops.second_lib.soft_threshold(x).sum(), x)[0])
