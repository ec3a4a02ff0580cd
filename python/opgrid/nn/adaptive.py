"""Softmax over many classes, of which rare ones are in clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import opgrid as og

from .. import _opgrid
from .._opgrid import Tensor
from . import functional as F
from .containers import ModuleList, Sequential
from .linear import Linear
from .module import Module


class _Result(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log probabilities of classes that are sorted by decreasing frequency: after Grave et al., 2017.

    Classes below ``cutoffs[0]`` are scored by the head, others by a cluster of their own for each cutoff, with
    ``in_features / div_value ** i`` features for cluster ``i``. ``forward`` takes inputs ``(N, in_features)`` and targets ``(N,)``
    and gives the targets' log probabilities ``(N,)``, and the mean loss.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: _opgrid.device | str | None = None,
        dtype: _opgrid.dtype | None = None,
    ) -> None:
        super().__init__()
        given = list(cutoffs)
        is_increasing = all(low < high for low, high in zip([0, *given], [*given, n_classes], strict=True))
        if not given or not is_increasing or any(int(cutoff) != cutoff for cutoff in given):
            raise ValueError(f"cutoffs are {given}, expected increasing whole numbers between 1 and {n_classes - 1}")
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*given, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(given)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for place, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False)):
            features = int(in_features // div_value ** (place + 1))
            first = Linear(in_features, features, False, device, dtype)
            self.tail.append(Sequential(first, Linear(features, high - low, False, device, dtype)))

    def reset_parameters(self) -> None:
        """Draws all parameters anew."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster:
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _Result:
        if target_.dim() > 1 or input_.dim() != target_.dim() + 1 or input_.shape[:-1] != target_.shape:
            raise RuntimeError(
                f"AdaptiveLogSoftmaxWithLoss: found an input of shape {list(input_.shape)} and a target of shape "
                f"{list(target_.shape)}, expected (N, in_features) and (N,), or (in_features,) and ()"
            )
        input, target = input_.reshape(-1, self.in_features), target_.reshape(-1)
        if target.numel() and not 0 <= int(target.min()) <= int(target.max()) < self.n_classes:
            found = f"{int(target.min())} to {int(target.max())}"
            raise RuntimeError(f"AdaptiveLogSoftmaxWithLoss: targets are {found}, expected 0 to {self.n_classes - 1}")
        head = F.log_softmax(self.head(input), 1)
        entries = target.clone()
        output = og.zeros_like(head[:, 0])
        for place, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False)):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            scores = F.log_softmax(self.tail[place](input.index_select(0, rows)), 1)
            inside = (target.index_select(0, rows) - low).unsqueeze(1)
            output = output.index_add(0, rows, scores.gather(1, inside).squeeze(1))
            entries = entries.index_fill(0, rows, self.shortlist_size + place)
        output = output + head.gather(1, entries.unsqueeze(1)).squeeze(1)
        return _Result(output.reshape(target_.shape), (-output).mean())

    def log_prob(self, input: Tensor) -> Tensor:
        """Log probabilities of all classes: ``(N, in_features)`` to ``(N, n_classes)``."""
        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for place, cluster in enumerate(self.tail):
            parts.append(F.log_softmax(cluster(input), 1) + head[:, self.shortlist_size + place].unsqueeze(1))
        return og.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each sample: ``(N, in_features)`` to ``(N,)``."""
        # Where the head's most probable entry is a class, none of a cluster is more probable.
        best: Tensor = self.head(input).argmax(1)
        in_cluster = best >= self.shortlist_size
        if not bool(in_cluster.any()):
            return best
        return og.where(in_cluster, self.log_prob(input).argmax(1), best)
