"""Digits drawn by hand, classified as the first example of many does: convolutions, dropout, Adadelta and a schedule."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    """Seven-segment digits, shifted and with noise, as bytes of images of 14 by 14."""

    segments = ["1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011"]
    places = [(slice(2, 3), slice(4, 9)), (slice(2, 7), slice(4, 5)), (slice(2, 7), slice(8, 9)), (slice(6, 7), slice(4, 9)),
              (slice(6, 11), slice(4, 5)), (slice(6, 11), slice(8, 9)), (slice(10, 11), slice(4, 9))]  # fmt: skip

    def __init__(self, train, transform=None):
        self.transform = transform
        generator = torch.Generator().manual_seed(1 if train else 2)
        self.targets = torch.randint(0, 10, (160 if train else 50,), generator=generator)
        images = torch.zeros(len(self.targets), 14, 14, dtype=torch.uint8)
        for image, target in zip(images, self.targets.tolist()):
            for (rows, columns), lit in zip(self.places, self.segments[target]):
                if lit == "1":
                    image[rows, columns] = 200
        shifts = torch.randint(-1, 2, (len(images), 2), generator=generator)
        images = torch.stack([torch.roll(image, tuple(shift.tolist()), (0, 1)) for image, shift in zip(images, shifts)])
        self.data = images + torch.randint(0, 50, images.shape, generator=generator, dtype=torch.uint8)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        image, target = self.data[index], int(self.targets[index])
        if self.transform is not None:
            image = self.transform(image)
        return image, target


def to_tensor(image):
    return image.unsqueeze(0).to(torch.get_default_dtype()).div(255).sub_(0.1307).div_(0.3081)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 16, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(400, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = self.dropout1(F.max_pool2d(x, 2))
        x = torch.flatten(x, 1)
        x = self.dropout2(F.relu(self.fc1(x)))
        return F.log_softmax(self.fc2(x), dim=1)


def train(args, model, device, train_loader, optimizer, epoch, record):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        seen = batch_idx * len(data)
        if batch_idx % args.log_interval == 0:
            record(f"{epoch}:{seen}/{len(train_loader.dataset)} ({100.0 * batch_idx / len(train_loader):.0f}%)", loss=loss.item())


def test(model, device, test_loader, epoch, record):
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for data, target in test_loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
    test_loss /= len(test_loader.dataset)
    record(epoch, test_loss=test_loss, accuracy=f"{correct}/{len(test_loader.dataset)}")


def main(record):
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--gamma", type=float, default=0.7)
    parser.add_argument("--no-accel", action="store_true")
    parser.add_argument("--log-interval", type=int, default=2)
    args = parser.parse_args(["--epochs", "3"])
    use_accel = not args.no_accel and torch.accelerator.is_available() and torch.cuda.is_available()
    torch.manual_seed(1)
    device = torch.accelerator.current_accelerator() if use_accel else torch.device("cpu")
    kwargs = {"num_workers": 1, "pin_memory": True, "persistent_workers": True} if use_accel else {}
    train_loader = DataLoader(Digits(True, to_tensor), batch_size=20, shuffle=True, **kwargs)
    test_loader = DataLoader(Digits(False, to_tensor), batch_size=25, **kwargs)
    model = Net().to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=args.lr)
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
    for epoch in range(1, args.epochs + 1):
        train(args, model, device, train_loader, optimizer, epoch, record)
        test(model, device, test_loader, epoch, record)
        scheduler.step()
        record(epoch, lr=scheduler.get_last_lr()[0])
    torch.save(model.state_dict(), "mnist_cnn.pt")
    again = Net()
    record("end", loaded=str(again.load_state_dict(torch.load("mnist_cnn.pt", weights_only=True))))
    record("end", model=str(model), confusion=torch.stack([again.eval()(to_tensor(image)[None]).exp()[0] for image in Digits(False).data[:2]]))
