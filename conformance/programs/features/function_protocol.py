"""Classes that answer torch's functions: numbers with units that are no tensors, tensors with metadata, and modes that count calls."""

import collections
import functools

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode, handle_torch_function, has_torch_function, is_tensor_like

HANDLED_FUNCTIONS = {}


def implements(*torch_functions):
    def decorator(func):
        for torch_function in torch_functions:
            HANDLED_FUNCTIONS[torch_function] = functools.wraps(torch_function, updated=())(func) if callable(torch_function) else func
        return func

    return decorator


class ScaledIdentity:
    """``value`` times the identity matrix, which is a tensor in what it answers only."""

    def __init__(self, N, value):
        self._N, self._value = N, value

    def __repr__(self):
        return f"ScaledIdentity(N={self._N}, value={self._value})"

    def tensor(self):
        return self._value * torch.eye(self._N)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if kwargs is None:
            kwargs = {}
        if func not in HANDLED_FUNCTIONS or not all(issubclass(t, (torch.Tensor, ScaledIdentity)) for t in types):
            return NotImplemented
        return HANDLED_FUNCTIONS[func](*args, **kwargs)


def ensure_tensor(data):
    return data.tensor() if isinstance(data, ScaledIdentity) else torch.as_tensor(data)


@implements(torch.mean)
def mean(input):
    return float(input._value) / input._N


@implements(torch.add)
def add(input, other):
    if isinstance(input, ScaledIdentity) and isinstance(other, ScaledIdentity) and input._N == other._N:
        return ScaledIdentity(input._N, input._value + other._value)
    return torch.add(ensure_tensor(input), ensure_tensor(other))


@implements(torch.matmul, torch.Tensor.matmul)
def matmul(input, other):
    return input * other._value if isinstance(other, ScaledIdentity) else input._value * other


@implements(torch.stack, torch.cat)
def stack(tensors, dim=0):
    return torch.stack([ensure_tensor(t) for t in tensors], dim)


@implements(F.mse_loss)
def mse_loss(input, target, **kwargs):
    return F.mse_loss(ensure_tensor(input), ensure_tensor(target), **kwargs)


def own_function(x, y):
    """A function of users that may be answered as those of torch."""
    if has_torch_function((x, y)):
        return handle_torch_function(own_function, (x, y), x, y)
    return x + y


@implements(own_function)
def own_function_of_identities(x, y):
    return "answered"


class MetadataTensor:
    """A tensor with a unit beside it, which results take over from the first argument that has one."""

    def __init__(self, data, metadata=None, **kwargs):
        self._t, self._metadata = torch.as_tensor(data, **kwargs), metadata

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        metadatas = tuple(a._metadata for a in args if hasattr(a, "_metadata"))
        args = [getattr(a, "_t", a) for a in args]
        assert len(metadatas) > 0
        return cls(func(*args, **(kwargs or {})), metadata=metadatas[0])


class LoggingTensor(torch.Tensor):
    calls = collections.Counter()

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls[getattr(func, "__name__", str(func))] += 1
        return super().__torch_function__(func, types, args, kwargs or {})


class SubLoggingTensor(LoggingTensor):
    pass


class CountFunctions(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


class Doubled(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * 2 if func is torch.sin else result


def main(record):
    torch.manual_seed(0)
    d, t = ScaledIdentity(3, 2.0), torch.randn(3, 3)
    record("identity", mean=torch.mean(d), both=repr(torch.add(d, ScaledIdentity(3, 1.0))), mixed=torch.add(d, t), product=torch.matmul(t, d), method=t.matmul(d))
    record("identity", stacked=torch.stack([d, t]), cat=torch.cat([t, d]).shape, loss=F.mse_loss(d, t), like=is_tensor_like(d), own=own_function(d, 1), plain=own_function(1, 2))
    for unknown in (lambda: torch.mul(d, 2), lambda: torch.add(d, type("Other", (), {"__torch_function__": classmethod(lambda *_, **__: NotImplemented)})())):
        try:
            unknown()
        except TypeError as error:
            record("identity", refused=type(error).__name__)
    x, y = MetadataTensor([[1.0, 2.0]], metadata={"owner": "Ministry of Silly Walks"}), torch.ones(2, 2)
    z = torch.add(x, y)
    record("metadata", value=z._t, unit=repr(z._metadata), further=torch.nn.functional.relu(torch.matmul(z, y))._t, last=type(torch.sum(z)).__name__)

    x = SubLoggingTensor([[1.0, 2.0], [3.0, 4.0]])
    w = LoggingTensor(torch.ones(2, 2)).requires_grad_()
    for step in range(20):
        y = F.softplus((x @ w).mul(0.1)).sum()
        (gradient,) = torch.autograd.grad(y, w)
        w = (w - 0.1 * gradient).detach().requires_grad_()
        record(step, loss=y.item(), kind=type(y).__name__)
    stacked = torch.stack([x, w.detach()])
    first = stacked[0]
    record("logging", kinds=[type(v).__name__ for v in (x @ w, w @ x, stacked, first, torch.cat([x, x]), x.T, *x.unbind(), torch.max(x, 0).values)])
    record("logging", counts=[LoggingTensor.calls[name] for name in ("softplus", "matmul", "mul", "stack", "__getitem__", "cat", "unbind")])
    with torch._C.DisableTorchFunctionSubclass():
        record("logging", plain=type(x + 1).__name__, asked=LoggingTensor.calls["add"])
    with CountFunctions() as counts:
        a = torch.arange(4.0).reshape(2, 2)
        torch.cat([a, a.sum(0, keepdim=True)])
        F.gelu(a) + torch.einsum("ij->j", a)
    record("mode", names=counts.names)
    with Doubled(), Doubled():
        record("mode", doubled=torch.sin(torch.ones(2)))
