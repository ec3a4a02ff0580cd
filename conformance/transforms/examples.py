"""What people do with transforms of functions, written once for both libraries: `m` is ``opgrid`` or ``torch``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

WIDTHS = (16, 32, 10)


def network(m: Any, seed: int = 0) -> tuple[Any, dict[str, Any]]:
    """A small network, and parameters that are the same in both libraries."""
    net = m.nn.Sequential(m.nn.Linear(WIDTHS[0], WIDTHS[1]), m.nn.Tanh(), m.nn.Linear(WIDTHS[1], WIDTHS[2]))
    return net, {name: values(m, tuple(p.shape), seed + place) for place, (name, p) in enumerate(net.named_parameters())}


def values(m: Any, sizes: tuple[int, ...], seed: int) -> Any:
    """Numbers between -0.5 and 0.5, the same in both libraries."""
    import numpy

    return m.from_numpy(numpy.random.default_rng(seed).random(sizes) - 0.5)


def labels(m: Any, count: int) -> Any:
    return m.arange(count) * 7 % WIDTHS[2]


def per_sample_gradients(m: Any) -> Any:
    """The gradients of each example, in one batch."""
    net, parameters = network(m)
    x, y = values(m, (24, WIDTHS[0]), 9), labels(m, 24)

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        scores = m.func.functional_call(net, parameters, (x.unsqueeze(0),))
        return m.nn.functional.cross_entropy(scores, y.unsqueeze(0))

    return list(m.func.vmap(m.func.grad(loss), in_dims=(None, 0, 0))(parameters, x, y).values())


def meta_learning(m: Any) -> Any:
    """The gradient through three steps of gradient descent for each of eight tasks, as MAML takes it."""
    net, parameters = network(m)
    x, y = values(m, (8, 6, WIDTHS[0]), 3), values(m, (8, 6, WIDTHS[2]), 4)

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        return ((m.func.functional_call(net, parameters, (x,)) - y) ** 2).mean()

    def after_steps(parameters: Any, x: Any, y: Any) -> Any:
        for _ in range(3):
            grads = m.func.grad(loss)(parameters, x[:3], y[:3])
            parameters = {name: p - 0.1 * grads[name] for name, p in parameters.items()}
        return loss(parameters, x[3:], y[3:])

    def over_tasks(parameters: Any) -> Any:
        return m.func.vmap(after_steps, in_dims=(None, 0, 0))(parameters, x, y).mean()

    return list(m.func.grad(over_tasks)(parameters).values())


def neural_tangent_kernel(m: Any) -> Any:
    """The products of the Jacobians of every two examples."""
    net, parameters = network(m)
    x, y = values(m, (6, WIDTHS[0]), 5), values(m, (4, WIDTHS[0]), 6)

    def one(parameters: Any, x: Any) -> Any:
        return m.func.functional_call(net, parameters, (x.unsqueeze(0),)).squeeze(0)

    rows = [m.func.vmap(m.func.jacrev(one), in_dims=(None, 0))(parameters, batch) for batch in (x, y)]
    return sum(m.einsum("naf,mbf->nmab", [a.flatten(2), b.flatten(2)]) for a, b in zip(*(row.values() for row in rows)))


def ensemble(m: Any) -> Any:
    """Ten networks at once, on one batch and on a batch each."""
    nets = [network(m, seed)[0].double() for seed in range(10)]
    for seed, net in enumerate(nets):
        net.load_state_dict(network(m, 10 * seed)[1])
    parameters, buffers = m.func.stack_module_state(nets)
    x = values(m, (10, 5, WIDTHS[0]), 7)

    def run(parameters: Any, buffers: Any, x: Any) -> Any:
        return m.func.functional_call(nets[0], (parameters, buffers), (x,))

    return [m.func.vmap(run, in_dims=(0, 0, None))(parameters, buffers, x[0]), m.func.vmap(run)(parameters, buffers, x)]


def hessian_vector_product(m: Any) -> Any:
    """The product of the Hessian with a vector, forward over reverse and reverse over reverse."""
    x, v = values(m, (12,), 1), values(m, (12,), 2)

    def f(x: Any) -> Any:
        return (x.sin() * x.flip(0) ** 3).sum()

    forward = m.func.jvp(m.func.grad(f), (x,), (v,))[1]
    reverse = m.func.vjp(m.func.grad(f), x)[1](v)[0]
    return [forward, reverse, m.func.hessian(f)(x) @ v]


EXAMPLES: tuple[Callable[[Any], Any], ...] = (
    per_sample_gradients,
    meta_learning,
    neural_tangent_kernel,
    ensemble,
    hessian_vector_product,
)


def compared() -> bool:
    """Runs each example with both libraries; whether all results are within 1e-6."""
    import opgrid
    import torch

    is_equal = True
    print(f"{'example':28}{'largest difference':>20}")
    for example in EXAMPLES:
        found, expected = ([out.detach().tolist() for out in listed(example(m))] for m in (opgrid, torch))
        difference = max(
            (torch.tensor(a, dtype=torch.float64) - torch.tensor(b, dtype=torch.float64)).abs().max().item() for a, b in zip(found, expected, strict=True)
        )
        is_equal = is_equal and difference <= 1e-6
        print(f"{example.__name__:28}{difference:>20.1e}{'' if difference <= 1e-6 else '  differs'}")
    return is_equal


def listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
