"""Small models with a loss, of which the backward pass is exported too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from networks import Inputs, Network


def networks() -> list[Network]:
    return [Network(f"training.{make.__name__}", make, inputs, dynamic=False, is_quick=make is mlp, trains=True) for make, inputs in MODELS]


def trained(body: Any, loss: Callable[[Any, Any], Any]) -> Any:
    """A module that gives the loss of what `body` answers."""
    from torch import nn

    class Trained(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = body

        def forward(self, x: Any, target: Any) -> Any:
            return loss(self.body(x), target)

    return Trained()


def classified(body: Any) -> Any:
    from torch.nn import functional

    return trained(body, functional.cross_entropy)


def vectors(batch: int) -> Inputs:
    import torch

    return (torch.randn(batch, 16), torch.randint(0, 5, (batch,))), {}


def images(batch: int) -> Inputs:
    import torch

    return (torch.randn(batch, 3, 16, 16), torch.randint(0, 5, (batch,))), {}


def larger_images(batch: int) -> Inputs:
    """Of which more than one element is left after five reductions, so that batches have statistics."""
    import torch

    return (torch.randn(batch, 3, 64, 64), torch.randint(0, 5, (batch,))), {}


def texts(batch: int) -> Inputs:
    import torch

    return (torch.randint(0, 30, (batch, 10)), torch.randint(0, 5, (batch,))), {}


def pictures(batch: int) -> Inputs:
    import torch

    return (torch.randn(batch, 3, 16, 16), torch.randn(batch, 3, 16, 16)), {}


def signals(batch: int) -> Inputs:
    import torch

    return (torch.randn(batch, 4, 32), torch.rand(batch, 1)), {}


def mlp() -> Any:
    from torch import nn

    return classified(nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 5)))


def convolutional() -> Any:
    from torch import nn

    layers = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, 2)]
    return classified(nn.Sequential(*layers, nn.Flatten(), nn.Linear(144, 5)))


def residual() -> Any:
    from torchvision.models.resnet import BasicBlock, ResNet

    return classified(ResNet(BasicBlock, [1, 1, 1, 1], num_classes=5))


def depthwise() -> Any:
    from torchvision.models.efficientnet import MBConvConfig, _efficientnet

    settings = [MBConvConfig(1, 3, 1, 8, 8, 1, 1.0, 1.0), MBConvConfig(4, 5, 2, 8, 16, 1, 1.0, 1.0)]
    return classified(_efficientnet(settings, 0.0, 32, None, False, num_classes=5, stochastic_depth_prob=0.0))


def attention() -> Any:
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.symbols = nn.Embedding(30, 16)
            layer = nn.TransformerEncoderLayer(16, 4, 32, 0.0, batch_first=True)
            self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.last = nn.Linear(16, 5)

        def forward(self, x: Any) -> Any:
            return self.last(self.layers(self.symbols(x)).mean(1))

    return classified(Encoder())


def patches() -> Any:
    from torchvision.models import VisionTransformer

    return classified(VisionTransformer(16, 4, num_layers=2, num_heads=2, hidden_dim=16, mlp_dim=32, num_classes=5))


def recurrent() -> Any:
    from torch import nn

    class Recurrent(nn.Module):
        """A recurrence that is written out, with gates."""

        def __init__(self) -> None:
            super().__init__()
            self.symbols = nn.Embedding(30, 16)
            self.cell = nn.GRUCell(16, 16)
            self.last = nn.Linear(16, 5)

        def forward(self, x: Any) -> Any:
            symbols = self.symbols(x)
            state = symbols[:, 0].tanh()
            for place in range(1, 5):
                state = self.cell(symbols[:, place], state)
            return self.last(state)

    return classified(Recurrent())


def autoencoder() -> Any:
    from torch import nn
    from torch.nn import functional

    layers = [nn.Conv2d(3, 8, 3, 2, 1), nn.GroupNorm(2, 8), nn.SiLU(), nn.ConvTranspose2d(8, 8, 4, 2, 1), nn.LeakyReLU(0.2)]
    return trained(nn.Sequential(*layers, nn.Conv2d(8, 3, 3, padding=1), nn.Tanh()), functional.mse_loss)


def upsampled() -> Any:
    from torch import nn
    from torch.nn import functional

    layers = [nn.Conv2d(3, 8, 3, 2, 1), nn.InstanceNorm2d(8, affine=True), nn.Hardswish(), nn.AvgPool2d(2)]
    layers += [nn.Upsample(scale_factor=4, mode="bilinear"), nn.Conv2d(8, 3, 3, padding=1)]
    return trained(nn.Sequential(*layers), functional.smooth_l1_loss)


def signal() -> Any:
    from torch import nn
    from torch.nn import functional

    layers = [nn.Conv1d(4, 8, 5), nn.BatchNorm1d(8), nn.ELU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(32, 1)]
    return trained(nn.Sequential(*layers), functional.binary_cross_entropy_with_logits)


def squeezed() -> Any:
    import torch
    from torch import nn

    class Gated(nn.Module):
        """Convolutions whose channels are joined, split and weighed."""

        def __init__(self) -> None:
            super().__init__()
            self.wide, self.narrow = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(3, 8, 1)
            self.gate, self.last = nn.Linear(16, 16), nn.Linear(8, 5)

        def forward(self, x: Any) -> Any:
            x = torch.cat([self.wide(x), self.narrow(x)], 1)
            x = x * self.gate(x.mean((2, 3))).sigmoid()[:, :, None, None]
            one, other = x.chunk(2, 1)
            return self.last((one * torch.nn.functional.softplus(other)).amax((2, 3)))

    return classified(Gated())


MODELS: list[tuple[Callable[[], Any], Callable[[int], Inputs]]] = [
    (mlp, vectors),
    (convolutional, images),
    (residual, larger_images),
    (depthwise, images),
    (attention, texts),
    (patches, images),
    (recurrent, texts),
    (autoencoder, pictures),
    (upsampled, pictures),
    (signal, signals),
    (squeezed, images),
]
