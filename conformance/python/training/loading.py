"""Data sets, samplers, batches and loaders of torch and of opgrid: values, orders, seeds, and the classes of errors.

Run with both packages in one environment: ``python conformance/python/training/loading.py``. Exits with 1 on a difference.
"""

from __future__ import annotations

import collections
import random
import sys
import warnings
from typing import Any

import numpy as np
import opgrid as og
import opgrid.utils.data
import torch
import torch.utils.data

# Each line is a program whose last part is an expression. ``m`` is the package, ``d`` its ``utils.data``.
CASES = """
list(d.RandomSampler(range(9)))
list(d.RandomSampler(range(9), replacement=True, num_samples=70))
list(d.RandomSampler(range(9), num_samples=20, generator=m.Generator().manual_seed(4)))
list(d.RandomSampler(range(4), num_samples=0))
list(d.RandomSampler(range(4), replacement=1))
list(d.RandomSampler([]))
list(d.SequentialSampler(range(4))), len(d.SequentialSampler(range(4)))
list(d.SubsetRandomSampler([5, 3, 8, 1])), len(d.SubsetRandomSampler([5, 3]))
list(d.WeightedRandomSampler([0.1, 0.5, 0.4], 9)), list(d.WeightedRandomSampler([0.1, 0.5, 0.4], 3, replacement=False))
list(d.WeightedRandomSampler([[0.1]], 9))
list(d.WeightedRandomSampler([0.1], True))
list(d.WeightedRandomSampler([0.1], 1, replacement=1))
list(d.BatchSampler(range(7), 3, False)), list(d.BatchSampler(range(7), 3, True)), len(d.BatchSampler(range(7), 3, True)), len(d.BatchSampler(range(7), 3, False))
d.BatchSampler(range(7), 0, False)
d.BatchSampler(range(7), 2, 1)
list(d.DistributedSampler(range(10), 3, 1)), list(d.DistributedSampler(range(10), 3, 2, shuffle=False)), list(d.DistributedSampler(range(11), 4, 0, drop_last=True))
s = d.DistributedSampler(range(10), 3, 1, seed=4); s.set_epoch(2); list(s), len(s)
list(d.DistributedSampler(range(2), 7, 6))
d.DistributedSampler(range(10), 3, 3)
[list(p) for p in d.random_split(range(10), [3, 7])]
[list(p) for p in d.random_split(range(10), [0.5, 0.25, 0.25], generator=m.Generator().manual_seed(3))]
[list(p) for p in d.random_split(range(10), [3, 6])]
[list(p) for p in d.random_split(range(10), [1.5, -0.5])]
[len(p) for p in d.random_split(range(2), [0.4, 0.3, 0.3])]
t = d.TensorDataset(m.arange(4), m.ones(4, 2)); len(t), t[1], t[1:3]
d.TensorDataset(m.arange(4), m.ones(3))
s = d.StackDataset(range(3), [5, 6, 7]); s[1], len(s), s.__getitems__([0, 2])
s = d.StackDataset(a=range(3), b=[5, 6, 7]); s[1], len(s), s.__getitems__([0, 2])
d.StackDataset(range(3), b=[1, 2, 3])
d.StackDataset()
d.StackDataset(range(3), [1])
c = d.ConcatDataset([[1, 2], [3], [4, 5]]); [c[i] for i in range(5)], c[-1], len(c), c.cumulative_sizes
d.ConcatDataset([[1, 2]])[-3]
d.ConcatDataset([])
d.ConcatDataset([Stream()])
list(Stream() + Stream()), type(Stream() + Stream()).__name__, type(Squares() + Squares()).__name__
len(d.ChainDataset([Stream()]))
list(d.ChainDataset([[1]]))
s = d.Subset(Squares(), [3, 1]); s[0], len(s), s.__getitems__([1, 0])
d.Dataset()[0]
d.default_collate([1, 2]), d.default_collate([1.5, 2.0]), d.default_collate(['a', 'b']), d.default_collate([b'a']), d.default_collate([True, False])
d.default_collate([m.ones(2), m.zeros(2)]), d.default_collate([(1, m.ones(1)), (2, m.zeros(1))]), d.default_collate([[1, 2], [3, 4]])
d.default_collate([{'a': 1, 'b': [2.0]}, {'a': 3, 'b': [4.0]}]), d.default_collate([Point(1, 2.5), Point(3, 4.5)])
d.default_collate([np.ones(2), np.zeros(2)]), d.default_collate([np.float32(1), np.float32(2)]), d.default_collate([np.int64(1)]), d.default_collate([np.array(3), np.array(4)])
d.default_collate([np.array(['a'])])
d.default_collate([None])
d.default_collate([[1], [1, 2]])
d.default_collate([collections.OrderedDict(a=1), collections.OrderedDict(a=2)])
d.default_collate([collections.deque([1, 2]), collections.deque([3, 4])])
d.default_collate([m.ones(2), m.ones(3)])
d.default_collate([1 + 2j])
d.default_convert([np.ones(2), {'a': np.float64(3), 'b': 'x'}, (1, np.int32(2)), Point(np.ones(1), None)]), d.default_convert(np.array(['a']))
batches(d.DataLoader(Squares(), batch_size=3)), len(d.DataLoader(Squares(), batch_size=3))
batches(d.DataLoader(Squares(), batch_size=3, drop_last=True)), len(d.DataLoader(Squares(), batch_size=3, drop_last=True))
l = d.DataLoader(Squares(), batch_size=3, shuffle=True); batches(l), batches(l), m.rand(2)
l = d.DataLoader(Squares(), batch_size=3, shuffle=True, generator=m.Generator().manual_seed(7)); batches(l), batches(l), m.rand(2)
l = d.DataLoader(Squares(), batch_size=3, shuffle=True, num_workers=2); batches(l), batches(l), m.rand(2)
l = d.DataLoader(Squares(), batch_size=3, shuffle=True, num_workers=2, persistent_workers=True); batches(l), batches(l), batches(l)
batches(d.DataLoader(Squares(), batch_size=None)), batches(d.DataLoader(Squares(), batch_size=None, shuffle=True))
batches(d.DataLoader(Squares(), batch_sampler=[[1, 2], [3]])), batches(d.DataLoader(Squares(), sampler=[4, 1], batch_size=2))
batches(d.DataLoader(Squares(), collate_fn=list, batch_size=2))
batches(d.DataLoader(Stream(), batch_size=4)), batches(d.DataLoader(Stream(), batch_size=4, drop_last=True)), batches(d.DataLoader(Stream(), batch_size=None))
batches(d.DataLoader(Stream(), batch_size=4, num_workers=2)), batches(d.DataLoader(Stream(), batch_size=4, num_workers=2, drop_last=True)), batches(d.DataLoader(Stream(), batch_size=None, num_workers=2))
l = d.DataLoader(Stream(), batch_size=4, num_workers=2, persistent_workers=True); batches(l), batches(l)
batches(d.DataLoader(Info(), num_workers=2, batch_size=2))
batches(d.DataLoader(Noise(), num_workers=2, batch_size=2)), batches(d.DataLoader(Noise(), num_workers=2, worker_init_fn=seeded))
batches(d.DataLoader(Broken(ValueError), num_workers=2))
batches(d.DataLoader(Broken(KeyError), num_workers=2))
batches(d.DataLoader(Broken(Odd), num_workers=2))
batches(d.DataLoader(Broken(ValueError)))
batches(d.DataLoader(Squares(), num_workers=2, worker_init_fn=failing))
d.DataLoader(Squares(), num_workers=-1)
d.DataLoader(Squares(), timeout=-1)
batches(d.DataLoader(Squares(), timeout=1))
d.DataLoader(Squares(), prefetch_factor=2)
d.DataLoader(Squares(), persistent_workers=True)
d.DataLoader(Squares(), shuffle=True, sampler=[1])
d.DataLoader(Squares(), batch_sampler=[[1]], batch_size=2)
d.DataLoader(Squares(), batch_size=None, drop_last=True)
d.DataLoader(Stream(), shuffle=True)
d.DataLoader(Stream(), sampler=[1])
d.DataLoader(Squares(), multiprocessing_context='fork')
d.DataLoader(Squares(), multiprocessing_context='spoon', num_workers=1)
d.DataLoader(Squares(), multiprocessing_context=3, num_workers=1)
l = d.DataLoader(Squares()); l.batch_size = 3
d.get_worker_info()
"""

