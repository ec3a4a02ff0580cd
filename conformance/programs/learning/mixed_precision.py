"""Automatic mixed precision on the CPU with bfloat16: autocast, a GradScaler that may be disabled, and models of half the size."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.amp import GradScaler, autocast

# bfloat16 has eight bits, and two libraries need not round sums in the same places.
TOLERANCE = 2e-2


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8 * 16, 32)
        self.ln = nn.LayerNorm(32)
        self.out = nn.Linear(32, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return self.out(self.ln(F.gelu(self.fc(x.flatten(1)))))


class Head(nn.Module):
    """A part that is kept in float32."""

    def forward(self, logits):
        with torch.autocast(device_type="cpu", enabled=False):
            return logits.float().log_softmax(-1)


def name(dtype):
    return str(dtype).split(".")[1]


def main(record):
    torch.manual_seed(40)
    device = torch.device("cpu")
    model, head = Classifier().to(device), Head()
    scaler = GradScaler("cpu", enabled=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    prototypes = torch.randn(4, 1, 8, 8)
    for step in range(20):
        labels = torch.randint(4, (32,))
        images = prototypes[labels] + torch.randn(32, 1, 8, 8)
        optimizer.zero_grad(set_to_none=True)
        with autocast(device_type=device.type, dtype=torch.bfloat16):
            logits = model(images)
            loss = F.nll_loss(head(logits), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        record(step, loss=loss.item())
        if step == 0:
            record(step, logits=name(logits.dtype), loss_dtype=name(loss.dtype), grad=name(model.conv.weight.grad.dtype))
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        a, b = torch.randn(3, 4), torch.randn(4, 5)
        dtypes = {
            "mm": torch.mm(a, b),
            "matmul": a @ b,
            "add": a + a,
            "mixed": (a @ b) + torch.randn(5),
            "softmax": (a @ b).softmax(-1),
            "sum": (a @ b).sum(),
            "exp": (a @ b).exp(),
            "norm": (a @ b).norm(),
            "linear": F.linear(a, b.T),
            "cat": torch.cat([a @ b, torch.ones(3, 5)]),
            "mse": F.mse_loss(a @ b, torch.ones(3, 5)),
        }
        record("autocast", dtypes={key: name(value.dtype) for key, value in dtypes.items()}, enabled=torch.is_autocast_enabled("cpu"))

    @torch.autocast("cpu", dtype=torch.bfloat16)
    def decorated(x, y):
        return x @ y

    record("autocast", decorated=name(decorated(a, b).dtype), outside=name((a @ b).dtype), default=name(torch.get_autocast_dtype("cpu")))
    # Whole models in other precisions.
    model.eval()
    half = copy.deepcopy(model).to(torch.bfloat16)
    with torch.inference_mode():
        expected = model(images[:4])
        found = half(images[:4].bfloat16()).float()
        double = copy.deepcopy(model).double()(images[:4].double())
    record("precision", double=double, close=torch.allclose(found, expected, atol=0.15, rtol=0.1), half=name(half.fc.weight.dtype))
    record("precision", finfo=[torch.finfo(d).eps for d in (torch.bfloat16, torch.float16, torch.float32)], tracked=name(half.norm.num_batches_tracked.dtype))
    record("precision", rounded=torch.tensor([1.001, 3.1415926, 1e-3]).bfloat16(), promoted=name((half.fc.weight[0, 0] + torch.ones(1)).dtype))
