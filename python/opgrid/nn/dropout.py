"""Dropout."""

from __future__ import annotations

from .._opgrid import Tensor
from . import functional as F
from .module import Module


class Dropout(Module):
    """Zeroes elements with probability ``p`` and divides the others by ``1 - p``, when training."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"
