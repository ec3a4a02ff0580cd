"""Weights that are computed anew before each call of a module; `opgrid.nn.utils.parametrizations` are what came after them."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

import opgrid as og

from ..._opgrid import Tensor
from ...autograd import no_grad
from .. import functional as F
from ..conv import _ConvNd
from ..module import Module
from ..parameter import Parameter, is_lazy

_M = TypeVar("_M", bound=Module)


class _HookedNorm:
    """A hook before ``forward`` that sets a weight, which is no parameter itself."""

    name: str

    def weight_of(self, module: Module) -> Any:
        """The weight of a module that has none of these hooks on it yet."""
        title, name = type(self).__name__, self.name
        if any(type(hook) is type(self) and hook.name == name for hook, *_ in module._own("_forward_pre_hooks").values()):
            raise RuntimeError(f"Cannot register two {title} hooks on the same parameter {name}")
        weight = getattr(module, name)
        if weight is None or is_lazy(weight):
            found = "None" if weight is None else "not initialized"
            raise ValueError(f"{title}: the parameter `{name}` is {found}, expected one with elements")
        return weight

    def computed(self, module: Module, in_training: bool) -> Tensor:
        """The weight."""
        raise NotImplementedError

    def restore(self, module: Module) -> None:
        """Makes the weight a parameter again."""
        raise NotImplementedError

    def __call__(self, module: Module, args: Any) -> None:
        setattr(module, self.name, self.computed(module, module.training))


class WeightNorm(_HookedNorm):
    """A weight of lengths ``weight_g`` and directions ``weight_v``."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def apply(self, module: Module) -> None:
        """Puts the hook on a module."""
        weight = self.weight_of(module)
        del module._own("_parameters")[self.name]
        with no_grad():
            module.register_parameter(f"{self.name}_g", Parameter(og.norm_except_dim(weight, 2, self.dim)))
        module.register_parameter(f"{self.name}_v", Parameter(weight))
        setattr(module, self.name, self.computed(module, False))
        module.register_forward_pre_hook(self)

    def computed(self, module: Module, in_training: bool) -> Tensor:
        """The directions, scaled to the lengths."""
        g, v = (getattr(module, f"{self.name}_{part}") for part in "gv")
        return og._weight_norm(v, g, self.dim)

    def restore(self, module: Module) -> None:
        """Makes the weight a parameter again."""
        weight = self.computed(module, False)
        delattr(module, self.name)
        for part in "gv":
            delattr(module, f"{self.name}_{part}")
        module.register_parameter(self.name, Parameter(weight))


class SpectralNorm(_HookedNorm):
    """A weight ``weight_orig``, divided by its largest singular value, of which ``weight_u`` and ``weight_v`` are the vectors."""

    _version = 1

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ValueError(f"spectral_norm(): n_power_iterations is {n_power_iterations}, expected a number above zero")
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    def apply(self, module: Module) -> None:
        """Puts the hook on a module."""
        weight = self.weight_of(module)
        sizes = self._matrix(weight).shape
        delattr(module, self.name)
        module.register_parameter(f"{self.name}_orig", weight)
        setattr(module, self.name, weight.detach())
        with no_grad():
            for part, size in zip("uv", sizes, strict=True):
                drawn = weight.new_empty(size).normal_(0, 1)
                module.register_buffer(f"{self.name}_{part}", F.normalize(drawn, dim=0, eps=self.eps))
        module.register_forward_pre_hook(self)
        module._register_state_dict_hook(self.save_version)

    def save_version(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        """Says in the metadata of state dicts how vectors are kept."""
        local_metadata.setdefault("spectral_norm", {})[f"{self.name}.version"] = self._version

    def computed(self, module: Module, in_training: bool) -> Tensor:
        """The weight divided by its norm; training brings the vectors nearer to the singular ones."""
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = self._matrix(weight)
        if in_training:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    # In place, so that copies of the module that share the vectors follow.
                    F.normalize(og.mv(matrix.t(), u), dim=0, eps=self.eps, out=v)
                    F.normalize(og.mv(matrix, v), dim=0, eps=self.eps, out=u)
            # Clones, since the next call changes the vectors, and a backward pass may come after it.
            u, v = u.clone(), v.clone()
        quotient: Tensor = weight / og.dot(u, og.mv(matrix, v))
        return quotient

    def restore(self, module: Module) -> None:
        """Makes the weight a parameter again."""
        with no_grad():
            weight = self.computed(module, False)
        for part in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + part)
        hooks = module._own("_state_dict_hooks")
        for key, (hook, *_) in list(hooks.items()):
            if getattr(hook, "__self__", None) is self:
                del hooks[key]
        module.register_parameter(self.name, Parameter(weight))


def weight_norm(module: _M, name: str = "weight", dim: int | None = 0) -> _M:
    """Deprecated in favor of `opgrid.nn.utils.parametrizations.weight_norm`: computes the weight before each call."""
    warnings.warn(
        "nn.utils.weight_norm is deprecated; use nn.utils.parametrizations.weight_norm", FutureWarning, stacklevel=2
    )
    WeightNorm(name, dim).apply(module)
    return module


def spectral_norm(
    module: _M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> _M:
    """`opgrid.nn.utils.parametrizations.spectral_norm` in its older form: computes the weight before each call."""
    if dim is None:
        dim = 1 if isinstance(module, _ConvNd) and module.transposed else 0
    SpectralNorm(name, n_power_iterations, dim, eps).apply(module)
    return module


def remove_weight_norm(module: _M, name: str = "weight") -> _M:
    """Undoes `weight_norm`; the weight keeps its value."""
    return _removed(module, name, WeightNorm, "weight_norm")


def remove_spectral_norm(module: _M, name: str = "weight") -> _M:
    """Undoes `spectral_norm`; the weight keeps its value."""
    return _removed(module, name, SpectralNorm, "spectral_norm")


def _removed(module: _M, name: str, kind: type[_HookedNorm], title: str) -> _M:
    hooks = module._own("_forward_pre_hooks")
    for key, (hook, *_) in list(hooks.items()):
        if isinstance(hook, kind) and hook.name == name:
            hook.restore(module)
            del hooks[key]
            return module
    raise ValueError(f"{title} of '{name}' not found in {type(module).__name__}")
