"""Views, strides and writes: what shares memory, what counts versions, memory formats, and gradients through writes."""

import torch
import torch.nn as nn


def described(x):
    return f"{tuple(x.shape)} {x.stride()} {x.storage_offset()} {x.is_contiguous()}"


def life(board, steps):
    """Conway's game by sums of views with padding that wraps."""
    for _ in range(steps):
        padded = torch.nn.functional.pad(board[None, None].float(), (1, 1, 1, 1), mode="circular")[0, 0]
        windows = padded.unfold(0, 3, 1).unfold(1, 3, 1)
        count = windows.sum((-1, -2)) - board
        board = ((count == 3) | ((board == 1) & (count == 2))).to(board.dtype)
    return board


def main(record):
    torch.manual_seed(3)
    x = torch.arange(24).view(2, 3, 4)
    views = {
        "transpose": x.transpose(0, 2),
        "permute": x.permute(2, 0, 1),
        "slice": x[:, 1:, ::2],
        "diagonal": x.diagonal(dim1=1, dim2=2),
        "unfold": x.unfold(2, 2, 1),
        "expand": x[:, :1].expand(2, 5, 4),
        "as_strided": x.as_strided((3, 3), (5, 1), 2),
        "narrow": x.narrow(-1, 1, 2),
        "movedim": x.movedim(0, -1),
        "unflatten": x.unflatten(2, (2, -1)),
        "chunk": x.chunk(2, dim=2)[1],
        "select": x.select(1, 2),
        "swapaxes": x.swapaxes(0, 1).reshape(-1, 4),
        "view_as": x.view_as(torch.empty(6, 4)),
        "dtype": x.view(torch.int32),
    }
    base = x.untyped_storage().data_ptr()
    for name, view in views.items():
        record(name, described=described(view), shares=view.untyped_storage().data_ptr() == base, sum=int(view.sum()))
    x[0, 1].mul_(-1)
    x[:, :, -1] += torch.tensor([[100], [200]])
    x[x < -5] = 0
    x[torch.tensor([0, 1]), torch.tensor([2, 0])] = torch.tensor([1, 2, 3, 4])
    x[..., None, 0].neg_()
    x.T.select(0, 1).fill_(7)
    record("written", x=x, diagonal=views["diagonal"], strided=views["as_strided"])
    try:
        x.transpose(0, 1).view(-1)
    except RuntimeError as error:
        record("refused", kind=type(error).__mro__[-3].__name__)

    a = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
    for step in range(20):
        b = a * 2
        c = b[:2]
        c.mul_(a[2:].sin())
        b[2, 1:3] = a[0, :2] ** 2
        b.diagonal().add_(1.0)
        b[:, 3].copy_(a.sum(0))
        b.index_fill_(0, torch.tensor([3]), 0.5)
        d = torch.zeros(8, dtype=torch.float64)
        d[::2] = b.mean(0)
        d.index_add_(0, torch.tensor([0, 0, 7]), a[1, :3], alpha=0.5)
        d.masked_scatter_(torch.arange(8) % 3 == 1, a[3])
        (gradient,) = torch.autograd.grad((d.cumsum(0) ** 2).mean(), a)
        with torch.no_grad():
            a -= 0.05 * gradient
        record(step, loss=d.square().sum(), grad=gradient[0], shares=c.untyped_storage().data_ptr() == b.data_ptr())
    for write in (lambda: a.add_(1), lambda: a.detach().expand(2, 4, 4).add_(1), lambda: torch.arange(3).add_(0.5)):
        try:
            write()
            record("refused", done=True)
        except RuntimeError:
            record("refused", done=False)

    image = torch.randn(2, 3, 6, 5).to(memory_format=torch.channels_last)
    conv = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    formats = [image, conv.weight, image.clone(), image + 1, image.contiguous(), torch.empty_like(image), image.relu(), image[:, :2], image.permute(0, 2, 3, 1)]
    record("formats", strides=[tuple(t.stride()) for t in formats], last=[t.is_contiguous(memory_format=torch.channels_last) for t in formats[:3]])
    volume = torch.zeros(1, 2, 3, 4, 5).contiguous(memory_format=torch.channels_last_3d)
    record("formats", volume=volume.stride(), kept=torch.zeros_like(volume, memory_format=torch.preserve_format).stride(), output=conv(image).sum())
    board = torch.zeros(8, 8, dtype=torch.int32)
    board[1:4, 1:4] = torch.tensor([[0, 1, 0], [0, 0, 1], [1, 1, 1]])
    record("life", alive=int(board.sum()), after=life(board, 16).nonzero().tolist())
    grid = torch.meshgrid(torch.arange(3), torch.arange(2), indexing="xy")
    record("end", grid=torch.stack(grid), blocks=torch.block_diag(torch.ones(1, 2), torch.eye(2)), tiled=torch.eye(2).tile(1, 2).repeat_interleave(2, 0))
