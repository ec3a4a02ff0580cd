"""Two recommenders: embedding bags of what users have seen, and a matrix factorization with biases."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset, WeightedRandomSampler

USERS, ITEMS, RANK = 30, 40, 4


class BagRecommender(nn.Module):
    """Scores items by the mean embedding of a user's history."""

    def __init__(self, dim=8):
        super().__init__()
        self.history = nn.EmbeddingBag(ITEMS, dim, mode="mean")
        self.weighted = nn.EmbeddingBag(ITEMS, dim, mode="sum", include_last_offset=False)
        self.items = nn.Embedding(ITEMS, dim)
        self.tower = nn.Sequential(nn.Linear(2 * dim, dim), nn.LogSigmoid(), nn.Linear(dim, dim))

    def forward(self, seen, offsets, weights, candidates):
        user = torch.cat([self.history(seen, offsets), self.weighted(seen, offsets, per_sample_weights=weights)], dim=1)
        user = self.tower(user)
        return torch.baddbmm(
            torch.zeros(1, 1, 1), self.items(candidates), user.unsqueeze(2)
        ).squeeze(2)


class Factorization(nn.Module):
    def __init__(self, mean):
        super().__init__()
        self.users, self.items = nn.Embedding(USERS, RANK), nn.Embedding(ITEMS, RANK)
        self.user_bias, self.item_bias = nn.Embedding(USERS, 1), nn.Embedding(ITEMS, 1)
        self.mean = mean
        for table in (self.users, self.items):
            nn.init.normal_(table.weight, std=0.3)
        for table in (self.user_bias, self.item_bias):
            nn.init.constant_(table.weight, 0.0)

    def forward(self, user, item):
        product = (self.users(user) * self.items(item)).sum(-1)
        return self.mean + product + self.user_bias(user).squeeze(-1) + self.item_bias(item).squeeze(-1)


def main(record):
    torch.manual_seed(123)
    torch.set_default_dtype(torch.float64)
    ratings = torch.randn(USERS, RANK) @ torch.randn(RANK, ITEMS) + torch.randn(ITEMS)
    observed = torch.rand(USERS, ITEMS) < 0.4
    users, items = observed.nonzero(as_tuple=True)
    dataset = TensorDataset(users, items, ratings[observed])

    model = Factorization(ratings[observed].mean().item())
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0, rho=0.9)
    sampler = BatchSampler(RandomSampler(dataset, replacement=True, num_samples=20 * 64), batch_size=64, drop_last=False)
    for step, (user, item, rating) in enumerate(DataLoader(dataset, batch_sampler=sampler)):
        loss = F.huber_loss(model(user, item), rating, delta=2.0)
        loss = loss + 1e-3 * sum(table.weight.pow(2).sum() for table in (model.users, model.items))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record(step, rating_loss=loss.item())
    with torch.no_grad():
        predicted = model(users, items)
        record("end", rmse=(predicted - dataset.tensors[2]).square().mean().sqrt(), correlation=torch.corrcoef(torch.stack([predicted, ratings[observed]]))[0, 1])

    bags = BagRecommender()
    optimizer = torch.optim.Adam(bags.parameters(), lr=0.02)
    popularity = observed.sum(0).double()
    negatives = WeightedRandomSampler(popularity.tolist(), 20 * 10 * 3, replacement=True)
    negatives = torch.tensor(list(negatives)).view(20, 10, 3)
    for step in range(20):
        chosen = torch.randperm(USERS)[:10]
        histories = [observed[u].nonzero().squeeze(1) for u in chosen]
        positives = torch.stack([h[torch.randint(len(h), ())] for h in histories])
        seen = torch.cat(histories)
        offsets = torch.tensor([0] + [len(h) for h in histories[:-1]]).cumsum(0)
        weights = torch.cat([F.softmax(ratings[u][h], dim=0) for u, h in zip(chosen, histories)])
        candidates = torch.cat([positives.unsqueeze(1), negatives[step]], dim=1)
        scores = bags(seen, offsets, weights, candidates)
        # Bayesian personalized ranking.
        loss = -F.logsigmoid(scores[:, :1] - scores[:, 1:]).mean()
        optimizer.zero_grad(), loss.backward(), optimizer.step()
        record(step, ranking_loss=loss.item(), hits=(scores.argmax(1) == 0).sum().item())
    top = torch.topk(bags(seen, offsets, weights, torch.arange(ITEMS).expand(10, -1)), 3)
    record("end", top=top.values[0], similar=F.cosine_similarity(bags.items.weight[:1], bags.items.weight[1:5]))
