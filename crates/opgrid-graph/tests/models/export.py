"""Writes the exported programs of the tests, with their inputs and what torch gives for them.

    python export.py [NAME]...  writes NAME.pt2 and NAME.npz beside this file, or where the operators are; needs torchvision

Each model is seeded and small. An .npz holds the inputs in0, in1, … and the results out0, out1, … of the exported program; those of
16 bits are widened, since numpy has no bfloat16. Archives are written again without the sample inputs, which nobody reads.
"""

import io
import math
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import torch
import torchvision
from torch import nn
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch.utils import _pytree as pytree

warnings.filterwarnings("ignore")
FOLDER = Path(__file__).parent
Dim = torch.export.Dim


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        self.one = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.SiLU(), nn.Conv2d(8, 8, 3, 1, 1, groups=8))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(8, 5)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.normal_()
                module.running_var.uniform_(0.5, 2)

    def forward(self, x):
        x = self.stem(x)
        x = nn.functional.relu(x + self.one(x), inplace=True)
        return self.head(torch.flatten(self.pool(x), 1))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation="gelu", norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.register_buffer("positions", torch.randn(1, 6, 16), persistent=False)

    def forward(self, tokens):
        mask = torch.triu(torch.full((6, 6), float("-inf")), diagonal=1)
        x = self.embedding(tokens) + self.positions
        return self.layers(x, mask=mask, is_causal=True)


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: (self.linear(x), x.sum() + x.shape[0]), lambda x: (x - 1, x.sum()), (x,))


class Loop(nn.Module):
    def forward(self, i, x):
        return torch._higher_order_ops.while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2), (i, x))


class Scans(nn.Module):
    """A loop over the rows of tensors that keeps values and gives one for each row, and one that keeps none."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3))

    def forward(self, xs, start):
        def step(kept, row):
            total = kept["total"] * self.weight + row
            return {"total": total, "count": kept["count"] + 1}, (total.relu(), row.sum())

        kept = {"total": start, "count": torch.zeros(())}
        kept, rows = scan(step, kept, xs, dim=1, reverse=True)
        return kept, rows, map_rows(lambda row, start: (row.sum(0) + start).exp(), xs, start)


class Modes(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        with torch.no_grad():
            y = self.linear(x).relu()
            z = y + 1
        with torch.autocast("cpu", dtype=torch.bfloat16):
            w = self.linear(z)
            with torch.autocast("cpu", enabled=False):
                v = self.linear(z)
        return y + w, z, v


class Writes(nn.Module):
    """Buffers and inputs that are written, shared and transposed weights."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(2, dtype=torch.int64))
        self.weight = nn.Parameter(torch.randn(3, 3))
        self.same = self.weight
        self.register_buffer("turned", self.weight.data.t())
        self.register_buffer("row", self.weight.data[1])

    def forward(self, x, more):
        self.count.add_(1)
        x.mul_(2)
        return more["a"] + x @ self.weight @ self.same @ self.turned + self.row, self.count.clone(), x.sum()


