"""A small network distilled from a larger one, then attacked by the signs of gradients (FGSM) and trained against them."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class Teacher(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 12, 3, padding=1),
            nn.BatchNorm2d(12),
            nn.SiLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding="same"),
            nn.Hardswish(),
            nn.AdaptiveMaxPool2d(2),
            nn.Flatten(),
            nn.Linear(96, 10),
        )


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.depthwise = nn.Conv2d(1, 4, 3, padding=1, stride=2)
        self.pointwise = nn.Conv2d(4, 8, 1)
        self.act = nn.PReLU(8)
        self.classifier = nn.Linear(8 * 16, 10)

    def forward(self, x):
        x = self.act(self.pointwise(F.relu6(self.depthwise(x))))
        return self.classifier(x.view(x.size(0), -1))


class DistillationLoss(nn.Module):
    def __init__(self, temperature=4.0, alpha=0.7):
        super().__init__()
        self.temperature, self.alpha = temperature, alpha
        self.kl = nn.KLDivLoss(reduction="batchmean")

    def forward(self, student, teacher, labels):
        t = self.temperature
        soft = self.kl(F.log_softmax(student / t, dim=1), F.softmax(teacher / t, dim=1)) * t * t
        return self.alpha * soft + (1 - self.alpha) * F.cross_entropy(student, labels)


def fgsm(model, images, labels, epsilon):
    images = images.clone().detach().requires_grad_(True)
    loss = F.cross_entropy(model(images), labels)
    model.zero_grad()
    loss.backward()
    return torch.clamp(images + epsilon * images.grad.data.sign(), 0, 1).detach()


def pgd(model, images, labels, epsilon, steps=3):
    adversarial = images + torch.empty_like(images).uniform_(-epsilon, epsilon)
    for _ in range(steps):
        adversarial.requires_grad_()
        (grad,) = torch.autograd.grad(F.cross_entropy(model(adversarial), labels), adversarial)
        adversarial = adversarial.detach() + epsilon / 2 * grad.sign()
        adversarial = torch.min(torch.max(adversarial, images - epsilon), images + epsilon).clamp(0, 1)
    return adversarial.detach()


def main(record):
    torch.manual_seed(3)
    torch.set_default_dtype(torch.float64)
    prototypes = torch.rand(10, 1, 8, 8)

    def batch(count=32):
        labels = torch.randint(0, 10, size=(count,))
        return (prototypes[labels] + 0.1 * torch.randn(count, 1, 8, 8)).clamp_(0, 1), labels

    teacher, student = Teacher(), Student()
    optimizer = optim.Adam(teacher.parameters(), lr=1e-2)
    for step in range(20):
        images, labels = batch()
        loss = nn.CrossEntropyLoss()(teacher(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record(step, teacher=loss.item())
    teacher.eval()
    for p in teacher.parameters():
        p.requires_grad = False
    criterion = DistillationLoss()
    optimizer = optim.Adamax(student.parameters(), lr=1e-2)
    for step in range(20):
        images, labels = batch()
        loss = criterion(student(images), teacher(images), labels)
        if step >= 10:
            loss = loss + 0.5 * F.cross_entropy(student(fgsm(student, images, labels, 0.05)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record(step, student=loss.item(), agreement=(student(images).argmax(1) == teacher(images).argmax(1)).double().mean().item())
    student.eval()
    images, labels = batch(64)
    for epsilon in (0.0, 0.05, 0.2):
        accuracy = (student(fgsm(student, images, labels, epsilon)).max(1)[1] == labels).sum().item() / 64
        record("end", accuracy=accuracy)
    record("end", moved=(pgd(teacher, images, labels, 0.1) - images).abs().amax(), slope=student.act.weight, logits=student(images)[:3])
