"""Soft actor-critic: a squashed policy, twin critics with Polyak averaging, a learned temperature and a replay buffer."""

import copy
import itertools
from typing import NamedTuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, TransformedDistribution
from torch.distributions.transforms import TanhTransform


class Batch(NamedTuple):
    obs: torch.Tensor
    act: torch.Tensor
    rew: torch.Tensor
    obs2: torch.Tensor
    done: torch.Tensor


class ReplayBuffer:
    def __init__(self, obs_dim, act_dim, size):
        self.obs, self.obs2 = torch.zeros(2, size, obs_dim).unbind()
        self.act, self.rew = torch.zeros(size, act_dim), torch.zeros(size)
        self.done = torch.zeros(size, dtype=torch.bool)
        self.ptr, self.size, self.max_size = 0, 0, size

    def store(self, obs, act, rew, obs2, done):
        self.obs[self.ptr], self.act[self.ptr], self.obs2[self.ptr] = obs, act, obs2
        self.rew[self.ptr], self.done[self.ptr] = rew, done
        self.ptr = (self.ptr + 1) % self.max_size
        self.size = min(self.size + 1, self.max_size)

    def sample(self, count):
        rows = torch.randint(0, self.size, size=(count,))
        return Batch(self.obs[rows], self.act[rows], self.rew[rows], self.obs2[rows], self.done[rows].float())


def mlp(sizes, activation=nn.ReLU, output_activation=nn.Identity):
    layers = []
    for j, (a, b) in enumerate(itertools.pairwise(sizes)):
        layers += [nn.Linear(a, b), (activation if j < len(sizes) - 2 else output_activation)()]
    return nn.Sequential(*layers)


class Actor(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.net = mlp([obs_dim, 16, 16], output_activation=nn.ReLU)
        self.mu, self.log_std = nn.Linear(16, act_dim), nn.Linear(16, act_dim)

    def policy(self, obs):
        out = self.net(obs)
        log_std = torch.clamp(self.log_std(out), -5, 2)
        return TransformedDistribution(Normal(self.mu(out), log_std.exp()), [TanhTransform(cache_size=1)])

    def forward(self, obs):
        policy = self.policy(obs)
        action = policy.rsample()
        return action, policy.log_prob(action).sum(-1)


class Critics(nn.ModuleList):
    def __init__(self, obs_dim, act_dim):
        super().__init__(mlp([obs_dim + act_dim, 16, 1]) for _ in range(2))

    def forward(self, obs, act):
        return [torch.squeeze(q(torch.cat([obs, act], dim=-1)), -1) for q in self]


def world(state, action):
    """A point that is pushed on a plane, and shall come to the origin."""
    following = state * 0.95 + 0.3 * F.pad(action, (0, state.shape[-1] - action.shape[-1]))
    return following, -torch.linalg.vector_norm(following, dim=-1), torch.linalg.vector_norm(following) < 0.05


def main(record):
    torch.manual_seed(11)
    torch.set_default_dtype(torch.double)
    actor, critics = Actor(3, 2), Critics(3, 2)
    targets = copy.deepcopy(critics).requires_grad_(False)
    log_alpha = torch.zeros(1, requires_grad=True)
    optimizers = [torch.optim.Adam(p, lr=1e-2) for p in (actor.parameters(), critics.parameters(), [log_alpha])]
    buffer, state = ReplayBuffer(3, 2, 64), torch.randn(3)
    for step in range(25):
        for _ in range(4):
            with torch.inference_mode():
                action, _ = actor(state)
            following, reward, done = world(state, action)
            buffer.store(state, action, reward, following, done)
            state = torch.randn(3) if done else following
        data = buffer.sample(16)
        alpha = log_alpha.exp().item()
        with torch.no_grad():
            act2, logp2 = actor(data.obs2)
            q_target = torch.min(*targets(data.obs2, act2))
            backup = data.rew + 0.95 * (1 - data.done) * (q_target - alpha * logp2)
        loss_q = sum(F.mse_loss(q, backup) for q in critics(data.obs, data.act))
        optimizers[1].zero_grad()
        loss_q.backward()
        optimizers[1].step()

        for p in critics.parameters():
            p.requires_grad = False
        act, logp = actor(data.obs)
        loss_pi = (alpha * logp - torch.min(*critics(data.obs, act))).mean()
        optimizers[0].zero_grad()
        loss_pi.backward()
        optimizers[0].step()
        for p in critics.parameters():
            p.requires_grad = True

        loss_alpha = -(log_alpha * (logp.detach() - 2)).mean()
        optimizers[2].zero_grad()
        loss_alpha.backward()
        optimizers[2].step()
        with torch.no_grad():
            for p, target in zip(critics.parameters(), targets.parameters()):
                target.data.mul_(0.9)
                target.data.add_((1 - 0.9) * p.data)
        record(step, q=loss_q.item(), pi=loss_pi.item(), alpha=log_alpha, size=buffer.size, entropy=-logp.mean().item())
    policy = actor.policy(torch.zeros(3))
    record("end", event=tuple(policy.event_shape), batch=tuple(policy.batch_shape), support=str(policy.transforms[0].codomain), rsample=policy.has_rsample)
    record("end", cdf=policy.cdf(torch.tensor([0.1, -0.2])), icdf=policy.icdf(torch.tensor([0.25, 0.5])), trained=[q.weight.grad is None for q in targets[0][::2]])
