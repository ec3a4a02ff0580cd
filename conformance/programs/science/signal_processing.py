"""Sound in tensors: short-time transforms, mel filters, Griffin-Lim, filters in both domains, and a spectrum that is learned."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def mel_filters(n_freqs, n_mels, sample_rate):
    to_mel = lambda f: 2595.0 * math.log10(1.0 + f / 700.0)  # noqa: E731
    all_freqs = torch.linspace(0, sample_rate // 2, n_freqs)
    m_pts = torch.linspace(to_mel(20.0), to_mel(sample_rate / 2), n_mels + 2)
    f_pts = 700.0 * (10.0 ** (m_pts / 2595.0) - 1.0)
    f_diff = f_pts[1:] - f_pts[:-1]
    slopes = f_pts.unsqueeze(0) - all_freqs.unsqueeze(1)
    down, up = (-1.0 * slopes[:, :-2]) / f_diff[:-1], slopes[:, 2:] / f_diff[1:]
    return torch.max(torch.zeros(1), torch.min(down, up))


def dct_matrix(n_mfcc, n_mels):
    n = torch.arange(float(n_mels))
    dct = torch.cos(math.pi / float(n_mels) * (n + 0.5) * torch.arange(float(n_mfcc)).unsqueeze(1))
    dct[0] *= 1.0 / math.sqrt(2.0)
    return (dct * math.sqrt(2.0 / float(n_mels))).t()


def griffin_lim(magnitude, window, n_fft, hop, length, iterations):
    angles = torch.polar(torch.ones_like(magnitude), 2 * math.pi * torch.rand(magnitude.shape))
    previous = torch.zeros_like(angles)
    for _ in range(iterations):
        inverse = torch.istft(magnitude * angles, n_fft, hop, window=window, length=length)
        rebuilt = torch.stft(inverse, n_fft, hop, window=window, return_complex=True)
        angles = rebuilt - previous * (0.99 / 1.99)
        angles = angles.div(angles.abs().add(1e-16))
        previous = rebuilt
    return torch.istft(magnitude * angles, n_fft, hop, window=window, length=length)


class Oscillators(nn.Module):
    """A bank of damped oscillators that is fitted to a sound by its spectra at several resolutions."""

    def __init__(self, count):
        super().__init__()
        self.frequency = nn.Parameter(torch.linspace(0.02, 0.4, count))
        self.amplitude = nn.Parameter(torch.full((count,), -2.0))
        self.decay = nn.Parameter(torch.zeros(count))

    def forward(self, length):
        t = torch.arange(length)
        phase = torch.cumsum(self.frequency[:, None].expand(-1, length), 1) * torch.pi
        return (F.softplus(self.amplitude)[:, None] * torch.exp(-F.softplus(self.decay)[:, None] * t / length) * torch.sin(phase)).sum(0)


def spectral_loss(x, y):
    loss = 0
    for n_fft in (32, 64, 128):
        window = torch.hann_window(n_fft)
        X, Y = (torch.stft(s, n_fft, n_fft // 4, window=window, return_complex=True).abs() for s in (x, y))
        loss = loss + F.l1_loss(X, Y) + torch.linalg.matrix_norm(X - Y) / torch.linalg.matrix_norm(Y) + F.l1_loss(X.clamp_min(1e-5).log(), Y.clamp_min(1e-5).log())
    return loss


def main(record):
    torch.manual_seed(12)
    torch.set_default_dtype(torch.float64)
    rate, length = 800, 512
    t = torch.arange(length) / rate
    chirp = torch.sin(2 * torch.pi * (30 * t + 120 * t**2)) * torch.exp(-2 * t)
    noisy = chirp + 0.1 * torch.randn(length)
    window = torch.hann_window(64, periodic=True)
    spectrum = torch.stft(noisy, n_fft=64, hop_length=16, win_length=64, window=window, center=True, pad_mode="reflect", return_complex=True)
    power = spectrum.abs().pow(2)
    mel = power.mT @ mel_filters(33, 10, rate)
    mfcc = 10 * torch.log10(mel.clamp(min=1e-10)) @ dct_matrix(6, 10)
    record("features", spectrum=spectrum[:3, 4], mel=mel[3], mfcc=mfcc[5], back=torch.allclose(torch.istft(spectrum, 64, 16, window=window, length=length), noisy))
    frames = noisy.unfold(0, 64, 16)
    record("frames", shape=tuple(frames.shape), same=torch.allclose(torch.fft.rfft(frames * window)[4], torch.stft(noisy, 64, 16, window=window, center=False, return_complex=True)[:, 4]))
    kernel = torch.signal.windows.gaussian(9, std=2.0)
    kernel = kernel / kernel.sum()
    direct = F.conv1d(noisy[None, None], kernel.flip(0)[None, None], padding="same")[0, 0]
    n = length + len(kernel) - 1
    fast = torch.fft.irfft(torch.fft.rfft(noisy, n) * torch.fft.rfft(kernel, n), n)[4 : 4 + length]
    record("filter", direct=direct[:4], same=torch.allclose(direct, fast), residual=(direct - chirp).square().mean())
    frequencies = torch.fft.rfftfreq(length, 1 / rate)
    low = torch.fft.irfft(torch.fft.rfft(noisy).masked_fill(frequencies > 200, 0), length)
    analytic = torch.fft.ifft(torch.fft.fft(chirp) * torch.cat([torch.ones(1), torch.full((length // 2 - 1,), 2.0), torch.ones(1), torch.zeros(length // 2 - 1)]))
    record("hilbert", low=low[:3], envelope=analytic.abs()[100:103], phase=torch.diff(analytic.angle())[100], peak=frequencies[torch.fft.rfft(low).abs().argmax()])
    autocorrelation = torch.fft.ifft(torch.fft.fft(chirp, 2 * length).abs().square()).real[:length]
    record("correlation", head=autocorrelation[:3], shifted=torch.fft.fftshift(torch.fft.fftfreq(6)), real=torch.fft.hfft(torch.fft.ihfft(chirp[:8])), plane=torch.fft.irfft2(torch.fft.rfft2(frames[:4, :6]), s=(4, 6))[0, :3])
    # Differentiation in the frequency domain solves the heat equation.
    k = 2 * torch.pi * torch.fft.fftfreq(64, 1 / 64)
    heat = torch.fft.ifft(torch.fft.fft((torch.arange(64) == 20).double()) * torch.exp(-1e-4 * k**2)).real
    record("heat", peak=heat[18:23], total=heat.sum(), windows=torch.stack([torch.hamming_window(5), torch.blackman_window(5), torch.kaiser_window(5, True, beta=8.0), torch.bartlett_window(5)]))
    rebuilt = griffin_lim(power.sqrt(), window, 64, 16, length, 8)
    record("griffin-lim", error=(torch.stft(rebuilt, 64, 16, window=window, return_complex=True).abs() - power.sqrt()).norm() / power.sqrt().norm(), part=rebuilt[200:203])
    target = torch.sin(torch.arange(length) * 0.31) * torch.exp(-torch.arange(length) / 200)
    bank = Oscillators(6)
    optimizer = torch.optim.Adagrad([{"params": [bank.frequency], "lr": 1e-5}, {"params": [bank.amplitude, bank.decay], "lr": 1e-1}])
    for step in range(20):
        optimizer.zero_grad()
        loss = spectral_loss(bank(length), target)
        loss.backward()
        optimizer.step()
        record(step, loss=loss.item(), frequency=bank.frequency.detach())
    learned = nn.Parameter(torch.view_as_real(torch.zeros(33, dtype=torch.cdouble)).clone())
    optimizer = torch.optim.ASGD([learned], lr=0.5)
    for step in range(10):
        estimate = torch.istft(spectrum * torch.view_as_complex(learned)[:, None], 64, 16, window=window, length=length)
        loss = F.mse_loss(estimate, chirp)
        (learned.grad,) = torch.autograd.grad(loss, learned)
        optimizer.step()
        record(f"wiener {step}", loss=loss.item(), gain=learned.detach()[5])
