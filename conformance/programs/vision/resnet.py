"""A residual network with batch normalization, warmup and a cosine schedule, in float64."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import LambdaLR


def conv3x3(in_planes: int, out_planes: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(in_planes, out_planes, kernel_size=3, stride=stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super().__init__()
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, layers=(1, 2, 1), width=8, num_classes=5):
        super().__init__()
        self.inplanes = width
        self.conv1 = nn.Conv2d(3, width, kernel_size=5, stride=1, padding=2, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layers = nn.Sequential(
            *[self._make_layer(width * 2**i, blocks, stride=1 if i == 0 else 2) for i, blocks in enumerate(layers)]
        )
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(self.inplanes, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
        for m in self.modules():
            if isinstance(m, BasicBlock):
                nn.init.constant_(m.bn2.weight, 0.2)

    def _make_layer(self, planes, blocks, stride):
        downsample = None
        if stride != 1 or self.inplanes != planes:
            downsample = nn.Sequential(nn.Conv2d(self.inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))
        layers = [BasicBlock(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes
        layers += [BasicBlock(planes, planes) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.avgpool(self.layers(x))
        return self.fc(x.flatten(1))


def augment(images):
    """Flips, shifts and erases at random, as data augmentation does."""
    flip = torch.rand(images.size(0)) < 0.5
    images = torch.where(flip[:, None, None, None], images.flip(-1), images)
    images = F.pad(images, (2, 2, 2, 2), mode="reflect")
    top, left = torch.randint(0, 5, (2,)).tolist()
    images = images[..., top : top + 16, left : left + 16].clone()
    images[:, :, 4:7, 4:7] = 0.0
    return images


def topk_accuracy(output, target, topk=(1, 3)):
    _, pred = output.topk(max(topk), 1, True, True)
    correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
    return [correct[:k].reshape(-1).float().sum(0).mul(100.0 / target.size(0)).item() for k in topk]


def main(record):
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    model = ResNet()
    decay = [p for n, p in model.named_parameters() if p.ndim > 1]
    no_decay = [p for n, p in model.named_parameters() if p.ndim <= 1]
    optimizer = torch.optim.SGD(
        [{"params": decay, "weight_decay": 5e-3}, {"params": no_decay, "weight_decay": 0.0}], lr=0.05, momentum=0.9
    )
    warmup, total = 5, 20
    scheduler = LambdaLR(
        optimizer,
        lambda step: (step + 1) / warmup if step < warmup else 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup))),
    )
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    prototypes = torch.randn(5, 3, 16, 16)
    for step in range(total):
        target = torch.randint(0, 5, (24,))
        images = augment(prototypes[target] + 0.8 * torch.randn(24, 3, 16, 16))
        model.train()
        output = model(images)
        loss = criterion(output, target)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        scheduler.step()
        record(step, loss=loss.item(), lr=optimizer.param_groups[0]["lr"], accuracy=topk_accuracy(output, target))
    model.eval()
    with torch.inference_mode():
        record("end", output=model(prototypes))
    state = model.state_dict()
    record("end", keys=list(state), tracked=state["bn1.num_batches_tracked"], running_var=state["bn1.running_var"])
    record("end", norms=[p.norm().item() for p in model.parameters()])
