"""A word-level language model: recurrent networks of each kind with tied weights, and a Transformer, on a text in columns."""

import math
from collections import Counter

import torch
import torch.nn as nn
import torch.nn.functional as F

TEXT = """the cat sat on the mat and the dog sat on the log . the cat saw the dog and the dog saw the cat .
a bird sang in the tree while the cat slept under the tree . the dog ran to the log and the bird flew to the mat .""" * 12


class Dictionary:
    def __init__(self):
        self.word2idx, self.idx2word = {}, []

    def add_word(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1
        return self.word2idx[word]

    def __len__(self):
        return len(self.idx2word)


class RNNModel(nn.Module):
    def __init__(self, rnn_type, ntoken, ninp, nhid, nlayers, dropout=0.2, tie_weights=False):
        super().__init__()
        self.ntoken = ntoken
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        if rnn_type in ["LSTM", "GRU"]:
            self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers, dropout=dropout)
        else:
            nonlinearity = {"RNN_TANH": "tanh", "RNN_RELU": "relu"}[rnn_type]
            self.rnn = nn.RNN(ninp, nhid, nlayers, nonlinearity=nonlinearity, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            if nhid != ninp:
                raise ValueError("When using the tied flag, nhid must be equal to emsize")
            self.decoder.weight = self.encoder.weight
        self.init_weights()
        self.rnn_type, self.nhid, self.nlayers = rnn_type, nhid, nlayers

    def init_weights(self):
        initrange = 0.1
        nn.init.uniform_(self.encoder.weight, -initrange, initrange)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -initrange, initrange)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        if self.rnn_type == "LSTM":
            return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))
        return weight.new_zeros(self.nlayers, bsz, self.nhid)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=100):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        pe = pe.unsqueeze(0).transpose(0, 1)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return self.dropout(x + self.pe[: x.size(0), :])


class TransformerModel(nn.Transformer):
    """An encoder alone, which derives from the whole network as the example does."""

    def __init__(self, ntoken, ninp, nhead, nhid, nlayers, dropout=0.2):
        super().__init__(d_model=ninp, nhead=nhead, dim_feedforward=nhid, num_encoder_layers=nlayers)
        self.src_mask = None
        self.pos_encoder = PositionalEncoding(ninp, dropout)
        self.input_emb = nn.Embedding(ntoken, ninp)
        self.ninp = ninp
        self.decoder = nn.Linear(ninp, ntoken)
        nn.init.uniform_(self.input_emb.weight, -0.1, 0.1)

    def _generate_square_subsequent_mask(self, sz):
        return torch.log(torch.tril(torch.ones(sz, sz)))

    def forward(self, src, has_mask=True):
        if self.src_mask is None or self.src_mask.size(0) != len(src):
            self.src_mask = self._generate_square_subsequent_mask(len(src)).to(src.device)
        src = self.pos_encoder(self.input_emb(src) * math.sqrt(self.ninp))
        return F.log_softmax(self.decoder(self.encoder(src, mask=self.src_mask)), dim=-1)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


def get_batch(source, i, bptt):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].view(-1)


def repackage_hidden(h):
    return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)


def main(record):
    corpus = Dictionary()
    ids = torch.tensor([corpus.add_word(word) for word in TEXT.split() + ["<eos>"]]).type(torch.int64)
    record("data", words=len(corpus), common=Counter(TEXT.split()).most_common(2), ids=ids[:12])
    train_data, criterion, bptt = batchify(ids, 6), nn.NLLLoss(), 10
    for kind in ("LSTM", "GRU", "RNN_TANH", "RNN_RELU", "Transformer"):
        torch.manual_seed(1111)
        ntokens = len(corpus)
        model = TransformerModel(ntokens, 16, 2, 24, 2) if kind == "Transformer" else RNNModel(kind, ntokens, 16, 16, 2, tie_weights=True)
        model.train()
        lr, total = 2.0, 0.0
        hidden = None if kind == "Transformer" else model.init_hidden(6)
        for batch, i in enumerate(range(0, train_data.size(0) - 1, bptt)):
            data, targets = get_batch(train_data, i, bptt)
            model.zero_grad()
            if kind == "Transformer":
                output = model(data).view(-1, ntokens)
            else:
                hidden = repackage_hidden(hidden)
                output, hidden = model(data, hidden)
            loss = criterion(output, targets)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            for p in model.parameters():
                if p.grad is not None:
                    p.data.add_(p.grad, alpha=-lr)
            total += loss.item()
            record(f"{kind} {batch}", loss=loss.item(), norm=norm)
        record(kind, perplexity=math.exp(total / (batch + 1)), parameters=sum(p.numel() for p in model.parameters()))
        model.eval()
        word, words = torch.randint(ntokens, (1, 1), dtype=torch.long), []
        hidden = None if kind == "Transformer" else model.init_hidden(1)
        with torch.no_grad():
            for _ in range(8):
                if kind == "Transformer":
                    weights = model(word, False)[-1].squeeze().div(1.1).exp().cpu()
                    index = torch.multinomial(weights, 1)[0]
                    word = torch.cat([word, torch.Tensor([[index]]).long()], 0)
                else:
                    output, hidden = model(word, hidden)
                    index = torch.multinomial(output.squeeze().div(1.1).exp().cpu(), 1)[0]
                    word.fill_(index)
                words.append(corpus.idx2word[index])
        record(kind, words=" ".join(words))
