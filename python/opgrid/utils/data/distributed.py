"""A sampler for several processes that train one model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import opgrid as og

from ..._opgrid import Generator
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """The indices of process ``rank`` of ``num_replicas``; all processes have as many.

    Examples are repeated to fill up, or left out with ``drop_last``. The order depends on ``seed`` and the epoch; call
    `set_epoch` before each.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise RuntimeError("DistributedSampler: num_replicas and rank are required, since there is no distributed package")
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            indices: list[int] = og.randperm(count, generator=generator).tolist()
        else:
            indices = list(range(count))
        repeats = math.ceil(self.total_size / count) if count else 0
        return iter((indices * repeats)[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch, which the order depends on."""
        self.epoch = epoch
