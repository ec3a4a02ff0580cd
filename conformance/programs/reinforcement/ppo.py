"""Proximal policy optimization with a normal policy, advantages by GAE and minibatches, on a pendulum that is computed in tensors."""

import torch
import torch.nn as nn
from torch.distributions import Independent, Normal
from torch.utils.data import BatchSampler, SubsetRandomSampler

STEPS, ENVS, GAMMA, LAMBDA = 16, 6, 0.95, 0.9


class Pendulums:
    """Several pendulums; the state is angle and speed, the observation cosine, sine and speed."""

    def __init__(self, count):
        self.angle = torch.empty(count).uniform_(-torch.pi, torch.pi)
        self.speed = torch.empty(count).uniform_(-1, 1)

    def observe(self):
        return torch.stack((self.angle.cos(), self.angle.sin(), self.speed), dim=-1)

    def step(self, action):
        torque = action.squeeze(-1).clamp(-2.0, 2.0)
        wrapped = torch.remainder(self.angle + torch.pi, 2 * torch.pi) - torch.pi
        cost = wrapped**2 + 0.1 * self.speed**2 + 0.001 * torque**2
        self.speed = (self.speed + (15 * self.angle.sin() + 3 * torque) * 0.05).clip(-8, 8)
        self.angle = self.angle + self.speed * 0.05
        done = torch.bernoulli(torch.full_like(self.angle, 0.05)).bool()
        self.angle.masked_fill_(done, 1.0)
        self.speed[done] = 0
        return self.observe(), -cost, done


def layer_init(layer, std=2**0.5, bias_const=0.0):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(3, 16)), nn.Tanh(), layer_init(nn.Linear(16, 1), std=1.0))
        self.actor_mean = nn.Sequential(layer_init(nn.Linear(3, 16)), nn.Tanh(), layer_init(nn.Linear(16, 1), std=0.01))
        self.actor_logstd = nn.Parameter(torch.zeros(1, 1))

    def get_action_and_value(self, x, action=None):
        mean = self.actor_mean(x)
        policy = Independent(Normal(mean, self.actor_logstd.expand_as(mean).exp()), 1)
        if action is None:
            action = policy.sample()
        return action, policy.log_prob(action), policy.entropy(), self.critic(x).squeeze(-1)


@torch.no_grad()
def advantages(rewards, values, dones, last):
    result = torch.zeros_like(rewards)
    running = 0
    for t in reversed(range(len(rewards))):
        alive = 1.0 - dones[t].type(rewards.type())
        delta = rewards[t] + GAMMA * last * alive - values[t]
        result[t] = running = delta + GAMMA * LAMBDA * alive * running
        last = values[t]
    return result


def main(record):
    torch.manual_seed(7)
    torch.set_default_dtype(torch.float64)
    envs, agent = Pendulums(ENVS), Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3, eps=1e-5)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: 1.0 - update / 20)
    obs = envs.observe()
    for update in range(20):
        kept = {name: [] for name in ("obs", "actions", "logprobs", "rewards", "values", "dones")}
        for _ in range(STEPS):
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(obs)
            following, reward, done = envs.step(action)
            for name, item in zip(kept, (obs, action, logprob, reward, value, done)):
                kept[name].append(item)
            obs = following
        kept = {name: torch.stack(items) for name, items in kept.items()}
        gae = advantages(kept["rewards"], kept["values"], kept["dones"], agent.critic(obs).detach().squeeze(-1))
        flat = {name: items.flatten(0, 1) for name, items in kept.items()}
        returns, gae = (gae + kept["values"]).reshape(-1), gae.reshape(-1)
        clipfracs, stop = [], False
        for _ in range(2):
            for indices in BatchSampler(SubsetRandomSampler(range(STEPS * ENVS)), 32, drop_last=False):
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(flat["obs"][indices], flat["actions"][indices])
                logratio = newlogprob - flat["logprobs"][indices]
                ratio = logratio.exp()
                with torch.no_grad():
                    approx_kl = ((ratio - 1) - logratio).mean()
                    clipfracs += [((ratio - 1.0).abs() > 0.2).to(ratio).mean().item()]
                adv = gae[indices]
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                pg_loss = torch.max(-adv * ratio, -adv * torch.clamp(ratio, 0.8, 1.2)).mean()
                v_clipped = flat["values"][indices] + torch.clamp(newvalue - flat["values"][indices], -0.2, 0.2)
                v_loss = 0.5 * torch.maximum((newvalue - returns[indices]) ** 2, (v_clipped - returns[indices]) ** 2).mean()
                loss = pg_loss - 0.01 * entropy.mean() + v_loss * 0.5
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
            stop = stop or bool(approx_kl > 0.5)
        schedule.step()
        explained = 1 - (returns - flat["values"]).var(unbiased=False) / returns.var(unbiased=False)
        record(update, pg=pg_loss, v=v_loss, entropy=entropy.mean(), kl=approx_kl, explained=explained, clipped=sum(clipfracs) / len(clipfracs))
    record("end", lr=schedule.get_last_lr()[0], stop=stop, logstd=agent.actor_logstd.data, action=agent.get_action_and_value(obs)[0])
