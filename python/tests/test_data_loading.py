"""Data sets, samplers and loaders: by orders that torch gives, with workers in processes and threads, and by mistakes."""

from __future__ import annotations

import collections
import multiprocessing
import os
import random
import time

import opgrid as og
import pytest
from opgrid.utils import data

WAYS = ["fork", "spawn", "thread"]


class Squares(data.Dataset):
    def __init__(self, count=8):
        self.table = og.arange(count)

    def __len__(self):
        return len(self.table)

    def __getitem__(self, index):
        return self.table[index] * 2, index * index


class Stream(data.IterableDataset):
    def __iter__(self):
        info = data.get_worker_info()
        start = 0 if info is None else info.id * 100
        return iter(range(start, start + 7 + start // 50))


class Failing(data.Dataset):
    def __init__(self, kind, *args):
        self.kind, self.args = kind, args

    def __len__(self):
        return 4

    def __getitem__(self, index):
        if index == 1:
            raise self.kind(*self.args)
        return index


class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


class Products(data.Dataset):
    """Examples that need the threads of the library."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        x = og.full((200, 200), float(index))
        return (x @ x).sum() + og.ones(100000).sum()


class Info(data.IterableDataset):
    def __iter__(self):
        info = data.get_worker_info()
        return iter([info.id, info.num_workers, info.seed, os.getpid(), len(info.dataset.kept)])

    kept = (1, 2, 3)


class Noise(data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return og.rand(1).item(), random.random()


def lists(loader):
    return [batch.tolist() if isinstance(batch, og.Tensor) else [part.tolist() for part in batch] for batch in loader]


# By torch 2.15, after `manual_seed(1)`.
def test_orders_are_those_of_torch():
    def drawn(sampler):
        og.manual_seed(1)
        return list(sampler)

    assert drawn(data.RandomSampler(range(9))) == [6, 3, 4, 1, 5, 2, 7, 8, 0]
    assert drawn(data.RandomSampler(range(5), replacement=True, num_samples=35)) == [
        1,
        2,
        0,
        4,
        1,
        4,
        0,
        0,
        4,
        1,
        2,
        1,
        4,
        3,
        0,
        2,
        4,
        2,
        1,
        4,
        2,
        3,
        3,
        0,
        3,
        1,
        1,
        3,
        2,
        1,
        1,
        4,
        0,
        3,
        1,
    ]
    assert drawn(data.SubsetRandomSampler([5, 3, 8, 1])) == [3, 1, 8, 5]
    assert drawn(data.WeightedRandomSampler([0.1, 0.5, 0.4], 9)) == [0, 1, 1, 1, 1, 1, 1, 2, 1]
    assert drawn(data.DistributedSampler(range(10), 3, 1)) == [1, 3, 8, 4]
    og.manual_seed(1)
    assert [list(part) for part in data.random_split(range(10), [0.5, 0.25, 0.25])] == [[5, 6, 1, 2, 0, 8], [9, 3], [7, 4]]
    og.manual_seed(1)
    loader = data.DataLoader(range(8), batch_size=3, shuffle=True)
    assert [lists(loader), lists(loader)] == [[[6, 1, 0], [3, 4, 5], [7, 2]], [[0, 5, 2], [6, 3, 4], [1, 7]]]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("persistent", [False, True])
def test_workers_give_the_batches_of_one_process(way, persistent):
    og.manual_seed(3)
    alone = data.DataLoader(Squares(), batch_size=3, shuffle=True)
    expected = [lists(alone), lists(alone)]
    og.manual_seed(3)
    loader = data.DataLoader(
        Squares(), batch_size=3, shuffle=True, num_workers=2, multiprocessing_context=way, persistent_workers=persistent
    )
    first = lists(loader)
    assert first == expected[0]
    second = lists(loader)
    assert sorted(sum((batch[1] for batch in second), [])) == [i * i for i in range(8)]
    if not persistent:
        assert second == expected[1]
    assert len(loader) == 3


@pytest.mark.parametrize("way", ["fork", "thread"])
def test_iterable_data_sets_end_by_worker(way):
    loader = data.DataLoader(Stream(), batch_size=4, num_workers=2, multiprocessing_context=way, persistent_workers=True)
    expected = [[0, 1, 2, 3], [100, 101, 102, 103], [4, 5, 6], [104, 105, 106, 107], [108]]
    assert lists(loader) == expected and lists(loader) == expected
    whole = data.DataLoader(Stream(), batch_size=4, drop_last=True, num_workers=2, multiprocessing_context=way)
    assert lists(whole) == [[0, 1, 2, 3], [100, 101, 102, 103], [104, 105, 106, 107]]


@pytest.mark.parametrize("way", ["fork", "thread"])
def test_workers_know_which_they_are(way):
    started = []
    options = {"num_workers": 2, "batch_size": None, "multiprocessing_context": way}
    found = list(data.DataLoader(Info(), worker_init_fn=started.append, generator=og.Generator().manual_seed(7), **options))
    ids, seeds, pids = found[0:2], found[4:6], set(found[6:8])
    assert ids == [0, 1] and found[2:4] == [2, 2] and seeds[1] == seeds[0] + 1 and found[8:] == [3, 3]
    assert (os.getpid() in pids) == (way == "thread") and len(pids) == (1 if way == "thread" else 2)
    assert sorted(started) == ([0, 1] if way == "thread" else [])
    assert data.get_worker_info() is None


def test_workers_have_random_numbers_of_their_own():
    og.manual_seed(1)
    one = list(data.DataLoader(Noise(), num_workers=2, collate_fn=list))
    og.manual_seed(1)
    other = list(data.DataLoader(Noise(), num_workers=2, collate_fn=list))
    assert one == other and len({batch[0][0] for batch in one}) == len({batch[0][1] for batch in one}) == 4


@pytest.mark.parametrize("way", WAYS)
def test_operators_run_in_workers_after_they_ran_here(way):
    before = og.get_num_threads()
    og.set_num_threads(4)
    try:
        expected = [Products()[index].item() for index in range(4)]
        loader = data.DataLoader(Products(), batch_size=None, num_workers=2, multiprocessing_context=way, timeout=60)
        assert [batch.item() for batch in loader] == expected
        # This process goes on with its threads.
        assert Products()[3].item() == expected[3]
    finally:
        og.set_num_threads(before)


@pytest.mark.parametrize("way", ["fork", "thread"])
@pytest.mark.parametrize(
    ("dataset", "kind"),
    [
        (Failing(ValueError, "no such file"), ValueError),
        (Failing(KeyError, "no such file"), KeyError),
        (Failing(Odd, "no such file", 2), RuntimeError),
    ],
)
def test_errors_of_workers_are_raised_with_their_text(way, dataset, kind):
    loader = data.DataLoader(dataset, num_workers=2, multiprocessing_context=way)
    batches = iter(loader)
    assert next(batches).tolist() == [0]
    with pytest.raises(kind) as raised:
        next(batches)
    message = str(raised.value)
    assert (
        f"Caught {dataset.kind.__name__} in DataLoader worker {'process' if way == 'fork' else 'thread'} 1.\nOriginal Traceback"
        in message
    )
    assert "no such file" in message and "in __getitem__" in message
    # The others are given nevertheless.
    assert [batch.tolist() for batch in batches] == [[2], [3]]


def fail(worker):
    raise OSError(f"no camera for {worker}")


def leave(worker):
    os._exit(7)


def sleep(worker):
    time.sleep(30)


def test_workers_that_cannot_begin_say_why():
    with pytest.raises(OSError, match="no camera for 0"):
        list(data.DataLoader(Squares(), num_workers=1, worker_init_fn=fail))


def test_workers_that_die_are_noticed(monkeypatch):
    monkeypatch.setattr(data._workers, "CHECK_SECONDS", 0.2)
    with pytest.raises(RuntimeError, match=r"worker \(pid\(s\) \d+\) exited unexpectedly, with exit code \[7\]"):
        list(data.DataLoader(Squares(), num_workers=1, worker_init_fn=leave))


def test_waiting_ends_in_time(monkeypatch):
    monkeypatch.setattr(data._workers, "CHECK_SECONDS", 0.2)
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="timed out after 0.5 seconds"):
        list(data.DataLoader(Squares(), num_workers=1, worker_init_fn=sleep, timeout=0.5))
    assert time.monotonic() - begin < 25


def test_processes_end_with_their_iterator():
    before = set(multiprocessing.active_children())
    batches = iter(data.DataLoader(Squares(100), num_workers=2))
    next(batches)
    workers = set(multiprocessing.active_children()) - before
    assert len(workers) == 2 and all(worker.is_alive() for worker in workers)
    del batches
    assert not any(worker.is_alive() for worker in workers)


class Images(data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return og.full((3, 100, 100), float(index)), og.full((2,), index)


def test_large_batches_lie_in_memory_of_both_processes(monkeypatch):
    def files():
        found = [name for name in os.listdir("/dev/shm") if name.startswith("opgrid-loader-")]
        return sum(len(os.listdir(f"/dev/shm/{name}")) for name in found), len(found)

    before = files()
    batches = iter(data.DataLoader(Images(), batch_size=2, num_workers=1))
    first = next(batches)
    del batches
    assert files() == before
    # The memory stays as long as the tensor, which may be written.
    first[0].add_(1)
    assert first[0].shape == (2, 3, 100, 100) and first[0][1].mean().item() == 2 and first[1].tolist() == [[0, 0], [1, 1]]
    whole = [batch[0][:, 0, 0, 0].tolist() for batch in data.DataLoader(Images(), batch_size=2, num_workers=2)]
    assert whole == [[0, 1], [2, 3], [4, 5]] and files() == before
    monkeypatch.setattr(data._transport, "_SHARED", "/no/such/folder")
    assert len(list(data.DataLoader(Images(), batch_size=2, num_workers=2))) == 3


def test_batches_may_come_out_of_order():
    loader = data.DataLoader(Squares(), batch_size=2, num_workers=2, multiprocessing_context="thread", in_order=False)
    assert sorted(sum((batch[1] for batch in lists(loader)), [])) == [i * i for i in range(8)]


Point = collections.namedtuple("Point", "x y")


def test_examples_become_batches():
    assert data.default_collate([1, 2]).tolist() == [1, 2] and data.default_collate([True, False]).dtype is og.bool
    floats = data.default_collate([1.5, 2.0])
    assert floats.dtype is og.float64 and data.default_collate(["a", "b"]) == ["a", "b"]
    stacked = data.default_collate([{"x": og.ones(2), "y": (1, "t")}, {"x": og.zeros(2), "y": (2, "u")}])
    assert (
        stacked["x"].tolist() == [[1.0, 1.0], [0.0, 0.0]] and stacked["y"][0].tolist() == [1, 2] and stacked["y"][1] == ("t", "u")
    )
    point = data.default_collate([Point(1, 2.5), Point(3, 4.5)])
    assert isinstance(point, Point) and point.y.tolist() == [2.5, 4.5]
    assert isinstance(data.default_collate([collections.OrderedDict(a=1)]), collections.OrderedDict)
    shared = [1, 2]
    data.default_collate([shared, [3, 4]])
    assert shared == [1, 2]


def test_arrays_become_tensors():
    np = pytest.importorskip("numpy")
    assert data.default_collate([np.ones(2), np.zeros(2)]).dtype is og.float64
    assert data.default_collate([np.float32(1), np.float32(2)]).dtype is og.float32
    converted = data.default_convert({"a": np.int16(3), "b": [np.ones(1)], "c": "text", "d": np.array(["x"])})
    assert converted["a"].dtype is og.int16 and converted["b"][0].tolist() == [1.0] and converted["c"] == "text"
    assert isinstance(converted["d"], np.ndarray)


def test_data_sets_are_made_of_others():
    tensors = data.TensorDataset(og.arange(4), og.ones(4, 2))
    assert len(tensors) == 4 and tensors[2][0].item() == 2 and tensors[1:3][1].shape == (2, 2)
    joined = Squares(2) + Squares(3)
    assert len(joined) == 5 and [joined[i][1] for i in range(5)] == [0, 1, 0, 1, 4] and joined[-1][1] == 4
    assert list(Stream() + Stream()) == [*range(7), *range(7)]
    stacked = data.StackDataset(a=range(3), b=data.Subset([5, 6, 7], [2, 1, 0]))
    assert stacked[0] == {"a": 0, "b": 7} and stacked.__getitems__([1, 2]) == [{"a": 1, "b": 6}, {"a": 2, "b": 5}]
    assert data.Subset(range(10), [3, 1])[1] == 1


X = Squares()


@pytest.mark.parametrize(
    ("wrong", "kind", "text"),
    [
        (lambda: data.DataLoader(X, num_workers=-1), ValueError, "num_workers option should be non-negative, found -1"),
        (lambda: data.DataLoader(X, timeout=-1), ValueError, "timeout option should be non-negative"),
        (lambda: iter(data.DataLoader(X, timeout=1)), AssertionError, "timeout needs num_workers > 0"),
        (lambda: data.DataLoader(X, prefetch_factor=2), ValueError, "set num_workers, or leave it None"),
        (lambda: data.DataLoader(X, persistent_workers=True), ValueError, "persistent_workers option needs num_workers > 0"),
        (lambda: data.DataLoader(X, shuffle=True, sampler=[1]), ValueError, "sampler option is mutually exclusive with shuffle"),
        (lambda: data.DataLoader(X, batch_sampler=[[1]], batch_size=2), ValueError, "batch_sampler option is mutually exclusive"),
        (lambda: data.DataLoader(X, batch_size=None, drop_last=True), ValueError, "batch_size=None option disables auto-batching"),
        (lambda: data.DataLoader(Stream(), shuffle=True), ValueError, "expected unspecified shuffle option"),
        (lambda: data.DataLoader(X, multiprocessing_context="fork"), ValueError, "can only be used with num_workers > 0"),
        (lambda: data.DataLoader(X, num_workers=1, multiprocessing_context="spoon"), ValueError, "'thread'], but got 'spoon'"),
        (
            lambda: setattr(data.DataLoader(X), "batch_size", 2),
            ValueError,
            "batch_size attribute should not be set after DataLoader",
        ),
        (lambda: data.default_collate([None]), TypeError, "batch must contain tensors, numpy arrays, numbers, dicts or lists"),
        (lambda: data.default_collate([[1], [1, 2]]), RuntimeError, "should be of equal size, found [1, 2]"),
        (lambda: data.TensorDataset(og.ones(2), og.ones(3)), AssertionError, "Size mismatch between tensors: found [2, 3]"),
        (lambda: data.ConcatDataset([]), AssertionError, "datasets should not be an empty iterable"),
        (lambda: data.ConcatDataset([Stream()]), AssertionError, "chain them with ChainDataset"),
        (lambda: data.random_split(range(3), [1, 1]), ValueError, "found 2, expected 3"),
        (lambda: data.RandomSampler([]), ValueError, "num_samples should be a positive integer value, but got num_samples=0"),
        (lambda: data.BatchSampler([1], 0, False), ValueError, "batch_size should be a positive integer value"),
        (lambda: data.DistributedSampler(range(3)), RuntimeError, "num_replicas and rank are required"),
        (lambda: data.DistributedSampler(range(3), 2, 2), ValueError, "rank should be in the interval [0, 1]"),
        (lambda: data.Dataset()[0], NotImplementedError, "Dataset has to define __getitem__"),
    ],
)
def test_mistakes_are_named(wrong, kind, text):
    with pytest.raises(kind) as raised:
        wrong()
    assert text in str(raised.value)


def test_more_workers_than_cores_are_warned_of():
    with pytest.warns(UserWarning, match="expected at most"):
        data.DataLoader(X, num_workers=10000)
