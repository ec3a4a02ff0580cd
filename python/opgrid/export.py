"""Programs: traced from modules and functions, read from what ``torch.export.save`` wrote, run, and saved for torch.

>>> import opgrid as og
>>> program = og.export.export(og.nn.Linear(3, 2), (og.ones(4, 3),))
>>> program.module()(og.ones(4, 3)).shape
opgrid.Size([4, 2])

The names are those of ``torch.export``. A program holds operators and tensors, no Python: it is a graph that reads as text
(``print(program)``), and every node is an ordinary call.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from . import _opgrid, nn
from ._place import of_caller

__all__ = ["Dim", "ExportedProgram", "ExportGraphSignature", "export", "load", "save"]

_MOST = 2**63 - 1


class Dim:
    """A size that varies, from `min` to `max`. Dimensions that are given the same one have the same size.

    ``Dim.DYNAMIC`` and ``Dim.AUTO`` stand for a size of a dimension's own.
    """

    DYNAMIC: Dim
    AUTO: Dim

    def __init__(self, name: str, *, min: int = 0, max: int | None = None) -> None:
        if not name.isidentifier():
            raise ValueError(f"Dim(): found the name {name!r}, expected letters, digits and _")
        if min < 0 or (max is not None and max < min):
            raise ValueError(f"Dim(): found the range {min} to {max}, expected sizes from a smaller to a larger one")
        self.__name__ = name
        self.min = min
        self.max = max

    def __repr__(self) -> str:
        return f"Dim({self.__name__!r}, min={self.min}, max={self.max})"


Dim.DYNAMIC = Dim("DYNAMIC")
Dim.AUTO = Dim("AUTO")


class ExportGraphSignature:
    """What the inputs and outputs of a graph are, by the names of their values."""

    def __init__(self, program: _opgrid.Program) -> None:
        inputs, outputs = program.inputs(), program.outputs()

        def names(kind: str) -> list[str]:
            return [name for found, name, _ in inputs if found == kind]

        def stored(*kinds: str) -> dict[str, str]:
            return {name: target for found, name, target in inputs if found in kinds and target is not None}

        self.user_inputs = names("input")
        self.user_outputs = [name for kind, name, _ in outputs if kind in ("output", "loss")]
        self.inputs_to_parameters = stored("parameter")
        self.inputs_to_buffers = stored("buffer", "unsaved buffer")
        self.inputs_to_lifted_tensor_constants = stored("constant")
        self.buffers_to_mutate = {name: target for kind, name, target in outputs if kind == "buffer mutation"}
        self.user_inputs_to_mutate = {name: target for kind, name, target in outputs if kind == "input mutation"}
        self.parameters = list(self.inputs_to_parameters.values())
        self.buffers = list(self.inputs_to_buffers.values())
        self.lifted_tensor_constants = list(self.inputs_to_lifted_tensor_constants.values())
        self.non_persistent_buffers = [target for kind, _, target in inputs if kind == "unsaved buffer"]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"ExportGraphSignature({fields})"


class ExportedProgram:
    """A program with its tensors. It is made by `export` and `load`."""

    def __init__(self, program: _opgrid.Program) -> None:
        self._program = program
        self._tensors = dict(program.tensors())

    @property
    def graph(self) -> str:
        """What the program does, as text."""
        return str(self._program)

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """What its inputs and outputs are."""
        return ExportGraphSignature(self._program)

    def _named(self, *kinds: str) -> dict[str, _opgrid.Tensor]:
        described = self._program.inputs()
        return {name: self._tensors[name] for kind, _, name in described if kind in kinds and name is not None}

    @property
    def state_dict(self) -> dict[str, _opgrid.Tensor]:
        """Parameters and buffers by name; those that the program uses."""
        return self._named("parameter", "buffer")

    @property
    def constants(self) -> dict[str, _opgrid.Tensor]:
        """Tensors that are neither parameters nor saved buffers."""
        return self._named("constant", "unsaved buffer")

    @property
    def range_constraints(self) -> dict[str, tuple[int | None, int | None]]:
        """The smallest and the largest size of each that varies, by its name; ``None`` where there is none. Where code compared a size, as in
        ``if x.shape[0] > 8``, it is a range in which that has the same result."""
        return {name: (least, most) for name, least, most in self._program.ranges()}

    def named_parameters(self) -> Iterator[tuple[str, _opgrid.Tensor]]:
        yield from self._named("parameter").items()

    def parameters(self) -> Iterator[_opgrid.Tensor]:
        yield from self._named("parameter").values()

    def named_buffers(self) -> Iterator[tuple[str, _opgrid.Tensor]]:
        yield from self._named("buffer", "unsaved buffer").items()

    def buffers(self) -> Iterator[_opgrid.Tensor]:
        yield from self._named("buffer", "unsaved buffer").values()

    def module(self) -> nn.Module:
        """A module that runs the program: it takes arguments as the exported one did."""
        return _ProgramModule(self)

    def to(self, dtype: _opgrid.dtype) -> ExportedProgram:
        """The program in another floating-point dtype, with tensors of its own, as if the module had been converted before it was exported."""
        return ExportedProgram(self._program.to(dtype))

    def run_decompositions(self) -> ExportedProgram:
        """The program with composite operators taken apart into those of torch's core. Calls that write are replaced by calls that give new
        values: what the program writes of its buffers and inputs is copied back when it has run."""
        return ExportedProgram(self._program.decomposed())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Unable to call ExportedProgram directly. You should use `exported_program.module()` instead.")

    def __str__(self) -> str:
        return self.graph

    def __repr__(self) -> str:
        return f"<ExportedProgram {self._program!r}>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<details open><summary>{escape(repr(self))}</summary><pre>{escape(self.graph)}</pre></details>"


class _ProgramModule(nn.Module):
    """Runs a program."""

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        self._exported = program
        self._trees = program._program.trees()
        self._fixed = program._program.fixed()
        self._kinds = [kind for kind, _, _ in program._program.inputs() if kind in ("input", "fixed")]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        return self._exported.named_parameters()

    def parameters(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        return self._exported.parameters()

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        return self._exported.named_buffers()

    def buffers(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        return self._exported.buffers()

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return self._exported.state_dict

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        expected, results = self._trees
        leaves: list[Any] = []
        positional, named = expected[1]
        _match(positional, args, leaves, "arguments")
        _match(named, kwargs, leaves, "arguments by name")
        fixed = iter(self._fixed)
        given = []
        for kind, leaf in zip(self._kinds, leaves):
            if kind == "input":
                given.append(leaf)
                continue
            value = next(fixed)
            if leaf is not value and leaf != value:
                raise ValueError(f"found {leaf!r} for an argument that was {value!r} when the program was exported, expected the same")
        return _nest(results, iter(self._exported._program.run(given)))


def export(
    mod: nn.Module | Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Mapping[str, Any] | Sequence[Any] | None = None,
    guard_reads: bool = False,
    below_autograd: bool = False,
) -> ExportedProgram:
    """Runs a module or function once and returns what it did as a program.

    `args` and `kwargs` are an example of its arguments: tensors, and tuples, lists and dicts of them; numbers, texts and ``None`` are
    fixed in the program. `dynamic_shapes` names the dimensions that may vary, as in torch: by the names of the arguments or
    in their order, for each tensor a dict from dimensions to `Dim` or a list of them. The code is then run for several sizes; where it
    does something else for another size, that is an error. Where it compares sizes, the program expects that they compare alike: by a smaller range
    (`ExportedProgram.range_constraints`), which a `Dim` with bounds of its own has to have already, or by a check.

    Arguments, and parameters of the module, may be fake (`opgrid.utils.fake_tensor`): then nothing is computed.

    A value that is read from a tensor (``item``, ``if`` on a tensor) is an error, unless `guard_reads`: the program then checks that it
    reads the same. Sizes that depend on elements, as that of ``x[x > 0]``, vary; code that computes with one what no program computes is an
    error, or with `guard_reads` a check that the size is the same. With `below_autograd` composite operators are taken apart and steps of a
    backward pass are part of the program.
    """
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"export(): found {type(args).__name__} for args, expected a tuple of the arguments; write (x,) for one")
    if not callable(mod):
        raise TypeError(f"export(): found {type(mod).__name__}, expected a module or a function")
    kwargs = dict(kwargs or {})
    leaves: list[Any] = []
    tree = _flatten((tuple(args), kwargs), leaves)
    names = _names(mod, args, kwargs)
    positions = [place for place, leaf in enumerate(leaves) if isinstance(leaf, _opgrid.TensorBase)]
    fixed = [(place, names[place], leaf) for place, leaf in enumerate(leaves) if place not in positions]
    sizes = _sizes(mod, args, kwargs, dynamic_shapes, positions)

    def function(stand_ins: list[Any]) -> tuple[list[Any], tuple[Any, ...]]:
        given = list(leaves)
        for place, stand_in in zip(positions, stand_ins):
            given[place] = stand_in
        call_args, call_kwargs = _nest(tree, iter(given))
        results: list[Any] = []
        with _named_modules(mod):
            results_tree = _flatten(mod(*call_args, **call_kwargs), results)
        for result in results:
            if not isinstance(result, _opgrid.TensorBase):
                raise TypeError(f"export(): found {type(result).__name__} among the results, expected tensors; leave it out")
        return results, results_tree

    module = mod if isinstance(mod, nn.Module) else None
    program = _opgrid._trace(
        function,
        [leaves[place] for place in positions],
        [names[place] for place in positions],
        list(module.named_parameters()) if module is not None else [],
        list(module.named_buffers()) if module is not None else [],
        fixed,
        sizes,
        tree,
        below_autograd,
        guard_reads,
        _source,
    )
    return ExportedProgram(program)


_running: list[tuple[str, nn.Module]] = []
"""The modules that run while code is exported, by their names."""


def _source() -> tuple[str, str]:
    """The module that runs, and the line outside of this package that called."""
    module = _running[-1][0] if _running else ""
    file, line = of_caller()
    return module, f"{os.path.basename(file)}:{line}"


@contextlib.contextmanager
def _named_modules(mod: Any) -> Iterator[None]:
    """Says which module runs, while the code does."""
    before = len(_running)
    hooks = []
    if isinstance(mod, nn.Module):
        for name, module in mod.named_modules():
            entered = (name, module)
            hooks.append(module.register_forward_pre_hook(lambda *_, entered=entered: _running.append(entered)))
            hooks.append(module.register_forward_hook(lambda *_: _running.pop() and None))
    try:
        yield
    finally:
        del _running[before:]
        for hook in hooks:
            hook.remove()


def load(f: str | os.PathLike[str]) -> ExportedProgram:
    """Reads a file that ``torch.export.save`` or `save` wrote. Nothing in it is run, and no pickle is read."""
    return ExportedProgram(_opgrid.Program.load(os.fspath(f)))


def save(ep: ExportedProgram, f: str | os.PathLike[str]) -> None:
    """Writes a program to a file that ``torch.export.load`` reads, too."""
    if not isinstance(ep, ExportedProgram):
        raise TypeError(f"save(): found {type(ep).__name__}, expected an ExportedProgram; export() makes one")
    ep._program.save(os.fspath(f))


def _flatten(value: Any, leaves: list[Any]) -> tuple[Any, ...]:
    """How the value is nested; its leaves are appended."""
    if isinstance(value, tuple):
        if hasattr(value, "_fields"):
            entries = [(name, _flatten(getattr(value, name), leaves)) for name in value._fields]
            return ("named", entries, type(value).__name__)
        return ("tuple", [_flatten(item, leaves) for item in value])
    if isinstance(value, list):
        return ("list", [_flatten(item, leaves) for item in value])
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"export(): found the key {key!r} in a dict, expected strings")
        return ("dict", [(key, _flatten(item, leaves)) for key, item in value.items()])
    if value is None:
        return ("none",)
    leaves.append(value)
    return ("leaf",)


def _nest(tree: tuple[Any, ...], leaves: Iterator[Any]) -> Any:
    """The leaves nested as the tree says; named tuples are dicts."""
    kind = tree[0]
    if kind == "leaf":
        return next(leaves)
    if kind == "none":
        return None
    if kind == "tuple":
        return tuple(_nest(item, leaves) for item in tree[1])
    if kind == "list":
        return [_nest(item, leaves) for item in tree[1]]
    return {key: _nest(item, leaves) for key, item in tree[1]}


def _match(tree: tuple[Any, ...], value: Any, leaves: list[Any], where: str) -> None:
    """Appends the leaves of a value that is nested as the tree says."""
    kind = tree[0]

    def wrong(expected: str) -> TypeError:
        return TypeError(f"{where}: found {type(value).__name__}, expected {expected} as when the program was exported")

    if kind == "leaf":
        leaves.append(value)
    elif kind == "none":
        if value is not None:
            raise wrong("None")
    elif kind in ("tuple", "list"):
        if not isinstance(value, (tuple, list)) or len(value) != len(tree[1]):
            count = f" of {len(value)}" if isinstance(value, (tuple, list)) else ""
            raise TypeError(
                f"{where}: found {type(value).__name__}{count}, expected a {kind} of {len(tree[1])} as when the program was exported"
            )
        for place, (item, below) in enumerate(zip(value, tree[1])):
            _match(below, item, leaves, f"{where}[{place}]")
    else:
        entries = value if isinstance(value, dict) else {key: getattr(value, key) for key, _ in tree[1] if hasattr(value, key)}
        keys = [key for key, _ in tree[1]]
        if sorted(entries) != sorted(keys):
            expected = sorted(keys) or "none"
            raise TypeError(f"{where}: found {sorted(entries)}, expected {expected} as when the program was exported")
        for key, below in tree[1]:
            _match(below, entries[key], leaves, f"{where}[{key!r}]")


def _parameters(mod: Any, args: Sequence[Any]) -> list[str]:
    """The names of the positional arguments."""
    import inspect

    function = mod.forward if isinstance(mod, nn.Module) else mod
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    named = [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    rest = next((one.name for one in parameters if one.kind == one.VAR_POSITIONAL), "args")
    return [named[place] if place < len(named) else f"{rest}_{place - len(named)}" for place in range(len(args))]


def _names(mod: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """A name for each leaf: that of its argument, with its place within it."""
    names: list[str] = []

    def within(value: Any, name: str) -> None:
        if isinstance(value, (tuple, list)):
            for place, item in enumerate(value):
                within(item, f"{name}_{place}")
        elif isinstance(value, dict):
            for key, item in value.items():
                within(item, f"{name}_{key}")
        elif value is not None:
            names.append(name)

    for name, value in [*zip(_parameters(mod, args), args), *kwargs.items()]:
        within(value, name)
    return names


def _sizes(
    mod: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    wanted: Any,
    positions: list[int],
) -> list[tuple[int, int, str, int, int]]:
    """The dimensions that vary: input, dimension, name and range."""
    if wanted is None:
        return []
    named = [*zip(_parameters(mod, args), args), *kwargs.items()]
    if isinstance(wanted, Mapping):
        unknown = [name for name in wanted if name not in dict(named)]
        if unknown:
            raise ValueError(f"dynamic_shapes: found {unknown[0]!r}, expected names of arguments: {[name for name, _ in named]}")
        each = [wanted.get(name) for name, _ in named]
    elif isinstance(wanted, (tuple, list)) and len(wanted) == len(named):
        each = list(wanted)
    else:
        raise ValueError(f"dynamic_shapes: found {wanted!r}, expected a dict by argument, or one entry for each of {len(named)}")
    inputs = {place: number for number, place in enumerate(positions)}
    found: list[tuple[int, int, str, int, int]] = []
    place = 0

    def within(value: Any, shape: Any, where: str) -> None:
        nonlocal place
        if value is None:
            return
        if isinstance(value, (tuple, list, dict)):
            items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
            for key, item in items:
                if shape is None:
                    below = None
                elif isinstance(shape, Mapping):
                    below = shape.get(key)
                elif len(shape) == len(items):
                    below = shape[key]
                else:
                    raise ValueError(f"dynamic_shapes: {where}: found {len(shape)} entries, expected {len(items)}")
                within(item, below, f"{where}[{key!r}]")
            return
        here, place = place, place + 1
        if shape is None:
            return
        if here not in inputs:
            raise ValueError(f"dynamic_shapes: {where}: found {type(value).__name__}, expected a tensor for which sizes vary")
        sizes = shape.items() if isinstance(shape, Mapping) else enumerate(shape)
        for dimension, size in sizes:
            if size is None or isinstance(size, int):
                continue
            if not isinstance(size, Dim):
                raise ValueError(f"dynamic_shapes: {where}: found {size!r} for dimension {dimension}, expected a Dim or None")
            if not 0 <= dimension < value.dim():
                raise ValueError(f"dynamic_shapes: {where}: found dimension {dimension}, expected one of {value.dim()}")
            name = size.__name__
            if size is Dim.DYNAMIC or size is Dim.AUTO:
                name = f"s{here}_{dimension}"
            found.append((inputs[here], dimension, name, size.min, _MOST if size.max is None else size.max))

    for (name, value), shape in zip(named, each):
        within(value, shape, name)
    return found
