"""A U-Net that segments generated discs, with a Dice loss and a weighted cross entropy."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Module):
    """(convolution => [BN] => ReLU) * 2"""

    def __init__(self, in_channels, out_channels, mid_channels=None):
        super().__init__()
        mid_channels = mid_channels or out_channels
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, mid_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(mid_channels),
            nn.LeakyReLU(0.1, inplace=True),
            nn.Conv2d(mid_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.GroupNorm(4, out_channels),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)


class Down(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(in_channels, out_channels))

    def forward(self, x):
        return self.maxpool_conv(x)


class Up(nn.Module):
    def __init__(self, in_channels, out_channels, bilinear=True):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(in_channels, out_channels, in_channels // 2)
        else:
            self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        diff_y = x2.size()[2] - x1.size()[2]
        diff_x = x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [diff_x // 2, diff_x - diff_x // 2, diff_y // 2, diff_y - diff_y // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self, channels=1, classes=3, width=8):
        super().__init__()
        self.inc = DoubleConv(channels, width)
        self.down1 = Down(width, width * 2)
        self.down2 = Down(width * 2, width * 4)
        self.up1 = Up(width * 4, width * 2, bilinear=False)
        self.up2 = Up(width * 3, width, bilinear=True)
        self.outc = nn.Conv2d(width, classes, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        # The second stage up is given half of the channels, so that it need not halve them.
        x = self.up1(x3, x2)
        return self.outc(self.up2(x, x1))


def make_batch(count, size=18):
    ys, xs = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    masks = torch.zeros(count, size, size, dtype=torch.long)
    for i in range(count):
        for label in (1, 2):
            center = torch.rand(2) * (size - 6) + 3
            radius = torch.rand(()) * 3 + 1.5
            inside = (ys - center[0]) ** 2 + (xs - center[1]) ** 2 < radius**2
            masks[i][inside] = label
    images = masks.unsqueeze(1).double() + 0.3 * torch.randn(count, 1, size, size)
    return images, masks


def dice_loss(logits, target, eps=1e-6):
    probs = F.softmax(logits, dim=1)
    onehot = F.one_hot(target, logits.shape[1]).permute(0, 3, 1, 2).to(probs.dtype)
    intersection = (probs * onehot).sum(dim=(0, 2, 3))
    cardinality = (probs + onehot).sum(dim=(0, 2, 3))
    return 1 - (2 * intersection / cardinality.clamp_min(eps)).mean()


def main(record):
    torch.manual_seed(7)
    torch.set_default_dtype(torch.float64)
    model = UNet()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, weight_decay=1e-8, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "min", patience=2, factor=0.5)
    weight = torch.tensor([0.2, 1.0, 1.0])
    for step in range(20):
        images, masks = make_batch(4)
        logits = model(images)
        ce = F.cross_entropy(logits, masks, weight=weight, ignore_index=-1)
        dice = dice_loss(logits, masks)
        loss = ce + dice
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.1)
        optimizer.step()
        scheduler.step(loss.detach())
        record(step, ce=ce.item(), dice=dice.item(), lr=optimizer.param_groups[0]["lr"])
    model.eval()
    with torch.no_grad():
        images, masks = make_batch(2)
        prediction = model(images).argmax(1)
        union = ((prediction > 0) | (masks > 0)).sum()
        record("end", iou=((prediction == masks) & (masks > 0)).sum() / union, classes=torch.bincount(prediction.flatten(), minlength=3))
    record("end", norm=nn.utils.parameters_to_vector(model.parameters()).norm())
