"""Compiled functions and modules: traced for each kind of arguments, with element-wise operators fused, and a report of all that."""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from . import _opgrid, export, nn
from ._notes import note
from .autograd import no_grad

_MOST_TRACES = 8
"""For how many kinds of arguments a function is traced."""

_PLAIN = (bool, int, float, complex, str, type(None), _opgrid.dtype, _opgrid.device)


class CompileReport:
    """What became of a compiled function. Printed, it has all of it as text.

    ``compiled_calls`` ran programs and ``eager_calls`` the function itself, for the ``reasons`` that are counted. ``programs`` has one
    text for each kind of arguments: the fused groups with their operators, their runs and the bytes they saved, and the operators
    outside of groups with their reasons.
    """

    def __init__(self, compiled_calls: int, reasons: Counter[str], programs: list[str]) -> None:
        self.compiled_calls = compiled_calls
        self.eager_calls = sum(reasons.values())
        self.reasons = dict(reasons)
        self.programs = programs

    def __str__(self) -> str:
        lines = [f"calls compiled: {self.compiled_calls}, eager: {self.eager_calls}"]
        lines += [f"  {count} eager: {reason}" for reason, count in self.reasons.items()]
        lines += [f"arguments of kind {number}:\n{program}" for number, program in enumerate(self.programs)]
        return "\n".join(lines)


class _Traced:
    """A program for arguments of one kind; without one, why there is none."""

    def __init__(self, program: _opgrid.Program | None, reason: str = "") -> None:
        self.program = program
        self.reason = reason
        self.results: tuple[Any, ...] = program.trees()[1] if program is not None else ()
        self.kept: tuple[Any, ...] = ()
        """What the kind of arguments names by identity: nothing else gets the same while it is here."""


class Compiler:
    """Runs a function by programs: one for each kind of arguments, made at their first call."""

    def __init__(self, function: Callable[..., Any], fullgraph: bool) -> None:
        self.function = function
        self.fullgraph = fullgraph
        self.traced: dict[Any, _Traced] = {}
        self.compiled_calls = 0
        self.reasons: Counter[str] = Counter()

    def report(self) -> CompileReport:
        programs = [traced.program.report() for traced in self.traced.values() if traced.program is not None]
        return CompileReport(self.compiled_calls, self.reasons, programs)

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls the function: by a program if there can be one, else as it is."""
        leaves: list[Any] = []
        try:
            tree = export._flatten((args, kwargs), leaves)
            kind = (_hashable(tree), *(_kind(leaf) for leaf in leaves), *self._state())
            traced = self.traced.get(kind)
            if traced is None:
                traced = self.traced[kind] = self._trace(args, kwargs, leaves)
                traced.kept = tuple(self._tensors())
        except _Refusal as refusal:
            traced = _Traced(None, str(refusal))
        except TypeError as error:
            traced = _Traced(None, f"an argument that has no kind: {error}")
        if traced.program is None:
            if self.fullgraph and not traced.reason.startswith(_RECORDED):
                raise RuntimeError(f"compile(fullgraph=True): the function does not become one program: {traced.reason}")
            self.reasons[traced.reason] += 1
            return self.function(*args, **kwargs)
        self.compiled_calls += 1
        inputs = [leaf for leaf in leaves if isinstance(leaf, _opgrid.TensorBase)]
        return export._nest(traced.results, iter(traced.program.run(inputs)))

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]) -> _Traced:
        if sum(traced.program is not None for traced in self.traced.values()) >= _MOST_TRACES:
            note(f"compile(): traced for {_MOST_TRACES} kinds of arguments; those of other dtypes, shapes or values run as they are")
            raise _Refusal(f"it is traced for {_MOST_TRACES} other kinds of arguments")
        from .utils.fake_tensor import FakeTensorMode

        # Nothing is computed for tensors without data, and what tensors with data are written to is undone: the call does it.
        mode = FakeTensorMode()
        fakes: list[Any] = [mode.from_tensor(leaf) if isinstance(leaf, _opgrid.TensorBase) else leaf for leaf in leaves]
        args, kwargs = export._nest(export._flatten((args, kwargs), []), iter(fakes))
        before = [(tensor, tensor._version, tensor.detach().clone()) for tensor in self._tensors()]
        try:
            return _Traced(export.export(self.function, args, kwargs)._program.compiled())
        except Exception as error:
            return _Traced(None, str(error))
        finally:
            with no_grad():
                for tensor, version, value in before:
                    if tensor._version != version:
                        tensor.copy_(value)

    def _state(self) -> Iterator[Any]:
        """What the function reads besides its arguments, as far as that can be found."""
        recorded = _opgrid.is_grad_enabled()
        yield _opgrid.get_default_dtype(), _opgrid.is_autocast_enabled("cpu"), _opgrid.get_autocast_dtype("cpu"), recorded
        for value in self._values():
            if isinstance(value, _opgrid.TensorBase):
                if recorded and value.requires_grad:
                    raise _Refusal(_RECORDED)
                yield id(value)
            elif isinstance(value, _PLAIN):
                yield type(value), value
            elif isinstance(value, _CONTAINERS):
                yield type(value), len(value)
            elif isinstance(value, nn.Module):
                for module in value.modules():
                    yield module.training, *module._forward_pre_hooks, *module._forward_hooks
                for parameter in [*value.parameters(), *value.buffers()]:
                    if recorded and parameter.requires_grad:
                        raise _Refusal(_RECORDED)
                    yield id(parameter), parameter.dtype
            elif not isinstance(value, _UNCHANGING):
                raise _Refusal(f"its code reads an object of class {type(value).__name__}, which may change between calls")

    def _tensors(self) -> Iterator[Any]:
        for value in self._values():
            if isinstance(value, _opgrid.TensorBase):
                yield value
            elif isinstance(value, nn.Module):
                yield from [*value.parameters(), *value.buffers()]

    def _values(self) -> Iterator[Any]:
        """The values that the function's code names, and those that functions, modules and containers among them lead to."""
        waiting: list[Any] = [self.function]
        seen: set[int] = set()
        while waiting:
            value = waiting.pop()
            if isinstance(value, _PLAIN):
                yield value
            elif id(value) not in seen:
                seen.add(id(value))
                yield value
                waiting.extend(_parts(value))


