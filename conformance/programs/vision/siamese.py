"""Networks that compare two images: shared weights with a loss of pairs, triplets with hard negatives, and cosine similarity."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    """Pairs of patterns, each with a target of 1 if both are of one class."""

    def __init__(self, count):
        self.prototypes = torch.randn(4, 1, 12, 12)
        self.classes = torch.arange(count) % 4
        self.images = self.prototypes[self.classes] + 0.3 * torch.randn(count, 1, 12, 12)
        self.groups = {c: torch.where(self.classes == c)[0] for c in range(4)}

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        label = int(self.classes[index])
        same = index % 2 == 0
        other = label if same else random.choice([c for c in self.groups if c != label])
        partner = self.groups[other][random.randint(0, len(self.groups[other]) - 1)]
        return self.images[index], self.images[partner], torch.tensor(float(same))


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 4, 3, stride=2), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 8, 3), nn.AdaptiveAvgPool2d((2, 2)))
        self.fc = nn.Sequential(nn.Linear(64, 16), nn.ReLU(inplace=True), nn.Linear(16, 1))
        self.sigmoid = nn.Sigmoid()
        self.backbone.apply(self.init_weights)
        self.fc.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        output = self.backbone(x)
        return output.view(output.size()[0], -1)

    def forward(self, input1, input2):
        output = torch.cat((self.forward_once(input1), self.forward_once(input2)), 1)
        return self.sigmoid(self.fc(output))


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, one, two, same):
        distance = F.pairwise_distance(one, two)
        return torch.mean(same * distance.pow(2) + (1 - same) * F.relu(self.margin - distance).pow(2))

    def extra_repr(self):
        return f"margin={self.margin}"


def hard_triplets(embeddings, labels, margin):
    """The loss of each anchor with its farthest positive and nearest negative."""
    distance = torch.cdist(embeddings, embeddings, p=2, compute_mode="donot_use_mm_for_euclid_dist")
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    positive = distance.where(same, distance.new_tensor(-torch.inf)).amax(1)
    negative = distance.masked_fill(same, float("inf")).amin(1)
    return F.relu(positive - negative + margin).mean()


def main(record):
    torch.manual_seed(3)
    random.seed(3)
    torch.set_default_dtype(torch.float64)
    dataset = Pairs(48)
    loader = DataLoader(dataset, shuffle=True, batch_size=16, drop_last=True, generator=torch.Generator().manual_seed(4))
    model = SiameseNetwork()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    criterion, correct = nn.BCELoss(), 0
    for epoch in range(3):
        for one, two, targets in loader:
            targets = targets.to(one.dtype)
            optimizer.zero_grad()
            outputs = model(one, two).squeeze()
            loss = criterion(outputs, targets)
            loss.backward()
            optimizer.step()
            pred = torch.where(outputs > 0.5, 1, 0)
            correct += pred.eq(targets.view_as(pred)).sum().item()
        record(epoch, loss=loss.item(), correct=correct)

    contrastive, triplet = ContrastiveLoss(2.0), nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: 1 - F.cosine_similarity(a, b), margin=0.4)
    record("losses", contrastive=repr(contrastive), triplet=str(nn.TripletMarginLoss(margin=0.5, p=2)))
    optimizer = torch.optim.SGD(model.backbone.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)
    for step in range(12):
        anchors = torch.randint(0, 48, (12,))
        positives, negatives = (anchors + 4) % 48, (anchors + 1 + torch.randint(0, 3, (12,))) % 48
        a, p, n = (model.forward_once(dataset.images[rows]) for rows in (anchors, positives, negatives))
        losses = {
            "triplet": F.triplet_margin_loss(a, p, n, margin=0.5, swap=True),
            "cosine": triplet(a, p, n),
            "contrastive": contrastive(a, n, (dataset.classes[anchors] == dataset.classes[negatives]).double()),
            "embedding": F.cosine_embedding_loss(a, n, torch.ones(12).neg_(), margin=0.2),
            "ranking": F.margin_ranking_loss(F.pairwise_distance(a, n), F.pairwise_distance(a, p), torch.ones(12), margin=0.1),
            "hinge": F.hinge_embedding_loss(F.pairwise_distance(a, n, keepdim=True), -torch.ones(12, 1)),
            "hard": hard_triplets(F.normalize(a, dim=1), dataset.classes[anchors], 0.2),
        }
        optimizer.zero_grad()
        torch.stack(list(losses.values())).sum().backward()
        optimizer.step()
        record(step, **losses)
    with torch.no_grad():
        embedded = F.normalize(model.eval().forward_once(dataset.images))
    similarity = embedded @ embedded.T
    similarity.fill_diagonal_(-1)
    values, nearest = similarity.topk(3, dim=1)
    hits = (dataset.classes[nearest] == dataset.classes[:, None]).float().mean()
    record("end", values=values[:2], hits=hits.item(), probabilities=model(dataset.images[:4], dataset.images[4:8]).T)
