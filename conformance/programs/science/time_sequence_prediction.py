"""Sine waves continued by cells of an LSTM, trained with L-BFGS in double precision."""

import torch
import torch.nn as nn
import torch.optim as optim


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 8)
        self.lstm2 = nn.LSTMCell(8, 8)
        self.linear = nn.Linear(8, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), 8, dtype=torch.double)
        c_t = torch.zeros(input.size(0), 8, dtype=torch.double)
        h_t2 = torch.zeros(input.size(0), 8, dtype=torch.double)
        c_t2 = torch.zeros(input.size(0), 8, dtype=torch.double)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for _ in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


class Cells(nn.Module):
    """The other cells, with and without biases, in one step of a stack."""

    def __init__(self):
        super().__init__()
        self.cells = nn.ModuleList([nn.GRUCell(1, 6), nn.RNNCell(6, 6, nonlinearity="relu"), nn.GRUCell(6, 4, bias=False), nn.RNNCell(4, 1)])

    def forward(self, input):
        states, outputs = [None] * len(self.cells), []
        for x in input.unbind(1):
            x = x[:, None]
            for place, cell in enumerate(self.cells):
                states[place] = x = cell(x, states[place])
            outputs.append(x)
        return torch.hstack(outputs)


def main(record):
    torch.manual_seed(0)
    T, L, N = 20, 60, 12
    x = torch.arange(L).repeat(N, 1) + torch.randint(-4 * T, 4 * T, (N, 1))
    data = torch.sin(x / 1.0 / T).to(torch.float64)
    input, target = data[3:, :-1], data[3:, 1:]
    test_input, test_target = data[:3, :-1], data[:3, 1:]
    seq = Sequence().double()
    criterion = nn.MSELoss()
    optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=5)
    calls = 0
    for i in range(4):

        def closure():
            nonlocal calls
            optimizer.zero_grad()
            loss = criterion(seq(input), target)
            record(f"{i}.{calls}", loss=loss.item())
            loss.backward()
            calls += 1
            return loss

        optimizer.step(closure)
        with torch.no_grad():
            pred = seq(test_input, future=10)
            loss = criterion(pred[:, :-10], test_target)
            record(i, test=loss.item(), future=pred.detach().numpy()[0, -3:].tolist())
    state = optimizer.state_dict()
    record("end", calls=calls, evals=state["state"][0]["func_evals"], iterations=state["state"][0]["n_iter"], history=len(state["state"][0]["old_dirs"]))

    cells = Cells().double()
    optimizer = optim.Rprop(cells.parameters(), lr=0.01)
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.95)
    for step in range(20):
        optimizer.zero_grad()
        loss = nn.functional.l1_loss(cells(input), target)
        loss.backward()
        optimizer.step()
        schedule.step()
        record(f"cells {step}", loss=loss.item())
    record("end", lr=schedule.get_last_lr()[0], text=repr(cells), grads=[round(p.grad.norm().item(), 6) for p in cells.parameters()][0])
