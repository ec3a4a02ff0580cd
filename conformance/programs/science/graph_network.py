"""Graph networks on a stochastic block model: convolution by a normalized adjacency, and attention over edges by scatter."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def block_model(nodes=60, classes=3, inside=0.25, outside=0.02):
    labels = torch.arange(nodes) % classes
    probability = torch.where(labels[:, None] == labels[None, :], inside, outside)
    upper = torch.triu(torch.bernoulli(probability), diagonal=1)
    adjacency = upper + upper.T
    features = F.one_hot(labels, classes).double() + 1.5 * torch.randn(nodes, classes)
    return adjacency, torch.cat([features, torch.randn(nodes, 5)], dim=1), labels


def normalized(adjacency):
    with_loops = adjacency + torch.eye(adjacency.size(0))
    degree = with_loops.sum(dim=1)
    inverse = torch.diag(degree.pow(-0.5))
    return torch.linalg.multi_dot([inverse, with_loops, inverse])


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1.0 / self.weight.size(1) ** 0.5
        self.weight.data.uniform_(-bound, bound)
        self.bias.data.uniform_(-bound, bound)

    def forward(self, x, adjacency):
        return torch.addmm(self.bias, adjacency, torch.mm(x, self.weight))

    def extra_repr(self):
        return f"{self.weight.size(0)} -> {self.weight.size(1)}"


class GraphAttention(nn.Module):
    def __init__(self, in_features, out_features, heads):
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(in_features, heads * out_features, bias=False)
        self.source = nn.Parameter(torch.randn(heads, out_features) * 0.1)
        self.target = nn.Parameter(torch.randn(heads, out_features) * 0.1)

    def forward(self, x, edges):
        count, (source, target) = x.size(0), edges
        h = self.project(x).view(count, self.heads, -1)
        score = F.leaky_relu((h * self.source).sum(-1)[source] + (h * self.target).sum(-1)[target], 0.2)
        # A softmax over the edges into each node.
        index = target.unsqueeze(1).expand_as(score)
        highest = torch.full((count, self.heads), float("-inf")).scatter_reduce(0, index, score, reduce="amax")
        weight = torch.exp(score - highest[target])
        total = torch.zeros(count, self.heads).scatter_add(0, index, weight)
        weight = F.dropout(weight / total[target], 0.1, training=self.training)
        messages = h[source] * weight.unsqueeze(-1)
        return torch.zeros_like(h).index_add(0, target, messages).flatten(1)


class GNN(nn.Module):
    def __init__(self, features, classes, hidden=8):
        super().__init__()
        self.gc1 = GraphConvolution(features, hidden)
        self.gat = GraphAttention(hidden, 4, heads=2)
        self.gc2 = GraphConvolution(hidden, classes)
        self.norm = nn.BatchNorm1d(hidden)

    def forward(self, x, adjacency, edges):
        x = F.elu(self.gc1(x, adjacency))
        x = self.norm(x + F.elu(self.gat(x, edges)))
        return F.log_softmax(self.gc2(x, adjacency), dim=1)


def main(record):
    torch.manual_seed(14)
    torch.set_default_dtype(torch.float64)
    adjacency, features, labels = block_model()
    norm = normalized(adjacency)
    edges = (adjacency + torch.eye(60)).nonzero().t()
    order = torch.randperm(60)
    train, test = order[:20], order[20:]
    record("start", edges=edges.shape[1], degrees=adjacency.sum(0).mode().values, spectrum=torch.linalg.eigvalsh(norm)[-4:])
    model = GNN(features.size(1), 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03, weight_decay=5e-4)
    for step in range(20):
        model.train()
        output = model(features, norm, edges)
        loss = F.nll_loss(output[train], labels[train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        accuracy = output[train].max(1)[1].type_as(labels).eq(labels[train]).double().mean()
        record(step, loss=loss.item(), accuracy=accuracy.item())
    model.eval()
    with torch.no_grad():
        output = model(features, norm, edges)
        confusion = torch.zeros(3, 3, dtype=torch.long).index_put_(
            (labels[test], output[test].argmax(1)), torch.tensor(1), accumulate=True
        )
        distances = torch.cdist(output.exp(), output.exp(), p=1.0)
    record("end", confusion=confusion, distances=distances[0, :4], text=repr(model.gc1))
    hops = torch.matrix_power(adjacency, 3)
    pooled = torch.segment_reduce(output[labels.argsort()], "mean", lengths=torch.bincount(labels))
    record("end", triangles=hops.diagonal().sum() / 6, pooled=pooled)
