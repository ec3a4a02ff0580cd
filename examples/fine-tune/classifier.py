"""Exports the classifier of this example, or measures one in torch.

    python classifier.py export FILE.pt2
    python classifier.py accuracy FILE.pt2
"""

import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

DIGITS = Path(__file__).parent / "../data/digits.npz"


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 16, 3, padding=1)
        self.second = nn.Conv2d(16, 32, 3, padding=1)
        self.scores = nn.Linear(32 * 4 * 4, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = nn.functional.relu(self.first(images))
        x = nn.functional.max_pool2d(nn.functional.relu(self.second(x)), 2)
        return self.scores(x.flatten(1))


def export(path: str) -> None:
    torch.manual_seed(0)
    batch = torch.export.Dim("batch", min=1, max=4096)
    program = torch.export.export(Classifier().eval(), (torch.zeros(2, 1, 8, 8),), dynamic_shapes=({0: batch},))
    torch.export.save(program, path)


def accuracy(path: str) -> None:
    digits = np.load(DIGITS)
    images = torch.from_numpy(digits["images"]).unsqueeze(1) / 16
    labels = torch.from_numpy(digits["labels"])
    images, labels = images[::5], labels[::5]
    with torch.no_grad():
        found = torch.export.load(path).module()(images).argmax(1)
    print(f"{100 * (found == labels).double().mean().item():.2f} % of {len(labels)} images")


if __name__ == "__main__":
    {"export": export, "accuracy": accuracy}[sys.argv[1]](sys.argv[2])
