"""Averages of weights: SWA with its batch statistics, exponential moving averages, and an ensemble of snapshots."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn
from torch.utils.data import DataLoader, TensorDataset


class EMA:
    """A shadow of a model's parameters, as people write it."""

    def __init__(self, model, decay):
        self.model, self.decay = model, decay
        self.shadow = {name: p.data.clone() for name, p in model.named_parameters() if p.requires_grad}
        self.backup = {}

    def update(self):
        for name, p in self.model.named_parameters():
            if p.requires_grad:
                self.shadow[name] = ((1.0 - self.decay) * p.data + self.decay * self.shadow[name]).clone()

    def __enter__(self):
        for name, p in self.model.named_parameters():
            self.backup[name], p.data = p.data, self.shadow[name]

    def __exit__(self, *_):
        for name, p in self.model.named_parameters():
            p.data = self.backup.pop(name)


def make_model():
    return nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16, momentum=0.2), nn.ReLU(), nn.Linear(16, 2))


def spiral(count):
    angle = torch.rand(count) * 3 * torch.pi
    label = torch.randint(2, (count,))
    radius = angle / 3 + label * torch.pi / 3
    point = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1) / 3
    return torch.cat([point, point**2], dim=1) + 0.03 * torch.randn(count, 4), label


@torch.no_grad()
def accuracy(model, x, y):
    was_training = model.training
    model.eval()
    value = (model(x).argmax(1) == y).double().mean().item()
    model.train(was_training)
    return value


def main(record):
    torch.manual_seed(60)
    torch.set_default_dtype(torch.float64)
    dataset = TensorDataset(*spiral(160))
    x, y = dataset.tensors
    loader = DataLoader(dataset, batch_size=32, shuffle=True)
    model = make_model()
    swa_model = AveragedModel(model)
    ema_model = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
    own = AveragedModel(model, avg_fn=lambda averaged, current, count: 0.5 * averaged + 0.5 * current)
    shadow = EMA(model, 0.9)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.8)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    swa_scheduler = SWALR(optimizer, anneal_strategy="linear", anneal_epochs=3, swa_lr=0.05)
    snapshots, step = [], 0
    for epoch in range(4):
        for batch, labels in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch), labels)
            loss.backward()
            optimizer.step()
            ema_model.update_parameters(model)
            shadow.update()
            if step >= 8:
                swa_model.update_parameters(model)
                own.update_parameters(model)
                swa_scheduler.step()
            else:
                scheduler.step()
            step += 1
            record(step, loss=loss.item(), lr=optimizer.param_groups[0]["lr"])
        snapshots.append(copy.deepcopy(model).eval())
        record(f"epoch {epoch}", averaged=int(swa_model.n_averaged), ema=next(ema_model.parameters()).norm())
    update_bn(loader, swa_model)
    for name, other in (("plain", model), ("swa", swa_model), ("ema", ema_model), ("own", own)):
        record(name, accuracy=accuracy(other, x, y), weight=list(other.parameters())[0][0])
    before = model[0].weight.clone()
    with shadow:
        record("shadow", accuracy=accuracy(model, x, y), distance=(model[0].weight - before).norm())
    record("shadow", restored=torch.equal(before, model[0].weight), keys=list(swa_model.state_dict())[:3])
    record("bn", mean=swa_model.module[1].running_mean[:4], momentum=swa_model.module[1].momentum)
    with torch.no_grad():
        votes = torch.stack([snapshot(x).softmax(-1) for snapshot in snapshots])
        record("ensemble", mean=votes.mean(0)[:3], disagreement=votes.var(dim=0).mean())
