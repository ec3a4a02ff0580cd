"""Super-resolution by PixelShuffle with a perceptual loss: Gram matrices of a frozen network, and total variation."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn import init


class ESPCN(nn.Module):
    def __init__(self, upscale_factor):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 16, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(16, 16, (3, 3), (1, 1), (1, 1), groups=2)
        self.conv3 = nn.Conv2d(16, upscale_factor**2, (3, 3), (1, 1), (1, 1), padding_mode="replicate")
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv2.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv3.weight)

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        return self.pixel_shuffle(self.conv3(x))


class Features(nn.Module):
    """A frozen random network, whose activations are compared."""

    def __init__(self):
        super().__init__()
        self.mean: torch.Tensor
        self.register_buffer("mean", torch.tensor([0.2]).view(1, 1, 1, 1))
        self.stages = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.ELU(), nn.AvgPool2d(2)) for a, b in ((1, 6), (6, 12))
        )
        for p in self.parameters():
            p.requires_grad_(False)

    def forward(self, x):
        x = x - self.mean
        found = []
        for stage in self.stages:
            x = stage(x)
            found.append(x)
        return found


def gram_matrix(x):
    a, b, c, d = x.size()
    features = x.view(a, b, c * d)
    return torch.bmm(features, features.transpose(1, 2)).div(b * c * d)


def total_variation(x):
    return (x[:, :, :, :-1] - x[:, :, :, 1:]).abs().mean() + torch.mean(torch.abs(torch.diff(x, dim=2)))


def psnr(x, y):
    return 10 * torch.log10(1.0 / F.mse_loss(x, y))


def make_images(count, size=24):
    grid = torch.linspace(0, 2 * torch.pi, size)
    freq = torch.rand(count, 2, 1, 1) * 3 + 0.5
    phase = torch.rand(count, 1, 1) * 6
    waves = torch.sin(freq[:, 0] * grid.view(1, -1, 1) + freq[:, 1] * grid.view(1, 1, -1) + phase)
    return (waves.unsqueeze(1) + 1) / 2


def main(record):
    torch.manual_seed(11)
    torch.set_default_dtype(torch.double)
    model, features = ESPCN(3), Features().eval()
    optimizer = torch.optim.Adam(
        [{"params": model.conv1.parameters()}, {"params": model.conv2.parameters(), "lr": 2e-3}, {"params": model.conv3.parameters()}],
        lr=4e-3,
        amsgrad=True,
    )
    for step in range(20):
        high = make_images(6)
        low = F.interpolate(high, scale_factor=1 / 3, mode="bicubic", align_corners=False, antialias=False)
        output = model(low)
        content = F.l1_loss(output, high) + F.smooth_l1_loss(output, high, beta=0.1)
        style = sum(F.mse_loss(gram_matrix(a), gram_matrix(b)) for a, b in zip(features(output), features(high)))
        loss = content + 10 * style + 1e-2 * total_variation(output)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record(step, loss=loss.item(), style=style.item(), psnr=psnr(output, high).item())
    with torch.no_grad():
        test = make_images(2)
        low = F.avg_pool2d(test, 3)
        nearest = F.interpolate(low, size=test.shape[-2:], mode="nearest")
        record("end", psnr=psnr(model(low).clamp(0.0, 1.0), test), nearest=psnr(nearest, test))
        record("end", unshuffled=F.pixel_unshuffle(test, 3).shape, patches=F.unfold(low, 3, padding=1).std(dim=(1, 2)))
    record("end", output=model(low)[0, 0, :4, :4], grams=gram_matrix(features(test)[1])[0, :3])
