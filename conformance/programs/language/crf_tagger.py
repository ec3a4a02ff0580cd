"""A bidirectional LSTM with a conditional random field: the forward algorithm, Viterbi, and padded batches of sentences."""

import torch
import torch.nn as nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader

START_TAG, STOP_TAG = "<START>", "<STOP>"
TRAINING = [
    ("the wall street journal reported today that apple corporation made money", "B I I I O O O B I O O"),
    ("georgia tech is a university in georgia", "B I O O O O B"),
    ("today apple reported money", "O B O O"),
    ("the journal is in the university", "O O O O O O"),
    ("apple is a corporation in georgia that made money today", "B O O O O B O O O O"),
]


def collate(batch):
    sentences, tags = zip(*sorted(batch, key=lambda pair: -len(pair[0])))
    return pad_sequence(sentences, batch_first=True), pad_sequence(tags, batch_first=True, padding_value=-1), torch.tensor(list(map(len, sentences)))


class BiLSTM_CRF(nn.Module):
    def __init__(self, vocab_size, tag_to_ix, embedding_dim=8, hidden_dim=8):
        super().__init__()
        self.tag_to_ix, self.tagset_size = tag_to_ix, len(tag_to_ix)
        self.word_embeds = nn.Embedding(vocab_size, embedding_dim, padding_idx=0)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim // 2, num_layers=1, bidirectional=True, batch_first=True)
        self.hidden2tag = nn.Linear(hidden_dim, self.tagset_size)
        self.transitions = nn.Parameter(torch.randn(self.tagset_size, self.tagset_size))
        self.transitions.data[tag_to_ix[START_TAG], :] = -10000
        self.transitions.data[:, tag_to_ix[STOP_TAG]] = -10000

    def features(self, sentences, lengths):
        packed = pack_padded_sequence(self.word_embeds(sentences), lengths, batch_first=True)
        output, _ = self.lstm(packed)
        assert isinstance(output, PackedSequence)
        return self.hidden2tag(pad_packed_sequence(output, batch_first=True)[0])

    def log_partition(self, feats, lengths):
        alpha = torch.full((len(feats), self.tagset_size), -10000.0)
        alpha[:, self.tag_to_ix[START_TAG]] = 0.0
        for t in range(feats.shape[1]):
            following = torch.logsumexp(alpha[:, None, :] + self.transitions[None], dim=-1) + feats[:, t]
            alpha = torch.where((t < lengths)[:, None], following, alpha)
        return torch.logsumexp(alpha + self.transitions[self.tag_to_ix[STOP_TAG]], dim=-1)

    def score(self, feats, tags, lengths):
        count = tags.clamp(min=0)
        mask = torch.arange(tags.shape[1])[None] < lengths[:, None]
        previous = torch.cat([tags.new_full((len(tags), 1), self.tag_to_ix[START_TAG]), count[:, :-1]], dim=1)
        emitted = feats.gather(2, count.unsqueeze(-1)).squeeze(-1)
        moved = self.transitions[count, previous]
        last = count.gather(1, lengths[:, None] - 1).squeeze(1)
        return ((emitted + moved) * mask).sum(1) + self.transitions[self.tag_to_ix[STOP_TAG], last]

    def neg_log_likelihood(self, sentences, tags, lengths):
        feats = self.features(sentences, lengths)
        return (self.log_partition(feats, lengths) - self.score(feats, tags, lengths)).mean()

    @torch.no_grad()
    def viterbi(self, sentence):
        feats = self.features(sentence[None], torch.tensor([len(sentence)]))[0]
        backpointers, forward = [], torch.full((self.tagset_size,), -10000.0)
        forward[self.tag_to_ix[START_TAG]] = 0
        for feat in feats:
            best, ids = (forward + self.transitions).max(dim=1)
            backpointers.append(ids)
            forward = best + feat
        terminal = forward + self.transitions[self.tag_to_ix[STOP_TAG]]
        best_tag_id = int(terminal.argmax())
        path = [best_tag_id]
        for ids in reversed(backpointers):
            best_tag_id = ids[best_tag_id].item()
            path.append(best_tag_id)
        start = path.pop()
        assert start == self.tag_to_ix[START_TAG]
        return terminal[path[0]], path[::-1]


def main(record):
    torch.manual_seed(1)
    torch.set_default_dtype(torch.float64)
    word_to_ix = {"<pad>": 0}
    for sentence, _ in TRAINING:
        for word in sentence.split():
            word_to_ix.setdefault(word, len(word_to_ix))
    tag_to_ix = {"B": 0, "I": 1, "O": 2, START_TAG: 3, STOP_TAG: 4}
    data = [(torch.tensor([word_to_ix[w] for w in s.split()]), torch.tensor([tag_to_ix[t] for t in tags.split()])) for s, tags in TRAINING]
    model = BiLSTM_CRF(len(word_to_ix), tag_to_ix)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-4)
    before = model.viterbi(data[0][0])
    record("before", score=before[0], path=before[1])
    loader = DataLoader(data, batch_size=3, shuffle=True, collate_fn=collate, generator=torch.Generator().manual_seed(0))
    for epoch in range(10):
        for sentences, tags, lengths in loader:
            model.zero_grad()
            loss = model.neg_log_likelihood(sentences, tags, lengths)
            loss.backward()
            optimizer.step()
            record(epoch, loss=loss.item(), lengths=lengths, norm=model.transitions.grad[:3, :3].norm())
    for number, (sentence, tags) in enumerate(data):
        score, path = model.viterbi(sentence)
        record(f"sentence {number}", score=score, path=path, correct=sum(a == b for a, b in zip(path, tags.tolist())))
    packed = pack_sequence([s for s, _ in data], enforce_sorted=False)
    record("packed", data=packed.data[:8], sizes=packed.batch_sizes, order=packed.sorted_indices, back=packed.unsorted_indices, moved=packed.to(torch.float32).data.dtype == torch.float32)
    record("end", pad=model.word_embeds.weight.grad[0], probability=torch.exp(-model.neg_log_likelihood(*collate(data[:1]))))
