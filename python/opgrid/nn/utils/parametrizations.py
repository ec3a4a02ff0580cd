"""Parametrizations of weights: orthogonal ones, those divided by their spectral norm, and those of direction and length."""

from __future__ import annotations

from typing import Any

import opgrid as og

from ..._opgrid import Tensor, TensorBase
from ...autograd import no_grad
from .. import functional as F
from ..conv import _ConvNd
from ..module import Module
from .parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_MAPS = ("matrix_exp", "cayley", "householder")


def _weight_of(module: Module, name: str) -> Any:
    weight = getattr(module, name, None)
    if not isinstance(weight, TensorBase):
        raise ValueError(f"{type(module).__name__} has no parameter or buffer with name '{name}'")
    return weight


def _orthonormal(matrix: Tensor) -> Tensor:
    """The orthonormal factor whose other factor has a positive diagonal."""
    reflections, scales = og.geqrf(matrix)
    q = og.linalg_householder_product(reflections, scales)
    return q * reflections.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """An orthogonal matrix, from a skew-symmetric one, or from reflections; on a ``base``, so that it starts at a given matrix."""

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("the map householder does not support complex tensors; use matrix_exp or cayley")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        is_wide = x.shape[-2] < x.shape[-1]
        if is_wide:
            x = x.mT
        q = self._from_reflections(x) if self.orthogonal_map == "householder" else self._from_skew(x.tril())
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if is_wide else q

    def _from_reflections(self, x: Tensor) -> Tensor:
        below = x.tril(-1)
        scales = 2.0 / (1.0 + (below * below).sum(-2))
        signs = x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        return og.linalg_householder_product(below, scales) * signs

    def _from_skew(self, x: Tensor) -> Tensor:
        rows, columns = x.shape[-2:]
        if rows != columns:
            x = og.cat([x, x.new_zeros((*x.shape[:-2], rows, rows - columns))], -1)
        skew = x - x.mT.conj()
        if self.orthogonal_map == "matrix_exp":
            q = og.matrix_exp(skew)
        else:
            identity = og.eye(rows, dtype=x.dtype, device=x.device)
            q = og.linalg_solve(identity - 0.5 * skew, identity + 0.5 * skew)
        return q[..., :columns]

    def right_inverse(self, q: Tensor) -> Tensor:
        """What gives a matrix, which is made orthogonal first."""
        if q.shape != self.shape:
            raise ValueError(f"expected a matrix of shape {list(self.shape)}, found {list(q.shape)}")
        with no_grad():
            tall = q.mT if q.shape[-2] < q.shape[-1] else q
            rows, columns = tall.shape[-2:]
            if hasattr(self, "base"):
                if rows != columns:
                    drawn = og.randn((*tall.shape[:-2], rows, rows - columns), dtype=q.dtype, device=q.device)
                    tall = _orthonormal(og.cat([tall, drawn], -1))
                elif not _is_orthogonal(tall):
                    tall = _orthonormal(tall)
                self.base = tall.clone()
                start = og.zeros_like(q)
                start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
                return start
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    f"matrices cannot be assigned to the map {self.orthogonal_map} with use_trivialization=False"
                )
            reflections, scales = og.geqrf(tall)
            diagonal = reflections.diagonal(dim1=-2, dim2=-1)
            # A scale of zero stands for no reflection, which the other sign gives.
            diagonal.copy_(og.where(scales == 0.0, -diagonal.sign(), diagonal.sign()))
            return reflections.mT if tall is not q else reflections


def _is_orthogonal(q: Tensor) -> bool:
    identity = og.eye(q.shape[-1], dtype=q.dtype, device=q.device)
    return bool(og.allclose(q.mT.conj() @ q, identity, atol=10.0 * q.shape[-2] * og.finfo(q.dtype).eps))


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keeps a weight orthogonal: its columns are orthonormal, or its rows if there are fewer.

    ``orthogonal_map`` is ``"matrix_exp"`` (usual for square matrices), ``"cayley"``, or ``"householder"`` (usual for others).
    With ``use_trivialization``, the map is relative to the weight that is there, or that is assigned.
    """
    weight = _weight_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"orthogonal(): {name} has {weight.ndim} dimensions, expected 2 or more")
    if orthogonal_map is None:
        is_square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if is_square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(f"orthogonal_map is {orthogonal_map!r}, expected one of {', '.join(_MAPS)}")
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


class _WeightNorm(Module):
    """A weight of lengths and directions."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return og._weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The lengths, and the weight itself as directions."""
        return og.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Learns the lengths of a weight (``original0``) apart from its directions (``original1``), after Salimans and Kingma, 2016.

    Lengths are those along all dimensions but ``dim``, or of the whole weight where it is ``None``.
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def take_older(state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        # State dicts of `nn.utils.weight_norm` have other names.
        names = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in names):
            for place, key in enumerate(names):
                state_dict[f"{prefix}parametrizations.{name}.original{place}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(take_older)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which a power iteration follows in training."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"spectral_norm(): dim is {dim}, expected {-ndim} to {ndim - 1}")
        if n_power_iterations <= 0:
            raise ValueError(f"spectral_norm(): n_power_iterations is {n_power_iterations}, expected a number above zero")
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            with no_grad():
                matrix = self._matrix(weight)
                for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                    drawn = matrix.new_empty(size).normal_(0, 1)
                    self.register_buffer(name, F.normalize(drawn, dim=0, eps=eps))
                self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    def _iterate(self, matrix: Tensor, count: int) -> None:
        with no_grad():
            for _ in range(count):
                # In place, so that copies of the module that share the vectors follow.
                F.normalize(og.mv(matrix, self._v), dim=0, eps=self.eps, out=self._u)
                F.normalize(og.mv(matrix.mT.conj(), self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # Clones, since the next call changes the vectors, and a backward pass may come after it.
        u, v = self._u.clone(), self._v.clone()
        return weight / og.vdot(u, og.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The weight itself."""
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divides a weight by its spectral norm, after Miyato et al., 2018.

    The matrix has the dimension ``dim`` as rows: 0, or 1 for transposed convolutions, if it is not given.
    """
    weight = _weight_of(module, name)
    if dim is None:
        dim = 1 if isinstance(module, _ConvNd) and module.transposed else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
