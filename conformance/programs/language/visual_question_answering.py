"""Visual question answering: a convolutional network and a question's embeddings, fused by nn.Bilinear and attention."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

COLORS = ["red", "green", "blue"]
PLACES = ["left", "right"]
WORDS = ["<pad>", "what", "color", "is", "on", "the", "where", *COLORS, *PLACES]
ANSWERS = [*COLORS, *PLACES]


class Scenes(Dataset):
    """Two squares of different colors, and a question about one of them."""

    def __init__(self, count):
        self.items = []
        for _ in range(count):
            a, b = torch.randperm(3)[:2].tolist()
            image = torch.zeros(3, 8, 12)
            top = torch.randint(0, 4, (2,)).tolist()
            image[a, top[0] : top[0] + 4, 1:5] = 1.0
            image[b, top[1] : top[1] + 4, 7:11] = 1.0
            if torch.rand(1).item() < 0.5:
                side = int(torch.randint(2, ()))
                question, answer = f"what color is on the {PLACES[side]}", COLORS[(a, b)[side]]
            else:
                side = int(torch.randint(2, ()))
                question, answer = f"where is the {COLORS[(a, b)[side]]}", PLACES[side]
            self.items.append((image, question, answer))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def collate(batch):
    images, questions, answers = zip(*batch)
    tokens = [[WORDS.index(word) for word in question.split()] for question in questions]
    longest = max(map(len, tokens))
    padded = torch.tensor([row + [0] * (longest - len(row)) for row in tokens])
    return torch.stack(images), padded, torch.tensor([ANSWERS.index(a) for a in answers])


class VQA(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(3, dim, 3, stride=2, padding=1), nn.CELU(), nn.LocalResponseNorm(3), nn.Conv2d(dim, dim, 3, padding=1), nn.SELU()
        )
        self.embedding = nn.Embedding(len(WORDS), dim, padding_idx=0, max_norm=2.0)
        self.rnn = nn.RNN(dim, dim, nonlinearity="tanh", batch_first=True)
        self.query = nn.Linear(dim, dim)
        self.fusion = nn.Bilinear(dim, dim, 2 * dim)
        self.classifier = nn.Sequential(nn.GLU(), nn.AlphaDropout(0.05), nn.Linear(dim, len(ANSWERS)))

    def forward(self, images, tokens):
        v = self.cnn(images)
        v = v + torch.linspace(-1, 1, v.size(-1))  # where a column is
        v = v.flatten(2).transpose(1, 2)
        states, last = self.rnn(self.embedding(tokens))
        index = (tokens != 0).sum(1).sub(1).view(-1, 1, 1).expand(-1, 1, states.size(2))
        q = states.gather(1, index).squeeze(1)
        scores = torch.einsum("bnd,bd->bn", v, self.query(q)) / v.size(-1) ** 0.5
        attended = torch.einsum("bn,bnd->bd", scores.softmax(-1), v)
        return self.classifier(self.fusion(attended, q)), scores


def main(record):
    torch.manual_seed(31)
    loader = DataLoader(Scenes(100), batch_size=20, shuffle=True, collate_fn=collate)
    model = VQA()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    criterion = nn.MultiMarginLoss(margin=0.5)
    step = 0
    for epoch in range(4):
        for images, tokens, answers in loader:
            logits, scores = model(images, tokens)
            loss = F.cross_entropy(logits, answers) + 0.1 * criterion(logits, answers)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            record(step, loss=loss.item(), accuracy=logits.argmax(1).eq(answers).float().mean().item())
    model.eval()
    with torch.no_grad():
        logits, scores = model(images[:3], tokens[:3])
        probabilities, best = F.softmax(logits, 1).max(dim=1)
        record("end", answers=[ANSWERS[i] for i in best], probabilities=probabilities, attention=scores.softmax(-1)[0])
    record("end", embedding=model.embedding.weight.norm(dim=1), fusion=model.fusion.weight[0, :2], text=repr(model.fusion))
