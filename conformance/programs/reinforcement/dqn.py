"""Double DQN with a dueling network, replay memory and a soft-updated target, on a small grid world."""

import copy
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class GridWorld:
    """A square of 4 x 4 fields with a goal and a pit."""

    moves = [(0, 1), (0, -1), (1, 0), (-1, 0)]

    def __init__(self, size=4):
        self.size = size
        self.goal, self.pit = (size - 1, size - 1), (1, 2)

    def reset(self):
        self.position, self.steps = (0, 0), 0
        return self.observe()

    def observe(self):
        board = torch.zeros(self.size, self.size)
        board[self.position] = 1.0
        return board.flatten()

    def step(self, action):
        self.steps += 1
        self.position = tuple(min(max(p + m, 0), self.size - 1) for p, m in zip(self.position, self.moves[action]))
        if self.position == self.goal:
            return self.observe(), 1.0, True
        if self.position == self.pit:
            return self.observe(), -1.0, True
        return self.observe(), -0.02, self.steps >= 20


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DuelingDQN(nn.Module):
    def __init__(self, observations, actions):
        super().__init__()
        self.layer1 = nn.Linear(observations, 32)
        self.layer2 = nn.Linear(32, 32)
        self.value = nn.Linear(32, 1)
        self.advantage = nn.Linear(32, actions)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        advantage = self.advantage(x)
        return self.value(x) + advantage - advantage.mean(dim=-1, keepdim=True)


def optimize(policy, target, memory, optimizer, batch_size=32, gamma=0.95):
    batch = Transition(*zip(*memory.sample(batch_size)))
    non_final = torch.tensor([s is not None for s in batch.next_state], dtype=torch.bool)
    non_final_next = torch.stack([s for s in batch.next_state if s is not None])
    states, actions = torch.stack(batch.state), torch.tensor(batch.action).unsqueeze(1)
    rewards = torch.tensor(batch.reward)
    values = policy(states).gather(1, actions)
    next_values = torch.zeros(batch_size)
    with torch.no_grad():
        best = policy(non_final_next).argmax(1, keepdim=True)
        next_values[non_final] = target(non_final_next).gather(1, best).squeeze(1)
    loss = nn.SmoothL1Loss()(values, (rewards + gamma * next_values).unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy.parameters(), 100)
    optimizer.step()
    return loss.item(), values.mean().item()


def main(record):
    random.seed(6)
    torch.manual_seed(6)
    environment, memory = GridWorld(), ReplayMemory(500)
    policy = DuelingDQN(16, 4)
    target = copy.deepcopy(policy)
    target.load_state_dict(policy.state_dict())
    optimizer = optim.AdamW(policy.parameters(), lr=3e-3, amsgrad=True)
    state, episode, total = environment.reset(), 0, 0.0
    for step in range(20):
        epsilon = 0.1 + 0.9 * 0.9**step
        for _ in range(12):
            if random.random() > epsilon:
                with torch.no_grad():
                    action = policy(state.unsqueeze(0)).max(1).indices.item()
            else:
                action = random.randrange(4)
            following, reward, done = environment.step(action)
            total += reward
            memory.push(state, action, None if done else following, reward)
            state = environment.reset() if done else following
            episode += done
        if len(memory) < 32:
            continue
        loss, value = optimize(policy, target, memory, optimizer)
        source, sink = policy.state_dict(), target.state_dict()
        for key in source:
            sink[key] = source[key] * 0.1 + sink[key] * 0.9
        target.load_state_dict(sink)
        record(step, loss=loss, value=value, episodes=episode, reward=total)
    with torch.no_grad():
        values = policy(torch.eye(16)).max(1)
        record("end", values=values.values.view(4, 4), target=target(torch.eye(16)).sum(1))
    record("end", norms=[p.norm().item() for p in policy.parameters()])
