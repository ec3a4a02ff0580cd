"""K-means with k-means++ seeding, principal components by SVD, a Gaussian mixture by EM and spectral clustering, without autograd."""

import math

import torch


def make_blobs(count=120, dim=5, centers=4):
    means = torch.randn(centers, dim) * 3
    labels = torch.randint(centers, (count,))
    return means[labels] + torch.randn(count, dim), labels


def kmeans_plus_plus(points, k):
    centers = points[torch.randint(len(points), (1,))]
    while len(centers) < k:
        distance = torch.cdist(points, centers).amin(dim=1).square()
        centers = torch.vstack([centers, points[torch.multinomial(distance / distance.sum(), 1)]])
    return centers


def kmeans(points, k, steps, record):
    centers = kmeans_plus_plus(points, k)
    for step in range(steps):
        distance = torch.cdist(points, centers)
        nearest, labels = distance.min(dim=1)
        counts = torch.bincount(labels, minlength=k)
        sums = torch.zeros_like(centers).index_add_(0, labels, points)
        centers = torch.where(counts[:, None] > 0, sums / counts[:, None].clamp(min=1), centers)
        record(step, inertia=nearest.pow(2).sum().item(), counts=counts)
    return centers, labels


def pca(points, components):
    mean = points.mean(dim=0, keepdim=True)
    U, S, Vh = torch.linalg.svd(points - mean, full_matrices=False)
    # Signs are fixed by the largest entry, as in other libraries.
    signs = torch.sign(Vh.gather(1, Vh.abs().argmax(dim=1, keepdim=True)))
    variance = S**2 / (len(points) - 1)
    return (U * S * signs.T)[:, :components], variance, (Vh * signs)[:components]


def mixture(points, centers, steps, record):
    """Expectation maximization with full covariances."""
    count, dim = points.shape
    means, weights = centers.clone(), torch.full((len(centers),), 1 / len(centers))
    covariances = torch.eye(dim).repeat(len(centers), 1, 1)
    for step in range(steps):
        L = torch.linalg.cholesky(covariances)
        centered = points[None] - means[:, None]
        whitened = torch.linalg.solve_triangular(L, centered.mT, upper=False)
        logdet = 2 * torch.diagonal(L, dim1=-2, dim2=-1).log().sum(-1)
        log_prob = -0.5 * (whitened.square().sum(1) + logdet[:, None] + dim * math.log(2 * math.pi)) + weights.log()[:, None]
        evidence = torch.logsumexp(log_prob, dim=0)
        resp = torch.exp(log_prob - evidence)
        total = resp.sum(1)
        means = resp @ points / total[:, None]
        centered = points[None] - means[:, None]
        covariances = torch.einsum("kn,kni,knj->kij", resp, centered, centered) / total[:, None, None] + 1e-6 * torch.eye(dim)
        weights = total / count
        record(step, likelihood=evidence.mean().item(), weights=weights)
    return resp.argmax(0)


def spectral(points, k):
    affinity = torch.exp(-torch.cdist(points, points).pow(2) / 8)
    affinity.fill_diagonal_(0)
    scale = affinity.sum(1).rsqrt()
    laplacian = torch.eye(len(points)) - scale.outer(scale) * affinity
    values, vectors = torch.linalg.eigh(laplacian)
    return values[: k + 1], vectors[:, :k]


def main(record):
    torch.manual_seed(90)
    torch.set_default_dtype(torch.float64)
    points, truth = make_blobs()
    centers, labels = kmeans(points, 4, 20, record)
    order = centers.norm(dim=1).argsort()
    record("end", centers=centers[order])
    purity = torch.stack([torch.bincount(truth[labels == i], minlength=4).max() for i in range(4)]).sum() / len(points)
    record("end", purity=purity)
    projected, variance, components = pca(points, 2)
    record("end", projected=projected[:3], explained=variance / variance.sum(), components=components)
    record("end", lowrank=torch.linalg.svdvals(points - points.mean(0))[:2], covariance=torch.cov(points.T).diagonal())
    assigned = mixture(points, centers, 20, record)
    record("end", moved=(assigned != labels).sum().item(), joint=torch.histogramdd(projected, bins=[2, 2]).hist)
    values, vectors = spectral(points, 4)
    record("end", values=values, projector=(vectors @ vectors.T)[0, :5])
    nearest = torch.topk(torch.cdist(points, points), 4, largest=False).indices[:, 1:]
    record("end", nearest=nearest[:3], silhouettes=torch.stack(torch.aminmax(points.median(dim=0).values)))
