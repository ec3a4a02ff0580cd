"""Training that is interrupted, saved and resumed: model, optimizer, scheduler, random state and history in one file."""

import io
import os
import random
import tempfile
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            OrderedDict([("lin", nn.Linear(6, 16)), ("norm", nn.BatchNorm1d(16)), ("act", nn.ReLU()), ("drop", nn.Dropout(0.2))])
        )
        self.head = nn.Linear(16, 3)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("scratch", torch.zeros(2), persistent=False)

    def forward(self, x):
        self.calls += 1
        return self.head(self.features(x))

    def get_extra_state(self):
        return {"version": 3}

    def set_extra_state(self, state):
        assert state["version"] == 3


class Trainer:
    def __init__(self):
        self.model = Net()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2, weight_decay=1e-3)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=20)
        self.history, self.step = [], 0

    def train(self, steps, record=None):
        self.model.train()
        for _ in range(steps):
            x = torch.randn(24, 6)
            y = (x[:, :3].argmax(1) + int(random.random() < 0.1)) % 3
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            self.history.append(loss.item())
            self.step += 1
            if record:
                record(self.step, loss=loss.item(), lr=self.scheduler.get_last_lr()[0])

    def save(self, path):
        state = {
            "step": self.step,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "history": torch.tensor(self.history),
            "rng": torch.get_rng_state(),
        }
        torch.save(state, path)

    def load(self, path):
        state = torch.load(path, map_location="cpu", weights_only=True)
        self.step = state["step"]
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.history = state["history"].tolist()
        torch.set_rng_state(state["rng"])


def main(record):
    random.seed(1)
    torch.manual_seed(1)
    first = Trainer()
    first.train(10, record)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pt")
        first.save(path)
        kept = random.getstate()
        first.train(10)
        random.setstate(kept)
        second = Trainer()
        second.load(path)
        second.train(10, record)
    pairs = zip(first.model.state_dict().items(), second.model.state_dict().items())
    same = all(name == other and (a == b if isinstance(a, dict) else torch.equal(a, b)) for (name, a), (other, b) in pairs)
    record("end", same=same, history=max(abs(a - b) for a, b in zip(first.history, second.history)))
    # Partial loading, as for fine-tuning.
    smaller = {k: v for k, v in second.model.state_dict().items() if not k.startswith("head")}
    fresh = Net()
    result = fresh.load_state_dict(smaller, strict=False)
    record("partial", missing=result.missing_keys, unexpected=result.unexpected_keys, text=str(fresh.load_state_dict(first.model.state_dict())))
    try:
        fresh.load_state_dict({**smaller, "head.weight": torch.zeros(2, 16), "what": torch.zeros(1)})
    except RuntimeError as error:
        record("partial", error=all(word in str(error) for word in ("size mismatch", "head.bias", "what")))
    # Buffers, views that share memory, parameters and plain containers.
    buffer = io.BytesIO()
    base = torch.arange(12.0).reshape(3, 4)
    torch.save({"base": base, "row": base[1], "t": base.t(), "half": base.half(), "mask": base > 5, "p": nn.Parameter(base), "list": [1, (2.5, "x")], "dtype": torch.float16}, buffer)
    buffer.seek(0)
    loaded = torch.load(buffer)
    loaded["base"][1, 2] = -1.0
    record("shared", row=loaded["row"], t=loaded["t"], stride=loaded["t"].stride(), half=loaded["half"][0], mask=loaded["mask"].sum())
    record("shared", parameter=isinstance(loaded["p"], nn.Parameter), requires=loaded["p"].requires_grad, rest=loaded["list"], dtype=str(loaded["dtype"]).split(".")[1])
    optimizer = first.optimizer.state_dict()
    record("optimizer", groups=sorted(optimizer["param_groups"][0]), state=sorted(optimizer["state"][0]), steps=float(optimizer["state"][0]["step"]))
