"""A variational autoencoder of generated binary pictures, with samples and interpolations."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class Blobs(Dataset):
    """Pictures with one bright blob, made when they are asked for."""

    def __init__(self, count, size=12):
        self.centers = torch.rand(count, 2) * (size - 4) + 2
        self.size = size

    def __len__(self):
        return len(self.centers)

    def __getitem__(self, index):
        ys, xs = torch.meshgrid(torch.arange(self.size), torch.arange(self.size), indexing="ij")
        cy, cx = self.centers[index]
        image = torch.exp(-((ys - cy) ** 2 + (xs - cx) ** 2) / 4.0)
        return image.unsqueeze(0), index


class VAE(nn.Module):
    def __init__(self, size=12, latent=4):
        super().__init__()
        self.size = size
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(size * size, 64), nn.Tanh())
        self.fc_mu = nn.Linear(64, latent)
        self.fc_logvar = nn.Linear(64, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent, 64), nn.Softplus(), nn.Linear(64, size * size), nn.Unflatten(1, (1, size, size))
        )

    def encode(self, x):
        h = self.encoder(x)
        return self.fc_mu(h), self.fc_logvar(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = self.reparameterize(mu, logvar)
        return torch.sigmoid(self.decoder(z)), mu, logvar


def loss_function(recon, x, mu, logvar, beta):
    bce = F.binary_cross_entropy(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (bce + beta * kld) / x.shape[0], bce, kld


def main(record):
    torch.manual_seed(2024)
    loader = DataLoader(Blobs(160), batch_size=32, shuffle=True)
    model = VAE()
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight, gain=nn.init.calculate_gain("tanh"))
            nn.init.normal_(module.bias, std=0.01)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    step = 0
    for epoch in range(4):
        model.train()
        for x, indices in loader:
            optimizer.zero_grad()
            recon, mu, logvar = model(x)
            loss, bce, kld = loss_function(recon, x, mu, logvar, beta=min(1.0, (step + 1) / 10))
            loss.backward()
            optimizer.step()
            step += 1
            record(step, loss=loss.item(), bce=bce.item(), kld=kld.item(), first=int(indices[0]))
        scheduler.step()
    model.eval()
    with torch.no_grad():
        z = torch.randn(4, 4)
        samples = model.decoder(z).sigmoid()
        start, end = z[0], z[1]
        path = torch.stack([torch.lerp(start, end, t) for t in torch.linspace(0, 1, 5)])
        record("end", samples=samples[0, 0, :3], path=torch.sigmoid(model.decoder(path)).mean(dim=(1, 2, 3)))
    record("end", norms=[p.norm().item() for p in model.parameters()])
