"""Calls of operators in scope that no sample of torch's database makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gradients
import torch
import torch.nn.functional as F


class Program:
    """Functions that are run under a recorder, as an entry of the database."""

    def __init__(self, name: str, functions: Callable[[], Iterator[Callable[[], Any]]]) -> None:
        self.name = name
        self.functions = functions
        self.aten_name = name
        self.decorators: tuple[Any, ...] = ()


def floats(*sizes: int, gradient: bool = False) -> torch.Tensor:
    return torch.randn(*sizes).requires_grad_(gradient)


def shapes() -> Iterator[Callable[[], Any]]:
    x = floats(2, 3, 4)
    yield lambda: torch.swapaxes(x, 0, 2)
    yield lambda: torch.swapdims(x, -1, 0)
    yield lambda: torch.moveaxis(x, (0, 1), (2, 0))
    yield lambda: torch.moveaxis(x, 0, -1)
    yield lambda: torch.adjoint(x)
    yield lambda: torch.adjoint(torch.randn(2, 3, dtype=torch.complex64))
    yield lambda: torch.ger(floats(3), floats(4))
    yield lambda: torch.fill(x, 2.5)
    yield lambda: x.clone().squeeze_(0)


def numbers() -> Iterator[Callable[[], Any]]:
    """Overloads for numbers, which torch's functions for Python do not choose."""
    aten = torch.ops.aten
    integers, reals = torch.tensor([[-7, 0, 3], [5, -2, 9]]), floats(2, 3)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        for x in (integers, integers.to(torch.int8), integers > 0):
            yield lambda name=name, x=x: getattr(aten, name).Scalar(x, 6)
            yield lambda name=name, x=x: getattr(aten, name).Scalar(x, True)
    for x in (integers, reals, reals.half(), integers.to(torch.uint8), integers > 0):
        for number in (2, -3, 1.5, True):
            for name in ("add", "sub", "mul", "div", "fmod", "remainder", "eq", "ne", "lt", "le", "gt", "ge", "rsub"):
                yield lambda name=name, x=x, number=number: getattr(aten, name).Scalar(x, number)
            yield lambda x=x, number=number: aten.pow.Tensor_Scalar(x, number)
            yield lambda x=x, number=number: aten.pow.Scalar(number, x)
            for mode in (None, "trunc", "floor"):
                yield lambda x=x, number=number, mode=mode: aten.div.Scalar_mode(x, number, rounding_mode=mode)
    for x in (integers, reals):
        yield lambda x=x: aten.add.Scalar(x, 2, 3)
        yield lambda x=x: aten.scatter.value(x, 1, torch.tensor([[0, 2], [1, 1]]), 4)
        yield lambda x=x: aten.copy.default(x, reals[0])
        yield lambda x=x: aten.copy.default(x, reals.t().contiguous().t())


def random_numbers() -> Iterator[Callable[[], Any]]:
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        yield lambda dtype=dtype: torch.rand(2, 3, dtype=dtype)
        yield lambda dtype=dtype: torch.randn(40, dtype=dtype)
    for count in (0, 1, 5, 20):
        yield lambda count=count: torch.randperm(count)
    yield lambda: torch.randperm(7, dtype=torch.int32)
    yield lambda: torch.rand(0)


def folds() -> Iterator[Callable[[], Any]]:
    yield lambda: F.fold(floats(1, 12, 9), output_size=(4, 4), kernel_size=2)
    yield lambda: F.fold(floats(12, 9), output_size=(4, 4), kernel_size=2)
    yield lambda: F.fold(floats(2, 8, 4), output_size=(5, 4), kernel_size=2, stride=2, padding=(0, 0), dilation=1)
    yield lambda: F.fold(floats(1, 9, 4), output_size=(6, 6), kernel_size=3, dilation=2, stride=1)


def recurrent(make: Callable[..., torch.nn.Module]) -> Callable[[], Iterator[Callable[[], Any]]]:
    def functions() -> Iterator[Callable[[], Any]]:
        for options in (
            {},
            {"bias": False},
            {"num_layers": 2},
            {"bidirectional": True},
            {"batch_first": True},
            {"num_layers": 2, "bidirectional": True, "batch_first": True},
        ):
            module = make(4, 3, **options)
            yield lambda module=module: module(floats(2, 5, 4))
            yield lambda module=module: module(floats(5, 4))

    return functions


def embedding_bags() -> Iterator[Callable[[], Any]]:
    weight = floats(6, 3)
    indices, offsets = torch.tensor([0, 2, 5, 5, 1]), torch.tensor([0, 2, 2])
    for mode in (0, 1, 2):
        for last in (False, True):
            yield lambda mode=mode, last=last: torch.ops.aten._embedding_bag(
                weight, indices, offsets, False, mode, False, None, last
            )
    yield lambda: torch.ops.aten._embedding_bag(weight, indices, offsets, False, 0, False, floats(5))
    yield lambda: torch.ops.aten._embedding_bag(weight, indices, offsets, False, 0, False, None, False, 2)


PROGRAMS = (
    Program("shapes", shapes),
    Program("numbers", numbers),
    Program("random_numbers", random_numbers),
    Program("col2im", folds),
    Program("lstm", recurrent(torch.nn.LSTM)),
    Program("gru", recurrent(torch.nn.GRU)),
    Program("_embedding_bag", embedding_bags),
    *(Program(name, calls) for name, calls in gradients.TOPICS.items()),
)
