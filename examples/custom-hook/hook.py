"""Calls ``aten::add_1`` without the hook and with it, from Python: the same as the program in Rust beside it."""

import contextlib

import opgrid as og
from opgrid.library import Library

HOOK = "TESTING_ONLY_GenericMode"


def not_implemented(x):
    raise NotImplementedError("Debug: Not implemented yet!")


class Hook:
    """Counts and prints every call while it is enabled."""

    def __init__(self):
        self.calls = 0
        self._library = Library("_", "IMPL")
        self._library.fallback(self._called, HOOK)
        self._enabled = contextlib.ExitStack()

    def _called(self, op, *args, **kwargs):
        print(f"Custom hook called {self.calls} times")
        print(f"  Operator: {op.name().partition('.')[0]}")
        self.calls += 1
        with og.exclude(HOOK):
            return op(*args, **kwargs)

    def enable_hook(self, on):
        self._enabled.close()
        if on:
            self._enabled.enter_context(og.include(HOOK))


    def remove(self):
        self.enable_hook(False)
        self._library._destroy()


def main():
    aten = Library("aten", "FRAGMENT")
    aten.define("add_1(Tensor self) -> Tensor")
    aten.impl("add_1", not_implemented)
    aten.impl("add_1", lambda x: x + 1, "CPU")
    hook = Hook()

    x = og.tensor([1.0, 2.0, 3.0])
    print(og.ops.aten.add_1(x))

    hook.enable_hook(True)
    y = og.ops.aten.add_1(x)
    z = y + 1
    hook.enable_hook(False)
    print(z)
    hook.remove()


if __name__ == "__main__":
    main()
