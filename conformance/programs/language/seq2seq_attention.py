"""A sequence-to-sequence model with GRUs and additive attention that learns to reverse sequences of tokens."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

PAD, SOS, EOS = 0, 1, 2
VOCABULARY = 12


class EncoderRNN(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, hidden, padding_idx=PAD)
        self.gru = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * hidden, hidden)
        self.dropout = nn.Dropout(0.1)

    def forward(self, source, lengths):
        embedded = self.dropout(self.embedding(source))
        packed = pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
        packed, hidden = self.gru(packed)
        outputs, _ = pad_packed_sequence(packed, batch_first=True)
        hidden = torch.tanh(self.bridge(torch.cat((hidden[0], hidden[1]), dim=1)))
        return outputs, hidden.unsqueeze(0)


class BahdanauAttention(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.Wa = nn.Linear(hidden, hidden, bias=False)
        self.Ua = nn.Linear(2 * hidden, hidden)
        self.Va = nn.Linear(hidden, 1)

    def forward(self, query, keys, mask):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys))).squeeze(2).unsqueeze(1)
        scores = scores.masked_fill(mask.unsqueeze(1), float("-inf"))
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, hidden)
        self.attention = BahdanauAttention(hidden)
        self.gru = nn.GRU(3 * hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, VOCABULARY)

    def forward(self, outputs, hidden, mask, steps, target=None):
        token = torch.empty(outputs.size(0), 1, dtype=torch.long).fill_(SOS)
        logits, attentions = [], []
        for i in range(steps):
            context, weights = self.attention(hidden.permute(1, 0, 2), outputs, mask)
            output, hidden = self.gru(torch.cat((F.relu(self.embedding(token)), context), dim=2), hidden)
            logits.append(self.out(output))
            attentions.append(weights)
            if target is not None:
                token = target[:, i].unsqueeze(1)
            else:
                _, topi = logits[-1].topk(1)
                token = topi.squeeze(-1).detach()
        return torch.cat(logits, dim=1), torch.cat(attentions, dim=1)


def make_batch(count):
    sources, targets = [], []
    for _ in range(count):
        words = [random.randint(3, VOCABULARY - 1) for _ in range(random.randint(3, 6))]
        sources.append(torch.tensor(words + [EOS]))
        targets.append(torch.tensor(words[::-1] + [EOS]))
    lengths = torch.tensor([len(s) for s in sources])
    return pad_sequence(sources, batch_first=True), lengths, pad_sequence(targets, batch_first=True, padding_value=PAD)


def main(record):
    random.seed(0)
    torch.manual_seed(0)
    encoder, decoder = EncoderRNN(24), AttnDecoderRNN(24)
    optimizer = optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    criterion = nn.NLLLoss(ignore_index=PAD)
    for step in range(20):
        source, lengths, target = make_batch(16)
        outputs, hidden = encoder(source, lengths)
        teacher = target if random.random() < 0.7 else None
        logits, _ = decoder(outputs, hidden, source == PAD, target.size(1), teacher)
        loss = criterion(F.log_softmax(logits, dim=-1).view(-1, VOCABULARY), target.view(-1))
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimizer.step()
        record(step, loss=loss.item(), norm=norm, forced=teacher is not None)
    encoder.eval(), decoder.eval()
    with torch.no_grad():
        source, lengths, target = make_batch(3)
        outputs, hidden = encoder(source, lengths)
        logits, attention = decoder(outputs, hidden, source.eq(PAD), target.size(1))
        record("end", decoded=logits.argmax(-1).tolist(), attention=attention[0], logits=logits[0, 0])
    record("end", keys=list(encoder.state_dict()))
