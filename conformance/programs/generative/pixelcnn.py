"""An autoregressive PixelCNN: masked convolutions with buffers, 4 gray levels, sampling pixel by pixel."""

import torch
import torch.nn as nn
import torch.nn.functional as F

LEVELS = 4


class MaskedConv2d(nn.Conv2d):
    def __init__(self, mask_type, *args, **kwargs):
        super().__init__(*args, **kwargs)
        assert mask_type in {"A", "B"}
        self.register_buffer("mask", self.weight.data.clone())
        _, _, kh, kw = self.weight.size()
        self.mask.fill_(1)
        self.mask[:, :, kh // 2, kw // 2 + (mask_type == "B") :] = 0
        self.mask[:, :, kh // 2 + 1 :] = 0

    def forward(self, x):
        self.weight.data *= self.mask
        return super().forward(x)


class GatedBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = MaskedConv2d("B", channels, 2 * channels, 3, padding=1)
        self.skip = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        a, b = torch.split(self.conv(x), x.size(1), dim=1)
        return x + self.skip(torch.tanh(a) * torch.sigmoid(b))


class PixelCNN(nn.Module):
    def __init__(self, channels=12, layers=3):
        super().__init__()
        self.embed = nn.Embedding(LEVELS, 4)
        self.first = MaskedConv2d("A", 4, channels, 5, padding=2)
        self.blocks = nn.Sequential(*(GatedBlock(channels) for _ in range(layers)))
        self.head = nn.Sequential(nn.ReLU(), nn.Conv2d(channels, 16, 1), nn.ReLU6(), nn.Conv2d(16, LEVELS, 1))

    def forward(self, pixels):
        x = self.embed(pixels).permute(0, 3, 1, 2).contiguous()
        return self.head(self.blocks(self.first(x)))


def make_images(count, size=8):
    """Stripes whose direction and phase are random."""
    ramp = torch.arange(size)
    slope = torch.randint(0, 3, (count, 1, 1))
    phase = torch.randint(0, LEVELS, (count, 1, 1))
    return (ramp.view(1, -1, 1) * slope + ramp.view(1, 1, -1) + phase).remainder(LEVELS)


def sample(model, count, size, temperature=1.0):
    images = torch.zeros(count, size, size, dtype=torch.long)
    model.eval()
    with torch.no_grad():
        for i in range(size):
            for j in range(size):
                logits = model(images)[:, :, i, j]
                probs = F.softmax(logits / temperature, dim=1)
                images[:, i, j] = torch.multinomial(probs, 1).squeeze(-1)
    return images


def main(record):
    torch.manual_seed(77)
    torch.set_default_dtype(torch.float64)
    model = PixelCNN()
    record("start", mask=model.first.mask[0, 0], layers=[name for name, _ in model.named_children()])
    optimizer = torch.optim.NAdam(model.parameters(), lr=4e-3)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[8, 14], gamma=0.5)
    for step in range(20):
        images = make_images(16)
        logits = model(images)
        loss = F.cross_entropy(logits, images)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        bits = loss.item() / torch.log(torch.tensor(2.0)).item()
        record(step, loss=loss.item(), bits=bits, accuracy=(logits.argmax(1) == images).double().mean().item())
    # Later pixels must not influence earlier ones.
    x = make_images(1)
    changed = x.clone()
    changed[0, 5, 3] = (changed[0, 5, 3] + 1) % LEVELS
    with torch.no_grad():
        moved = (model(x) - model(changed)).abs().sum(1)[0] > 1e-12
    record("end", before=moved.view(-1)[: 5 * 8 + 4].any().item(), after=moved.view(-1)[5 * 8 + 4 :].any().item())
    record("end", image=sample(model, 2, 6)[0], histogram=torch.histc(sample(model, 2, 6).double(), bins=LEVELS, min=0, max=LEVELS - 1))
