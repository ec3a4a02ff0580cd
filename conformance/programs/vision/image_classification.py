"""A convolutional network that tells apart generated pictures of bars, trained and evaluated by a DataLoader."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.utils.data import DataLoader, TensorDataset, random_split


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3)
        self.pool = nn.MaxPool2d(2)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(16 * 3 * 3, 32)
        self.fc2 = nn.Linear(32, classes)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = self.dropout(F.relu(self.fc1(x)))
        return F.log_softmax(self.fc2(x), dim=1)


def make_pictures(count=320, size=16, classes=4):
    """Noise with a bar: horizontal, vertical, and both diagonals."""
    labels = torch.randint(0, classes, (count,))
    images = 0.3 * torch.randn(count, 1, size, size)
    index = torch.arange(size)
    for i in range(count):
        row = int(torch.randint(2, size - 2, (1,)))
        label = labels[i].item()
        if label == 0:
            images[i, 0, row, :] += 1.0
        elif label == 1:
            images[i, 0, :, row] += 1.0
        elif label == 2:
            images[i, 0, index, index] += 1.0
        else:
            images[i, 0, index, size - 1 - index] += 1.0
    return images, labels


def evaluate(model, loader, device):
    model.eval()
    loss, correct, count = 0.0, 0, 0
    with torch.no_grad():
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            output = model(images)
            loss += F.nll_loss(output, labels, reduction="sum").item()
            correct += (output.argmax(dim=1, keepdim=True) == labels.view(-1, 1)).sum().item()
            count += len(labels)
    return loss / count, correct / count


def main(record):
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dataset = TensorDataset(*make_pictures())
    train_set, test_set = random_split(dataset, [256, 64], generator=torch.Generator().manual_seed(5))
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True, drop_last=True)
    test_loader = DataLoader(test_set, batch_size=32)

    model = Net().to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4, nesterov=True)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.7)
    step = 0
    for epoch in range(5):
        model.train()
        for images, labels in train_loader:
            images, labels = images.to(device), labels.to(device)
            optimizer.zero_grad()
            loss = F.nll_loss(model(images), labels)
            loss.backward()
            grad_norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            step += 1
            record(step, loss=loss.item(), grad_norm=grad_norm)
        scheduler.step()
        loss, accuracy = evaluate(model, test_loader, device)
        record(step, test_loss=loss, accuracy=accuracy, lr=scheduler.get_last_lr()[0])
    record("end", norms=[p.norm().item() for p in model.parameters()], count=sum(p.numel() for p in model.parameters()))
    record("end", filters=model.conv1.weight)
