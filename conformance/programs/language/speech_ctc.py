"""Speech recognition in miniature: tones as letters, log-mel features by stft, convolutions, a bidirectional LSTM and CTC."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BLANK, LETTERS, RATE = 0, 5, 800


def tone_sequence(letters, samples=100):
    """A waveform with one tone for each letter."""
    t = torch.arange(samples) / RATE
    tones = [torch.sin(2 * math.pi * 60 * (letter + 1) * t) * torch.hann_window(samples) for letter in letters.tolist()]
    wave = torch.cat(tones)
    return wave + 0.05 * torch.randn_like(wave)


def mel_filters(bins, mels):
    """Triangles that overlap by half."""
    centers = torch.linspace(0, bins - 1, mels + 2)
    slopes = centers.unsqueeze(0) - torch.arange(bins).unsqueeze(1)
    lower = -slopes[:, :-2] / torch.diff(centers)[:-1]
    upper = slopes[:, 2:] / torch.diff(centers)[1:]
    return torch.clamp(torch.minimum(lower, upper), min=0.0)


class Features(nn.Module):
    def __init__(self, n_fft=64, hop=25, mels=12):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hamming_window(n_fft))
        self.register_buffer("filters", mel_filters(n_fft // 2 + 1, mels))

    def forward(self, waves):
        spectrum = torch.stft(waves, self.n_fft, self.hop, window=self.window, center=True, return_complex=True)
        power = spectrum.abs().pow(2)
        mel = torch.matmul(power.transpose(1, 2), self.filters)
        features = torch.log(mel + 1e-5)
        return (features - features.mean(1, keepdim=True)) / (features.std(1, keepdim=True) + 1e-5)


class Recognizer(nn.Module):
    def __init__(self, mels=12, hidden=16):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(mels, hidden, 3, padding=1), nn.BatchNorm1d(hidden), nn.Hardtanh(0, 20), nn.AvgPool1d(2, ceil_mode=True)
        )
        self.lstm = nn.LSTM(hidden, hidden, num_layers=1, bidirectional=True, batch_first=True)
        self.head = nn.Linear(2 * hidden, LETTERS + 1)

    def forward(self, x):
        x = self.conv(x.transpose(1, 2)).transpose(1, 2)
        x, _ = self.lstm(x)
        return self.head(x).log_softmax(dim=-1)


def greedy(log_probs):
    """The best path without repetitions and blanks."""
    best = torch.unique_consecutive(log_probs.argmax(-1))
    return best[best != BLANK].tolist()


def main(record):
    torch.manual_seed(12)
    features, model = Features(), Recognizer()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    ctc = nn.CTCLoss(blank=BLANK, zero_infinity=True)
    for step in range(20):
        lengths = torch.randint(2, 5, (8,))
        letters = [torch.randint(1, LETTERS + 1, (int(n),)) for n in lengths]
        waves = torch.stack([F.pad(tone_sequence(word), (0, 100 * (4 - len(word)))) for word in letters])
        log_probs = model(features(waves))
        input_lengths = torch.full((8,), log_probs.size(1), dtype=torch.long)
        loss = ctc(log_probs.transpose(0, 1), torch.cat(letters), input_lengths, lengths)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0, norm_type=2)
        optimizer.step()
        record(step, loss=loss.item(), blank=log_probs[..., BLANK].exp().mean().item())
    model.eval()
    with torch.no_grad():
        log_probs = model(features(waves))
        losses = F.ctc_loss(log_probs.transpose(0, 1), torch.cat(letters), input_lengths, lengths, reduction="none")
        record("end", losses=losses, decoded=[greedy(p) for p in log_probs])
        spectrum = torch.stft(waves[:1], 64, 16, window=torch.hann_window(64), return_complex=True)
        back = torch.istft(spectrum, 64, 16, window=torch.hann_window(64), length=waves.size(1))
        record("end", round_trip=bool(torch.allclose(back, waves[:1], atol=1e-5)), frames=spectrum.shape[-1])
