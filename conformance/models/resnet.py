"""A network of ResNet-18's shape, for images."""

from __future__ import annotations

from typing import Any

ABOUT = "18 layers, 2 images of 96 x 96"
#: Channels and stride of each pair of blocks.
STAGES = [(64, 1), (128, 2), (256, 2), (512, 2)]


def module() -> Any:
    from torch import nn

    class Block(nn.Module):
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
            self.first_norm = nn.BatchNorm2d(after)
            self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
            self.second_norm = nn.BatchNorm2d(after)
            self.beside = None
            if stride != 1 or before != after:
                self.beside = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

        def forward(self, x: Any) -> Any:
            y = self.first_norm(self.first(x)).relu()
            y = self.second_norm(self.second(y))
            return (y + (x if self.beside is None else self.beside(x))).relu()

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
            blocks, before = [], 64
            for after, stride in STAGES:
                blocks += [Block(before, after, stride), Block(after, after, 1)]
                before = after
            self.blocks = nn.Sequential(*blocks)
            self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(before, 1000)

        def forward(self, x: Any) -> Any:
            return self.head(self.pool(self.blocks(self.stem(x))).flatten(1))

    return Network()


def inputs(torch: Any) -> list[Any]:
    return [torch.randn(2, 3, 96, 96)]


def answer(m: Any, w: dict[str, Any], x: Any) -> Any:
    aten = m.ops.aten

    def convolved(x: Any, name: str, norm: str, stride: int, padding: int) -> Any:
        x = aten.conv2d(x, w[f"{name}.weight"], None, [stride, stride], [padding, padding])
        statistics = w[f"{norm}.running_mean"], w[f"{norm}.running_var"]
        return aten.batch_norm(x, w[f"{norm}.weight"], w[f"{norm}.bias"], *statistics, False, 0.1, 1e-5, False)

    x = aten.relu(convolved(x, "stem.0", "stem.1", 2, 3))
    x = aten.max_pool2d(x, [3, 3], [2, 2], [1, 1])
    for number in range(2 * len(STAGES)):
        name, stride = f"blocks.{number}", STAGES[number // 2][1] if number % 2 == 0 else 1
        y = aten.relu(convolved(x, f"{name}.first", f"{name}.first_norm", stride, 1))
        y = convolved(y, f"{name}.second", f"{name}.second_norm", 1, 1)
        is_wider = f"{name}.beside.0.weight" in w
        x = aten.relu(y + (convolved(x, f"{name}.beside.0", f"{name}.beside.1", stride, 0) if is_wider else x))
    pooled = aten.adaptive_avg_pool2d(x, [1, 1]).flatten(1)
    return aten.linear(pooled, w["head.weight"], w["head.bias"])
