"""A character-level LSTM language model with truncated backpropagation, tied weights and sampling."""

import math

import torch
import torch.nn as nn

TEXT = (
    "the quick brown fox jumps over the lazy dog. she sells sea shells by the sea shore. "
    "how much wood would a woodchuck chuck if a woodchuck could chuck wood? peter piper picked a peck of pickled peppers. "
) * 3


class Corpus:
    def __init__(self, text):
        self.chars = sorted(set(text))
        self.stoi = {c: i for i, c in enumerate(self.chars)}
        self.data = torch.tensor([self.stoi[c] for c in text], dtype=torch.int64)

    def batchify(self, batch_size):
        nbatch = self.data.size(0) // batch_size
        data = self.data.narrow(0, 0, nbatch * batch_size)
        return data.view(batch_size, -1).t().contiguous()

    def decode(self, indices):
        return "".join(self.chars[i] for i in indices)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp=24, nhid=24, nlayers=2, dropout=0.2):
        super().__init__()
        self.ntoken, self.nhid, self.nlayers = ntoken, nhid, nlayers
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        self.decoder.weight = self.encoder.weight
        initrange = 0.1
        nn.init.uniform_(self.encoder.weight, -initrange, initrange)
        nn.init.zeros_(self.decoder.bias)
        for name, p in self.rnn.named_parameters():
            if "bias_hh" in name:
                # The forget gate begins open.
                p.data[nhid : 2 * nhid] = 1.0

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output))
        return decoded.view(-1, self.ntoken), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))


def repackage_hidden(h):
    return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)


def generate(model, corpus, length, temperature=0.8):
    model.eval()
    input = torch.randint(model.ntoken, (1, 1), dtype=torch.long)
    hidden = model.init_hidden(1)
    found = []
    with torch.no_grad():
        for _ in range(length):
            output, hidden = model(input, hidden)
            weights = output.squeeze().div(temperature).exp().cpu()
            index = torch.multinomial(weights, 1)[0]
            input.fill_(index)
            found.append(index.item())
    return corpus.decode(found)


def main(record):
    torch.manual_seed(1111)
    corpus = Corpus(TEXT)
    data = corpus.batchify(8)
    model = RNNModel(len(corpus.chars))
    criterion = nn.CrossEntropyLoss()
    record("start", shape=tuple(data.shape), names=[n for n, _ in model.named_parameters()])
    optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
    hidden = model.init_hidden(8)
    bptt, position = 10, 0
    for step in range(20):
        if position + bptt + 1 >= data.size(0):
            position, hidden = 0, model.init_hidden(8)
        inputs, targets = data[position : position + bptt], data[position + 1 : position + 1 + bptt].reshape(-1)
        position += bptt
        model.train()
        hidden = repackage_hidden(hidden)
        model.zero_grad()
        output, hidden = model(inputs, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        record(step, loss=loss.item(), perplexity=math.exp(loss.item()), memory=hidden[1].norm().item())
    text = generate(model, corpus, 40)
    record("end", text=text, embedding=model.encoder.weight[:2])
    # One step of a cell is a step of the layer.
    cell = nn.LSTMCell(24, 24)
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(cell, name).data.copy_(getattr(model.rnn, f"{name}_l0"))
    h, c = cell(model.encoder(inputs[0]))
    record("end", h=h[0], c=c.mean())