class Sizes(nn.Module):
    """Sizes that vary, and numbers computed of them."""

    def forward(self, x, y, n, scale=2.5):
        b = x.shape[0]
        k = b // 2 + max(b, 3) % 5
        u = x.new_ones(k, b * 2)
        first, rest = x[:1], x[b // 3 :]
        values, places = torch.topk(y, 2)
        return {
            "u": u * n,
            "parts": [first, rest, *torch.chunk(x, 2, 1)],
            "named": (x[:, [0, 1]] * (math.sqrt(b) * scale), values, places, b - 1),
            "wide": torch.cat([x.view(-1), x.reshape(b * 4)]).sum(),
        }


class Counted(nn.Module):
    """Sizes that depend on data."""

    def forward(self, y):
        found = y.nonzero()
        count = (y > 0).sum().item()
        torch._check(count >= 0)
        torch._check(count <= 100)
        return found, torch.arange(count), y[y > 0]


class Elements(nn.Module):
    """Sizes that depend on data, and what is computed with them."""

    def forward(self, x, n):
        chosen = x > 0
        rows, columns = chosen.nonzero().unbind(1)
        count = n.item()
        torch._check_is_size(count)
        torch._check(count <= x.shape[0])
        values, inverse, counts = torch.unique(n.repeat(3), return_inverse=True, return_counts=True)
        first = x[:count]
        return {
            "rows": x[rows, columns] * columns,
            "chosen": x[chosen].reshape(-1, 1).expand(-1, 2) + torch.zeros(rows.shape[0], 2),
            "first": first.sum(0) / count,
            "more": (torch.full((count * 2 + 1,), count), first.shape[0] + 1),
            "unique": (values, inverse, counts),
        }


class Detector(nn.Module):
    """Boxes for each place of an image, the best that do not overlap, and what is in them."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU())
        self.offset = nn.Conv2d(8, 18, 3, padding=1)
        self.deformed = torchvision.ops.DeformConv2d(8, 8, 3, padding=1)
        self.boxes = nn.Conv2d(8, 5, 1)
        self.head = nn.Linear(8 * 4, 5)

    def forward(self, image):
        features = self.features(image)
        features = self.deformed(features, self.offset(features)).relu()
        height, width = features.shape[-2:]
        rows, columns = torch.meshgrid(torch.arange(height) * 2.0 + 1, torch.arange(width) * 2.0 + 1, indexing="ij")
        found = self.boxes(features)[0].sigmoid()
        sides = found[1:] * 6 + 1
        boxes = torch.stack([columns - sides[0], rows - sides[1], columns + sides[2], rows + sides[3]], -1).flatten(0, 1)
        scores = found[0].flatten()
        kept = torchvision.ops.nms(boxes, scores, 0.3)
        boxes = boxes[kept]
        cut = torchvision.ops.roi_align(features, [boxes], 2, 0.5, 2, True)
        return boxes, scores[kept], self.head(cut.flatten(1)).softmax(-1)


class Dtypes(nn.Module):
    def __init__(self):
        super().__init__()
        plain = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float64, torch.bfloat16]
        self.names = []
        for dtype in plain + [torch.bool, torch.complex64, torch.complex128, torch.uint16, torch.uint32, torch.uint64]:
            name = "of_" + str(dtype).split(".")[1]
            self.names.append(name)
            self.register_buffer(name, torch.tensor([0, 1, 3]).to(dtype))
        for dtype in [torch.float8_e4m3fn, torch.float8_e5m2]:
            name = "of_" + str(dtype).split(".")[1]
            self.names.append(name)
            self.register_buffer(name, torch.tensor([0.0, 1.0, 3.0]).to(dtype))

    def forward(self, x):
        return [getattr(self, name).to(torch.complex128 if "complex" in name else torch.float64) + x for name in self.names]


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.utils.weight_norm(nn.Linear(4, 4))
        self.gru = nn.GRU(4, 5, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        y, h = self.gru(self.linear(x))
        return self.dropout(y), h + torch.tensor([1.5]), torch.empty_like(y, memory_format=torch.contiguous_format).zero_()


def training():
    model = nn.Sequential(nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4), nn.ReLU())
    return model.train()


def mlp():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4), nn.Softmax(-1))


def cases():
    randn = torch.randn
    batch = Dim("batch", min=1, max=64)
    yield "mlp", mlp, (randn(3, 8),), {"dynamic_shapes": ({0: batch},)}, True
    yield "convolutions", Convolutions, (randn(2, 3, 17, 19),), {}, True
    yield "transformer", Transformer, (torch.randint(0, 20, (3, 6)),), {"dynamic_shapes": ({0: batch},)}, True
    yield "transformer_core", Transformer, (torch.randint(0, 20, (3, 6)),), {"dynamic_shapes": ({0: batch},), "core": True}, True
    yield "branches", Branches, (randn(3, 4) + 1,), {}, True
    yield "loop", Loop, (torch.tensor(0), randn(3)), {}, True
    yield "scans", Scans, (randn(4, 5, 3), randn(4, 3)), {}, True
    yield "modes", Modes, (randn(3, 4),), {}, True
    yield "writes", Writes, (randn(3, 3), {"a": torch.ones(3)}), {}, True
    yield "writes_core", Writes, (randn(3, 3), {"a": torch.ones(3)}), {"core": True}, True
    shapes = {"x": {0: Dim.AUTO}, "y": {0: Dim.AUTO}, "n": Dim.DYNAMIC, "scale": None}
    yield "sizes", Sizes, (randn(6, 4), randn(6), 3, 2.5), {"dynamic_shapes": shapes}, True
    yield "counted", Counted, (torch.tensor([0.0, 1.0, -1.0, 2.0]),), {}, True
    yield "elements", Elements, (torch.tensor([[0.5, 1.0, -1.0], [2.0, -3.0, 0.0], [1.5, 0.0, 4.0], [-1.0, 2.5, -2.0]]), torch.tensor(3)), {}, True
    yield "detector", Detector, (randn(1, 3, 16, 16),), {}, True
    yield "dtypes", Dtypes, (torch.ones((), dtype=torch.float64),), {}, True
    yield "recurrent", Recurrent, (randn(2, 3, 4),), {}, True
    yield "training", training, (randn(3, 2, 9),), {}, False


def folder_of(name):
    """Programs that call torchvision's operators lie with the crate that has them."""
    return FOLDER.parents[2] / "opgrid-vision/tests" if name == "detector" else FOLDER


def array(value):
    value = torch.as_tensor(value).detach()
    if value.dtype in (torch.bfloat16, torch.float16):
        value = value.float()
    return value.numpy()


def without_samples(data):
    source, target = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as out:
        for info in source.infolist():
            if "/sample_inputs/" in info.filename or info.filename.endswith("serialization_id"):
                continue
            entry = zipfile.ZipInfo(info.filename, (1980, 1, 1, 0, 0, 0))
            # Lines of code say where nodes come from; what they say of this machine is left out.
            content = source.read(info).replace(str(FOLDER).encode() + b"/", b"").replace((str(Path(torch.__path__[0]).parent) + "/").encode(), b"")
            out.writestr(entry, content)
    return target.getvalue()


def main():
    only = sys.argv[1:]
    for name, make, args, options, is_eval in cases():
        if only and name not in only:
            continue
        torch.manual_seed(7)
        model = make()
        if is_eval:
            model.eval()
        core = options.pop("core", False)
        program = torch.export.export(model, args, **options)
        if core:
            program = program.run_decompositions()
        buffer = io.BytesIO()
        torch.export.save(program, buffer)
        (folder_of(name) / f"{name}.pt2").write_bytes(without_samples(buffer.getvalue()))
        copies = pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, args)
        leaves = [leaf for leaf in pytree.tree_leaves(args) if isinstance(leaf, (torch.Tensor, int)) and not isinstance(leaf, float)]
        arrays = {f"in{index}": array(leaf) for index, leaf in enumerate(leaves)}
        with torch.no_grad():
            results = pytree.tree_leaves(torch.export.load(io.BytesIO(buffer.getvalue())).module()(*copies))
        arrays |= {f"out{index}": array(leaf) for index, leaf in enumerate(results)}
        np.savez(folder_of(name) / f"{name}.npz", **arrays)
        print(name, len(program.graph.nodes), "nodes,", (folder_of(name) / f"{name}.pt2").stat().st_size, "bytes", flush=True)


if __name__ == "__main__":
    main()
