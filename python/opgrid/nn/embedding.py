"""Embeddings, by index and by bag of indices."""

from __future__ import annotations

from typing import Self

import opgrid as og

from .. import _opgrid
from .._opgrid import Tensor
from ..autograd import no_grad
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


class _Table(Module):
    """A table of ``num_embeddings`` vectors."""

    weight: Parameter

    def _set_up(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        weight: Tensor | None,
        freeze: bool,
        device: _opgrid.device | str | None,
        dtype: _opgrid.dtype | None,
    ) -> None:
        # torch raises assertions here.
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise AssertionError(f"Padding_idx must be within num_embeddings ({num_embeddings}), found {padding_idx}")
        if weight is not None and weight.shape != (num_embeddings, embedding_dim):
            raise AssertionError(f"weight has shape {list(weight.shape)}, expected {[num_embeddings, embedding_dim]}")
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        if weight is None:
            made = og.empty((num_embeddings, embedding_dim), device=device, dtype=dtype)
            self.weight = Parameter(made, requires_grad=not freeze)
            self.reset_parameters()
        else:
            self.weight = Parameter(weight, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Draws the weight from the standard normal distribution, and zeroes the row of padding."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @staticmethod
    def _sizes(embeddings: Tensor) -> tuple[int, int]:
        if embeddings.ndim != 2:
            raise AssertionError(f"Embeddings parameter is expected to be 2-dimensional, found {embeddings.ndim}")
        return embeddings.shape[0], embeddings.shape[1]


class Embedding(_Table):
    """A table of ``num_embeddings`` vectors, looked up by index.

    The row ``padding_idx`` starts as zeros and gets no gradient. Rows longer than ``max_norm`` are rescaled when used.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
    ) -> None:
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._set_up(num_embeddings, embedding_dim, padding_idx, _weight, _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        norms = (self.max_norm, self.norm_type)
        return F.embedding(input, self.weight, self.padding_idx, *norms, self.scale_grad_by_freq, self.sparse)

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += ", scale_grad_by_freq=True"
        if self.sparse:
            text += ", sparse=True"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """A table of given vectors, which are not learned unless ``freeze`` is false."""
        rows, columns = cls._sizes(embeddings)
        norms = (max_norm, norm_type)
        return cls(rows, columns, padding_idx, *norms, scale_grad_by_freq, sparse, _weight=embeddings, _freeze=freeze)


class EmbeddingBag(_Table):
    """The sum, mean or maximum of the rows of a table for each bag of indices.

    Bags are the rows of inputs ``(B, N)``, or the parts of ``(N,)`` that begin at ``offsets``, of which the last is the end
    with ``include_last_offset``. Rows of ``padding_idx`` do not count.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
    ) -> None:
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._set_up(num_embeddings, embedding_dim, padding_idx, _weight, False, device, dtype)

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += ", scale_grad_by_freq=True"
        text += f", mode={self.mode!r}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """A table of given vectors, which are not learned unless ``freeze`` is false."""
        rows, columns = cls._sizes(embeddings)
        bags = cls(
            rows,
            columns,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        bags.weight.requires_grad_(not freeze)
        return bags
