"""All schedules of the learning rate, of which each trains a small model for 20 steps, with an optimizer of its own."""

import math

import torch
from torch import nn, optim
from torch.optim import lr_scheduler as sched


def schedules():
    """Names with functions that make an optimizer and its schedule."""
    return {
        "lambda": (optim.SGD, dict(lr=0.1), lambda o: sched.LambdaLR(o, lambda e: 0.95**e)),
        "multiplicative": (optim.SGD, dict(lr=0.1, momentum=0.5, dampening=0.1), lambda o: sched.MultiplicativeLR(o, lambda e: 0.97)),
        "step": (optim.Adam, dict(lr=0.05), lambda o: sched.StepLR(o, 5, 0.3)),
        "multistep": (optim.AdamW, dict(lr=0.05), lambda o: sched.MultiStepLR(o, [4, 9, 15], 0.5)),
        "constant": (optim.Adagrad, dict(lr=0.1, lr_decay=0.01), lambda o: sched.ConstantLR(o, factor=0.25, total_iters=6)),
        "linear": (optim.RMSprop, dict(lr=0.02, centered=True), lambda o: sched.LinearLR(o, 0.2, 1.0, total_iters=8)),
        "exponential": (optim.Adadelta, dict(lr=1.0), lambda o: sched.ExponentialLR(o, 0.9)),
        "cosine": (optim.NAdam, dict(lr=0.05), lambda o: sched.CosineAnnealingLR(o, 12, eta_min=1e-3)),
        "restarts": (optim.RAdam, dict(lr=0.05), lambda o: sched.CosineAnnealingWarmRestarts(o, T_0=4, T_mult=2)),
        "polynomial": (optim.Adamax, dict(lr=0.05), lambda o: sched.PolynomialLR(o, total_iters=15, power=2.0)),
        "cyclic": (optim.SGD, dict(lr=0.1, momentum=0.9), lambda o: sched.CyclicLR(o, 0.01, 0.1, step_size_up=4, mode="triangular2")),
        "one cycle": (optim.SGD, dict(lr=0.1, momentum=0.9, nesterov=True), lambda o: sched.OneCycleLR(o, 0.2, total_steps=22, three_phase=True)),
        "plateau": (optim.ASGD, dict(lr=0.1, t0=5), lambda o: sched.ReduceLROnPlateau(o, patience=1, threshold=0.05, cooldown=1)),
        "sequential": (
            optim.Rprop,
            dict(lr=0.01),
            lambda o: sched.SequentialLR(o, [sched.ConstantLR(o, 0.1, 3), sched.ExponentialLR(o, 0.9)], milestones=[4]),
        ),
        "chained": (
            optim.Adam,
            dict(lr=0.05, amsgrad=True, maximize=False),
            lambda o: sched.ChainedScheduler([sched.LinearLR(o, 0.5, total_iters=4), sched.ExponentialLR(o, 0.95)]),
        ),
        "swa": (optim.SGD, dict(lr=0.1), lambda o: optim.swa_utils.SWALR(o, swa_lr=0.02, anneal_epochs=6, anneal_strategy="cos")),
    }


def make_data():
    x = torch.randn(64, 4)
    return x, torch.sin(x @ torch.randn(4, 2)) + 0.1 * torch.randn(64, 2)


def train(optimizer_class, options, make_schedule, x, y, record, name):
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    groups = [{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": options["lr"] / 2}]
    optimizer = optimizer_class(groups, **options)
    schedule = make_schedule(optimizer)
    losses, rates = [], []
    for step in range(20):
        rows = torch.randint(64, (16,))
        loss = (model(x[rows]) - y[rows]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step(loss.item()) if isinstance(schedule, sched.ReduceLROnPlateau) else schedule.step()
        losses.append(loss.item())
        rates.append([float(group["lr"]) for group in optimizer.param_groups])
    record(name, losses=losses, rates=[r for r, _ in rates], others=[r for _, r in rates])
    if "momentum" in optimizer.param_groups[0]:
        record(name, momentum=float(optimizer.param_groups[0]["momentum"]))
    state = schedule.state_dict()
    record(name, epoch=state.get("last_epoch"), norm=math.fsum(p.norm().item() for p in model.parameters()))
    return state


def main(record):
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(33)
    x, y = make_data()
    states = {name: train(*made, x, y, record, name) for name, made in schedules().items()}
    # A schedule continues from its state.
    parameter = nn.Parameter(torch.zeros(1))
    optimizer = optim.SGD([parameter], lr=0.1)
    schedule = sched.StepLR(optimizer, 5, 0.3)
    schedule.load_state_dict(states["step"])
    optimizer.step()
    schedule.step()
    record("end", continued=schedule.last_epoch, lr=schedule.get_last_lr(), keys=sorted(states["exponential"]))
    for bad in (lambda: optim.SGD([parameter], lr=-1.0), lambda: optim.Adam([parameter], betas=(1.5, 0.9)), lambda: sched.LinearLR(optimizer, 0.0)):
        try:
            bad()
        except ValueError:
            record("end", refused=True)
