"""Tensors that carry more: units by `__torch_function__`, a subclass that keeps its type, a mode that counts, wrapped values."""

import functools

import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode, handle_torch_function, has_torch_function

HANDLED = {}


def implements(*functions):
    def decorator(function):
        for torch_function in functions:
            HANDLED[torch_function] = function
        return functools.wraps(function)(function)

    return decorator


class Quantity:
    """A tensor with a unit, which is no subclass of Tensor."""

    def __init__(self, data, **unit):
        self.data = torch.as_tensor(data)
        self.unit = {name: power for name, power in unit.items() if power}

    def __repr__(self):
        unit = "*".join(f"{name}^{power}" for name, power in sorted(self.unit.items())) or "1"
        return f"{self.data.tolist()} {unit}"

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in HANDLED or not all(issubclass(t, (torch.Tensor, cls)) for t in types):
            return NotImplemented
        return HANDLED[func](*args, **(kwargs or {}))


@implements(torch.add)
def add(a, b):
    if a.unit != b.unit:
        raise ValueError(f"cannot add {a.unit} and {b.unit}")
    return Quantity(a.data + b.data, **a.unit)


@implements(torch.mul, torch.Tensor.mul)
def mul(a, b):
    a, b = (v if isinstance(v, Quantity) else Quantity(v) for v in (a, b))
    return Quantity(a.data * b.data, **{n: a.unit.get(n, 0) + b.unit.get(n, 0) for n in {*a.unit, *b.unit}})


@implements(torch.sqrt)
def sqrt(a):
    return Quantity(a.data.sqrt(), **{name: power / 2 for name, power in a.unit.items()})


@implements(torch.sum, torch.mean)
def mean(a, **options):
    return Quantity(a.data.mean(**options), **a.unit)


class Named(torch.Tensor):
    """A subclass that remembers what was done with it."""

    @staticmethod
    def __new__(cls, data, history=()):
        return torch.as_tensor(data).as_subclass(cls)

    def __init__(self, data, history=()):
        self.history = list(history)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(result, Named):
            before = [h for a in args if isinstance(a, Named) for h in getattr(a, "history", [])]
            result.history = [*before, func.__name__]
        return result


class Counter(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.counts = {}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", str(func))
        self.counts[name] = self.counts.get(name, 0) + 1
        return func(*args, **(kwargs or {}))


def distance(a, b):
    """A function of a library, which others may override."""
    if has_torch_function((a, b)):
        return handle_torch_function(distance, (a, b), a, b)
    return (a - b).norm()


class Masked(torch.Tensor):
    """Losses of it skip what is masked."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is F.mse_loss:
            prediction, target = args
            with torch._C.DisableTorchFunctionSubclass():
                mask = ~torch.isnan(target)
                return (prediction[mask] - target[mask]).square().mean()
        if func is distance:
            return torch.tensor(-1.0)
        return super().__torch_function__(func, types, args, kwargs or {})


def main(record):
    torch.manual_seed(80)
    torch.set_default_dtype(torch.float64)
    length, time = Quantity([3.0, 4.0], m=1), Quantity([2.0, 8.0], s=1)
    record("units", speed=repr(torch.mul(length, Quantity(1 / time.data, s=-1))), area=repr(torch.sqrt(torch.mul(length, length))), mean=repr(torch.mean(length)))
    record("units", sum=repr(torch.add(length, length)), left=repr(torch.mul(torch.tensor(2.0), time)))
    for wrong in (lambda: torch.add(length, time), lambda: torch.exp(length)):
        try:
            wrong()
        except (ValueError, TypeError) as error:
            record("units", error=type(error).__name__)
    a = Named(torch.arange(6.0).reshape(2, 3), ["made"])
    b = (a + 1).t().matmul(a)
    record("named", kind=type(b).__name__, history=b.history, value=b, row=type(a[0]).__name__, shape=str(b.shape).partition(".")[2])
    record("named", plain=type(b.as_subclass(torch.Tensor)).__name__, item=b.sum().item(), instance=isinstance(b, torch.Tensor), parameter=isinstance(nn.Parameter(torch.ones(1)), nn.Parameter))

    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    weight = torch.randn(3, 2)
    for step in range(20):
        x = torch.randn(16, 3)
        y = x @ weight
        y[torch.rand(16, 2) < 0.3] = torch.nan
        loss = F.mse_loss(model(x), y.as_subclass(Masked))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record(step, loss=loss.item(), kind=type(loss).__name__)
    with Counter() as counter:
        model(torch.ones(1, 3)).sum() + torch.zeros(())
    record("mode", linear=counter.counts.get("linear"), tanh=counter.counts.get("tanh"), after=len(counter.counts) > 3)
    record("override", own=distance(y.as_subclass(Masked), y).item(), plain=distance(torch.ones(4), torch.zeros(4)).item())
    class Scaled(nn.Parameter):
        pass

    record("parameter", kind=type(Scaled(torch.ones(2))).__name__, requires=Scaled(torch.ones(2)).requires_grad, buffer=isinstance(nn.Buffer(torch.ones(1)), torch.Tensor))
