"""A generative adversarial network of transposed convolutions, whose layers are initialized by their class."""

import torch
import torch.nn as nn
import torch.nn.parallel
import torch.optim as optim

nz, ngf, ndf, nc, batch = 8, 6, 6, 1, 10


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        torch.nn.init.normal_(m.weight, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        torch.nn.init.normal_(m.weight, 1.0, 0.02)
        torch.nn.init.zeros_(m.bias)


class Generator(nn.Module):
    def __init__(self, ngpu):
        super().__init__()
        self.ngpu = ngpu
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 4, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 4),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 4, ngf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, nc, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input):
        if input.is_cuda and self.ngpu > 1:
            return nn.parallel.data_parallel(self.main, input, range(self.ngpu))
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self, ngpu):
        super().__init__()
        self.ngpu = ngpu
        self.main = nn.Sequential(
            nn.Conv2d(nc, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ndf * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, input):
        return self.main(input).view(-1, 1).squeeze(1)


def batches(count):
    """Rings of random radius and place."""
    ys, xs = torch.meshgrid(torch.linspace(-1, 1, 16), torch.linspace(-1, 1, 16), indexing="ij")
    for _ in range(count):
        center, radius = torch.rand(batch, 2, 1, 1) - 0.5, torch.rand(batch, 1, 1) * 0.4 + 0.2
        distance = torch.hypot(ys - center[:, 0], xs - center[:, 1])
        yield [torch.exp(-((distance - radius) ** 2) / 0.02).unsqueeze(1).mul(2).sub(1), torch.zeros(batch)]


def main(record):
    torch.manual_seed(999)
    torch.use_deterministic_algorithms(True)
    # Batches are normalized to the sign of a gradient, which makes the steps of a GAN amplify rounding.
    torch.set_default_dtype(torch.float64)
    torch.backends.cudnn.benchmark = True
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    netG, netD = Generator(1).to(device), Discriminator(1).to(device)
    netG.apply(weights_init)
    netD.apply(weights_init)
    record("start", generator=repr(netG), discriminator=repr(netD))
    criterion = nn.BCELoss()
    fixed_noise = torch.randn(4, nz, 1, 1, device=device)
    real_label, fake_label = 1, 0
    optimizerD = optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizerG = optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
    for i, data in enumerate(batches(20)):
        netD.zero_grad()
        real_cpu = data[0].to(device)
        batch_size = real_cpu.size(0)
        label = torch.full((batch_size,), real_label, dtype=real_cpu.dtype, device=device)
        output = netD(real_cpu)
        errD_real = criterion(output, label)
        errD_real.backward()
        D_x = output.mean().item()

        noise = torch.randn(batch_size, nz, 1, 1, device=device)
        fake = netG(noise)
        label.fill_(fake_label)
        output = netD(fake.detach())
        errD_fake = criterion(output, label)
        errD_fake.backward()
        D_G_z1 = output.mean().item()
        errD = errD_real + errD_fake
        optimizerD.step()

        netG.zero_grad()
        label.fill_(real_label)
        output = netD(fake)
        errG = criterion(output, label)
        errG.backward()
        optimizerG.step()
        record(i, errD=errD.item(), errG=errG.item(), D_x=D_x, D_G_z=[D_G_z1, output.mean().item()])
    with torch.no_grad():
        fake = netG(fixed_noise).detach().cpu()
    record("end", row=fake[0, 0, 7], mean=netG.main[1].running_mean[:4], tracked=netD.main[3].num_batches_tracked)
    record("end", keys=list(netG.state_dict())[:4], dtypes=sorted({str(v.dtype).split(".")[1] for v in netG.state_dict().values()}))
