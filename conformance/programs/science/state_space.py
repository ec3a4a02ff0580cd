"""State-space models of signals: filters by FFT, an S4-like convolution kernel, and a selective scan in logarithmic depth."""

import torch
import torch.fft
import torch.nn as nn
import torch.nn.functional as F


def signals(count, length=64):
    """Noisy sums of two waves; the target is the slower of them."""
    t = torch.arange(length) / length
    slow, fast = torch.rand(count, 1) * 3 + 1, torch.rand(count, 1) * 8 + 12
    phase = torch.rand(count, 2) * 2 * torch.pi
    target = torch.sin(2 * torch.pi * slow * t + phase[:, :1])
    return target + 0.5 * torch.sin(2 * torch.pi * fast * t + phase[:, 1:]) + 0.1 * torch.randn(count, length), target


def low_pass(x, keep):
    spectrum = torch.fft.rfft(x, dim=-1)
    mask = (torch.fft.rfftfreq(x.shape[-1]) * x.shape[-1] <= keep).to(x.dtype)
    return torch.fft.irfft(spectrum * mask, n=x.shape[-1])


def fft_convolution(u, k):
    """A causal convolution with a kernel as long as the signal."""
    n = u.shape[-1]
    return torch.fft.irfft(torch.fft.rfft(u, n=2 * n) * torch.fft.rfft(k, n=2 * n), n=2 * n)[..., :n]


class DiagonalSSM(nn.Module):
    """S4D: complex diagonal states, whose kernel is a sum of exponentials."""

    def __init__(self, width, states=4):
        super().__init__()
        self.log_step = nn.Parameter(torch.rand(width) * 2 - 3)
        self.C = nn.Parameter(torch.view_as_real(torch.randn(width, states, dtype=torch.cfloat)))
        self.log_real = nn.Parameter(torch.log(0.5 * torch.ones(width, states)))
        self.imag = nn.Parameter(torch.pi * torch.arange(states).repeat(width, 1).float())
        self.D = nn.Parameter(torch.randn(width))

    def kernel(self, length):
        step = self.log_step.exp()
        A = -torch.exp(self.log_real) + 1j * self.imag
        dA = A * step.unsqueeze(-1)
        power = torch.exp(dA.unsqueeze(-1) * torch.arange(length))
        C = torch.view_as_complex(self.C) * (torch.exp(dA) - 1.0) / A
        return 2 * torch.einsum("hn,hnl->hl", C, power).real

    def forward(self, u):
        return F.gelu(fft_convolution(u, self.kernel(u.size(-1))) + u * self.D.unsqueeze(-1))


def scan(a, b):
    """All states of h[t] = a[t] * h[t - 1] + b[t], by doubling."""
    shift = 1
    while shift < a.size(-1):
        before_a = F.pad(a[..., :-shift], (shift, 0), value=1.0)
        before_b = F.pad(b[..., :-shift], (shift, 0))
        a, b = a * before_a, b + a * before_b
        shift *= 2
    return b


class Selective(nn.Module):
    """A scan whose decay and input depend on the signal."""

    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv1d(width, width, 4, groups=width, padding=3)
        self.gates = nn.Linear(width, 3 * width)

    def forward(self, u):
        x = F.silu(self.conv(u)[..., : u.size(-1)])
        decay, inp, out = self.gates(x.transpose(1, 2)).transpose(1, 2).tensor_split(3, dim=1)
        decay = torch.exp(-F.softplus(decay))
        return scan(decay, (1 - decay) * inp * x) * torch.sigmoid(out)


class Model(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.inp = nn.Conv1d(1, width, 1)
        self.layers = nn.ModuleList([DiagonalSSM(width), Selective(width), DiagonalSSM(width)])
        self.out = nn.Conv1d(width, 1, 1)

    def forward(self, x):
        x = self.inp(x.unsqueeze(1))
        for layer in self.layers:
            x = x + layer(x)
        return self.out(x).squeeze(1)


def main(record):
    torch.manual_seed(17)
    model = Model()
    parameters = [p for n, p in model.named_parameters() if "log_step" not in n]
    optimizer = torch.optim.Adam([{"params": parameters}, {"params": [l.log_step for l in model.layers if hasattr(l, "log_step")], "lr": 1e-3}], lr=1e-2)
    for step in range(20):
        noisy, target = signals(8)
        loss = F.mse_loss(model(noisy), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record(step, loss=loss.item(), filtered=F.mse_loss(low_pass(noisy, 5), target).item())
    a, b = torch.rand(3, 10), torch.randn(3, 10)
    h, states = torch.zeros(3), []
    for i in range(10):
        h = a[:, i] * h + b[:, i]
        states.append(h)
    record("end", scan=scan(a, b)[0], agrees=torch.allclose(scan(a, b), torch.stack(states, 1), atol=1e-5))
    record("end", kernel=model.layers[0].kernel(16)[0], spectrum=torch.fft.fftshift(torch.fft.fft(noisy[0])).abs()[28:36])
    image = torch.randn(8, 8)
    radius = torch.hypot(*torch.meshgrid(torch.fft.fftfreq(8), torch.fft.fftfreq(8), indexing="xy"))
    blurred = torch.fft.ifft2(torch.fft.fft2(image) * torch.exp(-((radius * 6) ** 2))).real
    record("end", blurred=blurred[0], autocorrelation=torch.fft.irfft(torch.fft.rfft(noisy[0]).abs() ** 2)[:4], phase=torch.fft.rfft(target[0])[:4].angle())
    ours = fft_convolution(noisy[:1], noisy[1:2])
    direct = F.conv1d(F.pad(noisy[None, :1], (63, 0)), noisy[1:2].flip(-1)[None])
    record("end", direct=torch.allclose(ours, direct[0], atol=1e-3), window=torch.signal.windows.hann(8), rolled=torch.roll(noisy[0], 3)[:4])
