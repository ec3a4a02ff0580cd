"""Optimizers of one's own: Lion, LARS, sharpness-aware steps, lookahead, and one over lists of tensors, with hooks and saved state."""

import io
import math
from collections import defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LRScheduler
from torch.optim.optimizer import Optimizer, required


class Lion(Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        if not 0.0 <= lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data.mul_(1 - group["lr"] * group["weight_decay"])
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p, memory_format=torch.preserve_format)
                exp_avg, (beta1, beta2) = state["exp_avg"], group["betas"]
                update = exp_avg * beta1 + p.grad * (1 - beta1)
                p.add_(update.sign_(), alpha=-group["lr"])
                exp_avg.mul_(beta2).add_(p.grad, alpha=1 - beta2)
        return loss


class LARS(Optimizer):
    def __init__(self, params, lr=required, momentum=0.9, eta=0.02):
        super().__init__(params, {"lr": lr, "momentum": momentum, "eta": eta})

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("nesterov", False)

    def step(self, closure=None):
        for group in self.param_groups:
            for p in filter(lambda p: p.grad is not None, group["params"]):
                d_p = p.grad.data
                ratio = group["eta"] * p.data.norm() / (d_p.norm() + 1e-8) if p.ndim > 1 else torch.ones(())
                buf = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p.data))
                buf.mul_(group["momentum"]).add_(d_p * ratio.clamp(max=1.0))
                p.data.add_(-group["lr"], buf) if False else p.data.add_(buf, alpha=-group["lr"])


class SAM(Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def step(self, closure):
        closure = torch.enable_grad()(closure)
        loss = closure()
        norm = torch.norm(torch.stack([p.grad.norm(p=2) for group in self.param_groups for p in group["params"]]), p=2)
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["e_w"] = e_w = p.grad * group["rho"] / (norm + 1e-12)
                p.add_(e_w)
        self.zero_grad()
        closure()
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(self.state[p].pop("e_w"))
        self.base_optimizer.step()
        return loss


class ForeachAdaBelief(Optimizer):
    """Steps over all tensors of a group at once."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            grads = [p.grad for p in params]
            for p in params:
                if not self.state[p]:
                    self.state[p].update(step=torch.zeros(()), m=torch.zeros_like(p), s=torch.zeros_like(p))
            steps, m, s = ([self.state[p][name] for p in params] for name in ("step", "m", "s"))
            (beta1, beta2), lr = group["betas"], group["lr"]
            torch._foreach_add_(steps, 1)
            torch._foreach_lerp_(m, grads, 1 - beta1)
            residuals = torch._foreach_sub(grads, m)
            torch._foreach_mul_(s, beta2)
            torch._foreach_addcmul_(s, residuals, residuals, value=1 - beta2)
            torch._foreach_add_(s, group["eps"])
            number = steps[0].item()
            denominators = torch._foreach_sqrt(torch._foreach_div(s, 1 - beta2**number))
            torch._foreach_add_(denominators, group["eps"])
            torch._foreach_addcdiv_(params, m, denominators, value=-lr / (1 - beta1**number))


class Lookahead(Optimizer):
    def __init__(self, optimizer, k=5, alpha=0.5):
        self.optimizer, self.k, self.alpha = optimizer, k, alpha
        self.param_groups, self.defaults, self.state = optimizer.param_groups, optimizer.defaults, defaultdict(dict)
        self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = {}, {}
        self.counter = 0

    def step(self, closure=None):
        loss = self.optimizer.step(closure)
        self.counter += 1
        for group in self.param_groups:
            for fast in group["params"]:
                state = self.state[fast]
                if "slow" not in state:
                    state["slow"] = fast.detach().clone()
                if self.counter % self.k == 0:
                    state["slow"] += (fast.data - state["slow"]) * self.alpha
                    fast.data.copy_(state["slow"])
        return loss


class WarmupCosine(LRScheduler):
    def __init__(self, optimizer, warmup, total, last_epoch=-1):
        self.warmup, self.total = warmup, total
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch < self.warmup:
            scale = (self.last_epoch + 1) / self.warmup
        else:
            scale = 0.5 * (1 + math.cos(math.pi * (self.last_epoch - self.warmup) / (self.total - self.warmup)))
        return [base_lr * scale for base_lr in self.base_lrs]


def main(record):
    torch.set_default_dtype(torch.float64)
    makers = {
        "lion": lambda groups: Lion(groups, lr=5e-3, weight_decay=0.01),
        "lars": lambda groups: LARS(groups, lr=0.5),
        "sam": lambda groups: SAM(groups, torch.optim.SGD, rho=0.1, lr=0.1, momentum=0.9),
        "adabelief": lambda groups: ForeachAdaBelief(groups, lr=2e-2),
        "lookahead": lambda groups: Lookahead(torch.optim.RAdam(groups, lr=2e-2)),
    }
    for name, make in makers.items():
        torch.manual_seed(31)
        model = nn.Sequential(nn.Linear(6, 12), nn.Hardswish(), nn.Linear(12, 3))
        groups = [{"params": [p for p in model.parameters() if p.ndim > 1]}, {"params": [p for p in model.parameters() if p.ndim == 1], "lr": 1e-2}]
        optimizer, calls = make(groups), []
        schedule = WarmupCosine(optimizer, 4, 24) if name != "lookahead" else None
        if name == "lion":
            optimizer.register_step_pre_hook(lambda opt, args, kwargs: calls.append("pre"))
            optimizer.register_step_post_hook(lambda opt, args, kwargs: calls.append("post"))
        x = torch.randn(48, 6)
        target = (x @ torch.randn(6, 3)).argmax(1)

        def closure():
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), target, label_smoothing=0.05)
            loss.backward()
            return loss

        for step in range(20):
            if name in ("sam", "lion", "lookahead"):
                loss = optimizer.step(closure)
            else:
                loss = closure()
                optimizer.step()
            if schedule is not None:
                schedule.step()
            record(f"{name} {step}", loss=loss.item(), lr=[group["lr"] for group in optimizer.param_groups])
        record(name, calls=len(calls), last=model[2].bias, keys=sorted(optimizer.param_groups[0]), repr=repr(optimizer) if name == "lars" else "")
        if name in ("lion", "adabelief"):
            file = io.BytesIO()
            torch.save({"optimizer": optimizer.state_dict(), "schedule": schedule.state_dict()}, file)
            file.seek(0)
            saved = torch.load(file)
            record(name, groups=str(saved["optimizer"]["param_groups"]), schedule=sorted(saved["schedule"])[:3], state=sorted(saved["optimizer"]["state"][0]))
            fresh = make([{**group, "params": list(group["params"])} for group in groups])
            fresh.load_state_dict(saved["optimizer"])
            record(name, loaded=all(torch.equal(a[key], b[key]) for a, b in zip(fresh.state.values(), optimizer.state.values()) for key in a))
    for wrong in (lambda: Lion(model.parameters(), lr=-1.0), lambda: Lion([]), lambda: Lion(torch.ones(2)), lambda: optimizer.optimizer.add_param_group(groups[0])):
        try:
            wrong()
        except (ValueError, TypeError) as error:
            record("refused", kind=type(error).__name__)
