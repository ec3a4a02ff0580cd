"""Trains a small convolutional network on images of handwritten digits and prints its accuracy on others.

``python examples/python/train_digits.py`` takes less than a minute; ``--epochs 1 --images 256`` is a short run, and
``--save digits.safetensors`` keeps the network.
"""

from __future__ import annotations

import argparse
import pathlib
import time

import opgrid as og
from opgrid import nn
from opgrid.nn import functional as F

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "digits.npz"
TESTED = 360
BATCH = 64


def network() -> nn.Sequential:
    """Two convolutions and a linear layer."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(32 * 4 * 4, 10),
    )


def accuracy(model: nn.Module, images: og.Tensor, labels: og.Tensor) -> float:
    """The fraction of images that the network classifies correctly."""
    model.eval()
    with og.no_grad():
        right = model(images).argmax(1) == labels
    model.train()
    return float(right.to(og.float32).mean())


def train(model: nn.Module, images: og.Tensor, labels: og.Tensor, epochs: int) -> None:
    """Trains on all images ``epochs`` times, each time in another order."""
    optimizer = og.optim.AdamW(model.parameters(), lr=1e-3)
    steps = -(-len(images) // BATCH)
    schedule = og.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, epochs=epochs, steps_per_epoch=steps)
    start = time.perf_counter()
    for epoch in range(epochs):
        total = 0.0
        for batch in og.randperm(len(images)).split(BATCH):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images[batch]), labels[batch])
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss) * len(batch)
        seconds = time.perf_counter() - start
        print(f"epoch {epoch + 1:2} of {epochs}  loss {total / len(images):.4f}  {seconds:5.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=8, help="number of passes over the images")
    parser.add_argument("--images", type=int, default=None, help="number of training images, by default all")
    parser.add_argument("--save", type=pathlib.Path, help="a file for the trained network, such as digits.safetensors")
    options = parser.parse_args()

    og.manual_seed(0)
    digits = og.load(DATA)
    # Ink from 0 to 1, one channel. The images are ordered by writer, hence the shuffle.
    order = og.randperm(len(digits["labels"]))
    images = digits["images"][order].unsqueeze(1) / 16
    labels = digits["labels"][order]
    model = network()
    count = sum(parameter.numel() for parameter in model.parameters())
    print(f"{count} parameters, {len(labels) - TESTED} training images")

    train(model, images[TESTED:][: options.images], labels[TESTED:][: options.images], options.epochs)
    print(f"test accuracy {100 * accuracy(model, images[:TESTED], labels[:TESTED]):.1f} %")
    if options.save is not None:
        og.save(model.state_dict(), options.save)


if __name__ == "__main__":
    main()