def _parts(value: Any) -> Iterator[Any]:
    """What a value leads to that code may read."""
    if isinstance(value, nn.Module):
        for module in value.modules():
            yield from (attribute for attribute in vars(module).values() if isinstance(attribute, _PLAIN))
            yield getattr(type(module), "forward", None)
    elif isinstance(value, types.MethodType):
        yield from (value.__self__, value.__func__)
    elif isinstance(value, dict):
        yield from (*value.keys(), *value.values())
    elif isinstance(value, _CONTAINERS):
        yield from value
    elif isinstance(value, types.FunctionType) and value.__module__.partition(".")[0] != _PACKAGE:
        yield from (cell.cell_contents for cell in value.__closure__ or () if cell != types.CellType())
        codes = [value.__code__]
        for code in codes:
            codes.extend(part for part in code.co_consts if isinstance(part, types.CodeType))
            yield from (value.__globals__[name] for name in code.co_names if name in value.__globals__)


_PACKAGE = __name__.partition(".")[0]

_CONTAINERS = (list, tuple, dict)

_UNCHANGING = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
"""What code names and calls, or looks names up in."""

_RECORDED = "gradients are recorded"


class _Refusal(Exception):
    """Why a call runs eagerly."""


def _kind(leaf: Any) -> Any:
    """What a program depends on of an argument."""
    if type(leaf) is _opgrid.Tensor:
        if leaf.requires_grad and _opgrid.is_grad_enabled():
            raise _Refusal(_RECORDED)
        return leaf.dtype, leaf.shape, leaf.stride(), leaf.device
    if isinstance(leaf, _PLAIN):
        return type(leaf), leaf
    raise _Refusal(f"an argument is of class {type(leaf).__name__}")


def _hashable(tree: Any) -> Any:
    return tuple(map(_hashable, tree)) if isinstance(tree, (tuple, list)) else tree


class CompiledModule(nn.Module):
    """A module that runs compiled. Its parameters, buffers and attributes are those of the module, as is its state."""

    def __init__(self, module: nn.Module, compiler: Compiler) -> None:
        super().__init__()
        self._orig_mod = module
        self.__dict__["_compiler"] = compiler

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiler.call(args, kwargs)

    def report(self) -> CompileReport:
        """What is compiled, what ran eagerly, and why."""
        report: CompileReport = self._compiler.report()
        return report

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_orig_mod"), name)
