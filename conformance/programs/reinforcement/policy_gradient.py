"""REINFORCE with a baseline and PPO with a Gaussian policy, on a point mass and on a cart with a pole."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical, Normal, kl_divergence


class CartPole:
    """The balance of a pole, for many carts at a time."""

    def __init__(self, count):
        self.count = count

    def reset(self):
        self.state = torch.empty(self.count, 4).uniform_(-0.05, 0.05)
        return self.state

    def step(self, action):
        x, v, angle, speed = self.state.unbind(1)
        force = torch.where(action == 1, 10.0, -10.0)
        cos, sin = torch.cos(angle), torch.sin(angle)
        temp = (force + 0.05 * speed**2 * sin) / 1.1
        angular = (9.8 * sin - cos * temp) / (0.5 * (4.0 / 3.0 - 0.1 * cos**2 / 1.1))
        linear = temp - 0.05 * angular * cos / 1.1
        self.state = torch.stack([x + 0.02 * v, v + 0.02 * linear, angle + 0.02 * speed, speed + 0.02 * angular], dim=1)
        done = (self.state[:, 0].abs() > 2.4) | (self.state[:, 2].abs() > 12 * 2 * math.pi / 360)
        return self.state, torch.logical_not(done).float()


class Reinforce(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1, self.affine2, self.baseline = nn.Linear(4, 24), nn.Linear(24, 2), nn.Linear(24, 1)
        self.dropout = nn.Dropout(p=0.1)

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return Categorical(F.softmax(self.affine2(x), dim=1)), self.baseline(x).squeeze(-1)


def reinforce(record):
    policy, environment = Reinforce(), CartPole(8)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for step in range(20):
        state, alive = environment.reset(), torch.ones(8)
        log_probs, values, rewards = [], [], []
        for _ in range(15):
            distribution, value = policy(state)
            action = distribution.sample()
            log_probs.append(distribution.log_prob(action) * alive)
            values.append(value)
            state, going = environment.step(action)
            alive = alive * going
            rewards.append(alive)
        returns, running = [], torch.zeros(8)
        for reward in reversed(rewards):
            running = reward + 0.99 * running
            returns.insert(0, running)
        returns = torch.stack(returns)
        advantage = returns - torch.stack(values).detach()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        loss = -(torch.stack(log_probs) * advantage).sum(0).mean() + F.mse_loss(torch.stack(values), returns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record(step, reinforce=loss.item(), length=torch.stack(rewards).sum(0).mean().item())


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
        self.critic = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
        self.log_std = nn.Parameter(torch.full((1,), -0.5))
        for layer in [*self.actor, *self.critic]:
            if isinstance(layer, nn.Linear):
                nn.init.orthogonal_(layer.weight, math.sqrt(2))
                nn.init.constant_(layer.bias, 0.0)

    def act(self, state):
        return Normal(self.actor(state).squeeze(-1), self.log_std.exp()), self.critic(state).squeeze(-1)


def rollout(model, carts=8, horizon=12):
    """A mass that is to be pushed to the origin."""
    state = torch.stack([torch.rand(carts) * 2 - 1, torch.zeros(carts)], dim=1)
    kept = {name: [] for name in ("state", "action", "log_prob", "value", "reward")}
    with torch.no_grad():
        for _ in range(horizon):
            distribution, value = model.act(state)
            action = distribution.sample()
            speed = state[:, 1] + 0.1 * action.clamp(-2, 2)
            following = torch.stack([state[:, 0] + 0.1 * speed, speed], dim=1)
            reward = -(following[:, 0] ** 2) - 0.01 * action**2
            for name, value_ in zip(kept, (state, action, distribution.log_prob(action), value, reward)):
                kept[name].append(value_)
            state = following
        kept["value"].append(model.act(state)[1])
    return {name: torch.stack(values) for name, values in kept.items()}


def advantages_of(rewards, values, gamma=0.99, lam=0.95):
    advantages = torch.zeros_like(rewards)
    last = torch.zeros(rewards.size(1))
    for t in reversed(range(rewards.size(0))):
        delta = rewards[t] + gamma * values[t + 1] - values[t]
        advantages[t] = last = delta + gamma * lam * last
    return advantages


def ppo(record):
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, eps=1e-5)
    for step in range(20):
        kept = rollout(model)
        advantages = advantages_of(kept["reward"], kept["value"])
        returns = (advantages + kept["value"][:-1]).flatten()
        states, actions, old = kept["state"].flatten(0, 1), kept["action"].flatten(), kept["log_prob"].flatten()
        advantages = advantages.flatten()
        with torch.no_grad():
            before, _ = model.act(states)
        for epoch in range(2):
            for index in torch.randperm(len(states)).split(32):
                distribution, value = model.act(states[index])
                ratio = torch.exp(distribution.log_prob(actions[index]) - old[index])
                adv = advantages[index]
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                policy_loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
                value_loss = 0.5 * (value - returns[index]).pow(2).mean()
                loss = policy_loss + 0.5 * value_loss - 0.01 * distribution.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                optimizer.step()
        with torch.no_grad():
            kl = kl_divergence(before, model.act(states)[0]).mean()
        record(step, ppo=loss.item(), kl=kl.item(), reward=kept["reward"].sum(0).mean().item())
    record("end", log_std=model.log_std, norms=[p.norm().item() for p in model.parameters()])


def main(record):
    torch.manual_seed(543)
    reinforce(record)
    torch.manual_seed(544)
    ppo(record)
