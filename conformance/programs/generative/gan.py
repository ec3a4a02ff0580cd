"""A DCGAN with transposed convolutions, spectral normalization of the critic and weights initialized by `apply`."""

import torch
import torch.nn as nn
import torch.nn.parallel
import torch.optim as optim
from torch.nn.utils import spectral_norm

nz, ngf, ndf, nc = 8, 8, 8, 1


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1 and hasattr(m, "weight"):
        nn.init.normal_(m.weight.data, 0.0, 0.1)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf, nc, 3, 2, 1, output_padding=1),
            nn.Tanh(),
        )

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(nc, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            spectral_norm(nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False)),
            nn.InstanceNorm2d(ndf * 2, affine=True),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Dropout2d(0.1),
            nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, input):
        return self.main(input).view(-1)


def real_batch(count):
    """Checkerboards with a random phase."""
    index = torch.arange(16)
    phase = torch.randint(0, 4, (count, 1, 1))
    board = ((index[None, :, None] + index[None, None, :] + phase) // 4) % 2
    return board.unsqueeze(1).float() * 2 - 1 + 0.05 * torch.randn(count, 1, 16, 16)


def main(record):
    torch.manual_seed(999)
    netG, netD = Generator(), Discriminator()
    netG.apply(weights_init)
    netD.main[0].apply(weights_init)
    criterion = nn.BCELoss()
    fixed_noise = torch.randn(4, nz, 1, 1)
    real_label, fake_label = 1.0, 0.0
    optimizerD = optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
    optimizerG = optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
    for step in range(20):
        # Maximize log(D(x)) + log(1 - D(G(z))).
        netD.zero_grad()
        real = real_batch(16)
        label = torch.full((16,), real_label, dtype=torch.float)
        output = netD(real)
        errD_real = criterion(output, label)
        errD_real.backward()
        noise = torch.randn(16, nz, 1, 1)
        fake = netG(noise)
        label.fill_(fake_label)
        output = netD(fake.detach())
        errD_fake = criterion(output, label)
        errD_fake.backward()
        optimizerD.step()
        # Maximize log(D(G(z))).
        netG.zero_grad()
        label.fill_(real_label)
        output = netD(fake)
        errG = criterion(output, label)
        errG.backward()
        optimizerG.step()
        record(step, loss_d=(errD_real + errD_fake).item(), loss_g=errG.item(), mean=output.mean().item())
    netG.eval()
    with torch.no_grad():
        images = netG(fixed_noise).cpu()
    record("end", images=images[0, 0, :4], spread=images.std(), keys=sorted(netD.state_dict()))
    record("end", running=netG.main[1].running_mean, sigma=torch.linalg.matrix_norm(netD.main[2].weight.flatten(1), 2))
