"""Graph convolutions and graph attention on a graph of communities, trained on few labels; edges as lists and as matrices."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.parameter import Parameter


def communities(nodes=60, classes=3):
    """A graph whose edges are likely within classes, with noisy features; its edges in both directions, once each."""
    labels = torch.arange(nodes) % classes
    likely = torch.where(labels[:, None] == labels[None], 0.2, 0.02)
    upper = torch.bernoulli(likely).triu(1).bool()
    edges = torch.cat([upper.nonzero(), upper.nonzero().flip(1)]).T
    features = F.one_hot(labels, classes).repeat(1, 4) + 0.8 * torch.randn(nodes, 4 * classes)
    return edges, features, labels


def normalized_adjacency(edges, nodes):
    adj = torch.zeros(nodes, nodes).index_put((edges[0], edges[1]), torch.ones(()))
    identity = torch.eye(nodes)
    adj_hat = adj + identity
    degree_inv_sqrt = torch.diag(torch.pow(torch.sum(adj_hat, dim=1), -0.5))
    degree_inv_sqrt = torch.where(torch.isinf(degree_inv_sqrt), torch.zeros_like(degree_inv_sqrt), degree_inv_sqrt)
    return degree_inv_sqrt @ adj_hat @ degree_inv_sqrt


class GraphConv(nn.Module):
    def __init__(self, input_dim, output_dim, use_bias=False):
        super().__init__()
        self.kernel = Parameter(torch.Tensor(input_dim, output_dim))
        nn.init.xavier_normal_(self.kernel)
        self.bias = None
        if use_bias:
            self.bias = Parameter(torch.Tensor(output_dim))
            nn.init.zeros_(self.bias)

    def forward(self, input_tensor, adj_mat):
        support = torch.mm(input_tensor, self.kernel)
        output = torch.spmm(adj_mat, support)
        return output if self.bias is None else output + self.bias

    def __repr__(self):
        return f"{self.__class__.__name__} ({self.kernel.size(0)} -> {self.kernel.size(1)})"


class GCN(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim, use_bias=True, dropout_p=0.1):
        super().__init__()
        self.gc1 = GraphConv(input_dim, hidden_dim, use_bias=use_bias)
        self.gc2 = GraphConv(hidden_dim, output_dim, use_bias=use_bias)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, x, adj):
        x = self.dropout(F.relu(self.gc1(x, adj)))
        return F.log_softmax(self.gc2(x, adj), dim=1)


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, n_heads, concat=False, dropout=0.4, leaky_relu_slope=0.2):
        super().__init__()
        self.n_heads, self.concat, self.dropout = n_heads, concat, dropout
        self.n_hidden = out_features // n_heads if concat else out_features
        self.W = nn.Parameter(torch.empty(size=(in_features, self.n_hidden * n_heads)))
        self.a = nn.Parameter(torch.empty(size=(n_heads, 2 * self.n_hidden, 1)))
        self.leakyrelu = nn.LeakyReLU(leaky_relu_slope)
        self.softmax = nn.Softmax(dim=1)
        for parameter in (self.W, self.a):
            nn.init.xavier_normal_(parameter, gain=nn.init.calculate_gain("leaky_relu", leaky_relu_slope))

    def _get_attention_scores(self, h):
        source = torch.matmul(h, self.a[:, : self.n_hidden, :])
        target = torch.matmul(h, self.a[:, self.n_hidden :, :])
        return self.leakyrelu(source + target.mT)

    def forward(self, h, adj_mat):
        n_nodes = h.shape[0]
        h = F.dropout(torch.mm(h, self.W), self.dropout, training=self.training)
        h = h.view(n_nodes, self.n_heads, self.n_hidden).permute(1, 0, 2)
        e = self._get_attention_scores(h)
        e = torch.where(adj_mat > 0, e, -9e16 * torch.ones_like(e))
        attention = F.dropout(F.softmax(e, dim=-1), self.dropout, training=self.training)
        h_prime = torch.matmul(attention, h)
        return h_prime.permute(1, 0, 2).contiguous().view(n_nodes, -1) if self.concat else h_prime.mean(dim=0)


class EdgeNetwork(nn.Module):
    """Messages along edges: attention by a softmax over the edges of each node, and several ways to gather them."""

    def __init__(self, dim, hidden, classes):
        super().__init__()
        self.message, self.score = nn.Linear(2 * dim, hidden), nn.Linear(2 * dim, 1)
        self.update, self.norm = nn.GRUCell(4 * hidden, dim), nn.BatchNorm1d(4 * hidden)
        self.head = nn.Linear(dim, classes)

    def forward(self, x, edges):
        source, target = edges
        for _ in range(2):
            pairs = torch.cat([x[source], x.index_select(0, target)], dim=-1)
            message, score = F.elu(self.message(pairs)), self.score(pairs).squeeze(-1)
            highest = torch.full((len(x),), -math.inf).scatter_reduce(0, target, score, "amax", include_self=False)
            weight = (score - highest.detach()[target]).exp()
            weight = weight / torch.zeros(len(x)).index_add(0, target, weight).clamp_min(1e-9)[target]
            index = target[:, None].expand_as(message)
            zero = x.new_zeros(len(x), message.shape[1])
            gathered = [
                zero.index_add(0, target, weight[:, None] * message),
                zero.scatter_reduce(0, index, message, reduce="mean", include_self=False),
                zero.scatter_reduce(0, index, message, reduce="amax"),
                zero.scatter_add(0, index, message.square()).sqrt(),
            ]
            x = self.update(self.norm(torch.cat(gathered, dim=1) + 1e-3), x)
        return F.log_softmax(self.head(x), dim=1)


def main(record):
    torch.manual_seed(13)
    torch.set_default_dtype(torch.float64)
    edges, features, labels = communities()
    order = torch.randperm(len(labels))
    idx_train, idx_test = order.tensor_split([15])
    adj = normalized_adjacency(edges, len(labels))
    record("graph", edges=edges.shape[1], degrees=torch.bincount(edges[0], minlength=len(labels))[:10], row=adj[0, :8])
    gat = nn.ModuleList([GraphAttentionLayer(12, 16, 4, concat=True), GraphAttentionLayer(16, 3, 1, dropout=0.2)])
    networks = {
        "gcn": (GCN(12, 8, 3), lambda net: net(features, adj)),
        "gat": (gat, lambda net: F.log_softmax(net[1](F.elu(net[0](features, adj)), adj), dim=1)),
        "edges": (EdgeNetwork(12, 5, 3), lambda net: net(features, edges)),
    }
    for name, (net, forward) in networks.items():
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
        criterion = nn.NLLLoss()
        for epoch in range(20):
            net.train()
            optimizer.zero_grad()
            loss = criterion(forward(net)[idx_train], labels[idx_train])
            loss.backward()
            optimizer.step()
            record(f"{name} {epoch}", loss=loss.item())
        net.eval()
        with torch.no_grad():
            predicted = forward(net).max(1)[1]
        confusion = torch.zeros(3, 3, dtype=torch.long).index_put_((labels[idx_test], predicted[idx_test]), torch.tensor(1), accumulate=True)
        record(name, confusion=confusion, text=str(net).count("\n"), accuracy=predicted[idx_test].eq(labels[idx_test]).double().mean())
    walk = torch.linalg.matrix_power(adj, 4)
    values, vectors = torch.linalg.eigh(torch.eye(len(adj)) - adj)
    record("end", walk=walk[0, :6], values=values[:5], energy=torch.einsum("ni,nm,mi->i", features, torch.eye(len(adj)) - adj, features))
