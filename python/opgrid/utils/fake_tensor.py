"""Tensors without data, to find out what a program would do on a device, and whether it would fit there.

>>> import opgrid as og
>>> from opgrid.utils.fake_tensor import FakeTensorMode
>>> with FakeTensorMode(memory={"cuda": 16 << 30}) as mode:
...     model = og.nn.Linear(8192, 8192, device="cuda")
...     loss = model(og.zeros(1024, 8192, device="cuda")).sum()
...     loss.backward()
>>> loss
FakeTensor(..., device='cuda:0', size=(), grad_fn=<aten::sum>)
>>> mode.max_memory_allocated("cuda") // 2**20
544

A fake tensor has sizes, strides, a dtype and the device that it passes for. Operators on it compute those of their results, refuse
devices and shapes that do not go together as they would be refused with data, and take no memory. What asks for elements, as
``item()`` does, is an error; what gives as many results as elements say, as ``nonzero()`` and ``x[x > 0]`` do, needs a ``density``. A tensor
with data goes with fake ones as if it had none.

Sizes are numbers. A program with sizes that vary comes from ``opgrid.export.export`` with fake arguments and ``dynamic_shapes``: it has
expressions for all sizes, and ranges and checks for what the code compared them with.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, TypeVar

from .. import _opgrid

__all__ = ["FakeTensorMode", "is_fake"]

_Module = TypeVar("_Module", bound=Any)


def is_fake(value: Any) -> bool:
    """Whether a value is a tensor without data that passes for one that has."""
    return isinstance(value, _opgrid.TensorBase) and _opgrid._is_fake(value)


class FakeTensorMode:
    """Has what a ``with`` block makes be fake: factories such as ``zeros``, modules, results of ``to(device)``.

    ``memory`` says how many bytes devices have, as ``{"cuda": 80 << 30}``; what needs more raises an error at the operator that does.
    ``density``, from 0 to 1, is the share of elements that masks are assumed to select and ``nonzero`` and ``unique`` to find; without it
    they raise errors. Devices that are not there can be named. Tensors that a program makes of Python's numbers, as ``tensor([1, 2])``, keep their data.
    """

    def __init__(self, memory: Mapping[Any, int] | None = None, density: float | None = None) -> None:
        if density is not None and not (isinstance(density, (int, float)) and 0 <= density <= 1):
            raise ValueError(f"density: found {density!r}, expected a share of elements from 0 to 1")
        self._memory = _opgrid.FakeMemory(density)
        for device, size in (memory or {}).items():
            if isinstance(size, bool) or not isinstance(size, int) or size < 0:
                raise ValueError(f"the memory of device {device} is {size!r}, expected a number of bytes")
            self._memory.limit(device, size)

    def __enter__(self) -> FakeTensorMode:
        self._memory.enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._memory.leave()

    def from_tensor(self, tensor: _opgrid.TensorBase, device: Any = None) -> Any:
        """A fake tensor like another one, on a device that passes for its own or for ``device``."""
        return self._memory.like(tensor, device)

    def from_module(self, module: _Module, device: Any = None) -> _Module:
        """Makes all parameters and buffers of a module fake, in place, and returns it; what was tied stays tied."""
        result: _Module = module._apply(lambda tensor: self.from_tensor(tensor, device))
        return result

    def memory_allocated(self, device: Any = "cpu") -> int:
        """How many bytes tensors of a device would take now."""
        return self._memory.usage(device)[0]

    def max_memory_allocated(self, device: Any = "cpu") -> int:
        """The most bytes that tensors of a device would have taken at once."""
        return self._memory.usage(device)[1]

    def reset_peak_memory_stats(self, device: Any = "cpu") -> None:
        """Counts the most from here on."""
        self._memory.restart_peak(device)

    def devices(self) -> list[_opgrid.device]:
        """The devices of which there were tensors, or whose memory is limited."""
        return self._memory.devices()