Point = collections.namedtuple("Point", "x y")


class Odd(Exception):
    """An error that cannot be made of a text alone."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)


def names(m: Any) -> dict[str, Any]:
    """What the programs use."""
    d = m.utils.data

    class Squares(d.Dataset):  # type: ignore[misc,name-defined]
        def __len__(self) -> int:
            return 8

        def __getitem__(self, index: int) -> Any:
            return m.full((2,), index), index * index

    class Stream(d.IterableDataset):  # type: ignore[misc,name-defined]
        def __len__(self) -> int:
            return 7

        def __iter__(self) -> Any:
            info = d.get_worker_info()
            start = 0 if info is None else info.id * 100
            return iter(range(start, start + 7 + start // 50))

    class Info(d.IterableDataset):  # type: ignore[misc,name-defined]
        def __iter__(self) -> Any:
            info = d.get_worker_info()
            return iter([info.id, info.num_workers, info.seed])

    class Noise(d.Dataset):  # type: ignore[misc,name-defined]
        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> Any:
            return m.rand(2).tolist(), random.random(), np.random.rand()

    class Broken(d.Dataset):  # type: ignore[misc,name-defined]
        def __init__(self, kind: Any) -> None:
            self.kind = kind

        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> Any:
            if index == 1:
                raise self.kind(*(["no such file"] if self.kind is not Odd else [1, 2]))
            return index

    def seeded(worker: int) -> None:
        m.manual_seed(worker)

    def failing(worker: int) -> None:
        raise OSError("no camera")

    def batches(loader: Any) -> list[Any]:
        return list(loader)

    return {**globals(), **locals()}


def plain(value: Any) -> Any:
    """Tensors as their dtype and numbers."""
    if isinstance(value, (torch.Tensor, og.TensorBase)):
        return str(value.dtype).split(".")[-1], value.tolist()
    if isinstance(value, dict):
        return type(value).__name__, {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value).__name__, [plain(each) for each in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def outcome(m: Any, program: str) -> Any:
    """The value of a program, or the class of its error."""
    space = names(m)
    m.manual_seed(1)
    *before, last = program.split("; ")
    try:
        for line in before:
            exec(line, space)
        return plain(eval(last, space)) if " = " not in last else exec(last, space)
    except Exception as error:
        kind = next(each for each in type(error).__mro__ if each.__module__ == "builtins")
        return kind.__name__, "no such file" in str(error), "Caught" in str(error)


def main() -> int:
    """All programs."""
    warnings.simplefilter("ignore")
    programs = [line for line in CASES.splitlines() if line]
    wrong = 0
    for program in programs:
        theirs, ours = outcome(torch, program), outcome(og, program)
        if theirs != ours:
            wrong += 1
            print(program, f"  torch:  {theirs}", f"  opgrid: {ours}", sep="\n")
    print(f"{len(programs)} programs, {wrong} differ")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
