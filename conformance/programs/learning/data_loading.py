"""Ways of loading data: workers, samplers, collation, iterable datasets, splits and subsets, with a model at the end."""

import math

import torch
import torch.utils.data as data
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset, TensorDataset
from torch.utils.data.sampler import Sampler


class Squares(Dataset):
    """A map-style dataset that gives dictionaries."""

    def __init__(self, count, transform=None):
        self.count, self.transform = count, transform

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index >= self.count:
            raise IndexError(index)
        x = torch.tensor([index, index + 1], dtype=torch.float32)
        sample = {"x": x, "square": float(index * index), "name": f"item{index}", "nested": [index, (x.sum(), -index)]}
        return self.transform(sample) if self.transform else sample


class Stream(IterableDataset):
    """An iterable dataset, which its workers share."""

    def __init__(self, start, end):
        self.start, self.end = start, end

    def __iter__(self):
        info = data.get_worker_info()
        if info is None:
            return iter(range(self.start, self.end))
        share = math.ceil((self.end - self.start) / info.num_workers)
        begin = self.start + info.id * share
        return iter(range(begin, min(begin + share, self.end)))


class Words(Dataset):
    def __init__(self):
        self.words = [torch.arange(n % 5 + 1) + n for n in range(24)]

    def __len__(self):
        return len(self.words)

    def __getitem__(self, index):
        return self.words[index]


class Buckets(Sampler):
    """Batches of sequences of similar lengths, in random order."""

    def __init__(self, lengths, batch_size, generator):
        self.order = sorted(range(len(lengths)), key=lambda i: lengths[i])
        self.batch_size, self.generator = batch_size, generator

    def __iter__(self):
        batches = [self.order[i : i + self.batch_size] for i in range(0, len(self.order), self.batch_size)]
        for i in torch.randperm(len(batches), generator=self.generator).tolist():
            yield batches[i]

    def __len__(self):
        return math.ceil(len(self.order) / self.batch_size)


def pad(batch):
    return nn.utils.rnn.pad_sequence(batch, batch_first=True, padding_value=-1)


def double(sample):
    return {**sample, "x": sample["x"] * 2}


def seed_worker(worker_id):
    torch.manual_seed(torch.initial_seed() % 2**32)


def main(record):
    torch.manual_seed(0)
    loader = DataLoader(Squares(10, transform=double), batch_size=4, shuffle=True)
    for number, batch in enumerate(loader):
        record(number, x=batch["x"], square=batch["square"], name=batch["name"], nested=batch["nested"][1][0])
    workers = DataLoader(Squares(17), batch_size=5, num_workers=2, worker_init_fn=seed_worker, persistent_workers=False)
    for number, batch in enumerate(workers):
        record(f"worker batch {number}", x=batch["x"], indices=batch["nested"][0])
    stream = DataLoader(Stream(3, 21), batch_size=4, num_workers=2)
    record("stream", items=sorted(item for batch in stream for item in batch.tolist()), plain=list(DataLoader(Stream(0, 5), batch_size=None)))
    words = Words()
    buckets = Buckets([len(word) for word in words], 6, torch.Generator().manual_seed(9))
    for number, batch in enumerate(DataLoader(words, batch_sampler=buckets, collate_fn=pad)):
        record(f"bucket {number}", batch=batch)
    parts = data.random_split(words, [0.5, 0.25, 0.25], generator=torch.Generator().manual_seed(42))
    record("split", sizes=[len(part) for part in parts], indices=parts[1].indices)
    joined = ConcatDataset([TensorDataset(torch.arange(3)), TensorDataset(torch.arange(10, 14))])
    record("joined", length=len(joined), item=joined[4][0], sizes=joined.cumulative_sizes, last=Subset(joined, [0, 6])[1][0])
    try:
        list(DataLoader(Subset(Squares(4), [0, 9]), num_workers=1))
    except IndexError as error:
        record("error", kind=type(error).__name__)
    record("collate", stacked=data.default_collate([{"a": 1, "b": (2.0, torch.ones(2))}, {"a": 3, "b": (4.0, torch.zeros(2))}])["b"][1])

    # A model of data whose classes are not balanced, drawn by weight.
    labels = (torch.rand(200) < 0.15).long()
    features = torch.randn(200, 3) + labels[:, None]
    weights = (1.0 / torch.bincount(labels).float())[labels]
    sampler = data.WeightedRandomSampler(weights, num_samples=20 * 16, replacement=True)
    loader = DataLoader(TensorDataset(features, labels), batch_size=16, sampler=sampler, pin_memory=False, drop_last=True)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    assert len(loader) == 20
    for step, (x, y) in enumerate(loader):
        loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record(step, loss=loss.item(), positives=y.sum().item())
