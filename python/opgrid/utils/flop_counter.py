"""How many floating-point operations a program makes, by module and by operator, with torch's formulas.

>>> import opgrid as og
>>> from opgrid.utils.flop_counter import FlopCounterMode
>>> model = og.nn.Sequential(og.nn.Linear(8, 16), og.nn.ReLU(), og.nn.Linear(16, 4))
>>> with FlopCounterMode(model, display=False) as counter:
...     _ = model(og.ones(2, 8))
>>> counter.get_total_flops()
768
>>> counter.get_flop_counts()["Sequential.0"]
{'aten::addmm': 512}

Multiplications and additions count as one operation each, in products, convolutions and attention; all else counts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

from .. import _opgrid
from .._modes import DispatchMode

__all__ = ["FlopCounterMode", "register_flop_formula"]

_Formula = Callable[..., int]

_formulas: dict[str, _Formula] = {}


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[_Formula], _Formula]:
    """Gives operators a formula, as a decorator; `targets` are operators or their names.

    It is called with the arguments of the operator, tensors replaced by their shapes, and with ``out_shape``; with ``get_raw``, with
    the tensors themselves, and with ``out_val``.
    """

    def register(formula: _Formula) -> _Formula:
        def of_shapes(*args: Any, out_val: Any, **kwargs: Any) -> int:
            args, kwargs = _shapes(args), {name: _shapes(value) for name, value in kwargs.items()}
            return formula(*args, out_shape=_shapes(out_val), **kwargs)

        for target in targets if isinstance(targets, (list, tuple, set)) else [targets]:
            _formulas[_name(target)] = formula if get_raw else of_shapes
        return formula

    return register


def _name(target: Any) -> str:
    """The name of an operator without that of an overload, as ``aten::mm``."""
    name = target if isinstance(target, str) else target.name() if callable(getattr(target, "name", None)) else str(target)
    name = name if "::" in name else name.replace(".", "::", 1)
    return name.partition(".")[0]


def _shapes(value: Any) -> Any:
    if isinstance(value, _opgrid.TensorBase):
        return tuple(value.shape)
    if isinstance(value, (list, tuple)):
        return type(value)(_shapes(item) for item in value)
    return value


@register_flop_formula("aten::mm")
def _mm(a: Sequence[int], b: Sequence[int], **_rest: Any) -> int:
    return 2 * a[0] * a[1] * b[1]


@register_flop_formula("aten::addmm")
def _addmm(_bias: Any, a: Sequence[int], b: Sequence[int], **_rest: Any) -> int:
    return _mm(a, b)


@register_flop_formula("aten::bmm")
def _bmm(a: Sequence[int], b: Sequence[int], **_rest: Any) -> int:
    return 2 * a[0] * a[1] * a[2] * b[2]


@register_flop_formula("aten::baddbmm")
def _baddbmm(_input: Any, a: Sequence[int], b: Sequence[int], **_rest: Any) -> int:
    return _bmm(a, b)


def _convolution_of(x: Sequence[int], w: Sequence[int], out: Sequence[int], transposed: bool) -> int:
    return 2 * x[0] * prod(w) * prod((x if transposed else out)[2:])


@register_flop_formula(["aten::convolution", "aten::_convolution"])
def _convolution(
    x: Sequence[int],
    w: Sequence[int],
    _bias: Any,
    _stride: Any,
    _padding: Any,
    _dilation: Any,
    transposed: bool,
    *_args: Any,
    out_shape: Sequence[int],
    **_rest: Any,
) -> int:
    return _convolution_of(x, w, out_shape, transposed)


@register_flop_formula("aten::convolution_backward")
def _convolution_backward(
    grad: Sequence[int],
    x: Sequence[int],
    w: Sequence[int],
    _bias: Any,
    _stride: Any,
    _padding: Any,
    _dilation: Any,
    transposed: bool,
    _output_padding: Any,
    _groups: int,
    output_mask: Sequence[bool],
    **_rest: Any,
) -> int:
    # Each gradient takes as many multiplications as the convolution itself.
    return _convolution_of(x, w, grad, transposed) * sum(output_mask[:2])


@register_flop_formula(
    [
        "aten::_scaled_dot_product_flash_attention_for_cpu",
        "aten::_scaled_dot_product_flash_attention",
        "aten::_scaled_dot_product_efficient_attention",
    ]
)
def _attention(query: Sequence[int], key: Sequence[int], value: Sequence[int], *_args: Any, **_rest: Any) -> int:
    *batch, rows, width = query
    return 2 * prod(batch) * rows * key[-2] * (width + value[-1])


class FlopCounterMode(DispatchMode):
    """Counts the operations of what runs in a ``with`` block, backward passes too.

    Operations count for each of ``mods`` that runs, with its submodules by name, and for ``"Global"``. Backward passes count for
    a module while gradients are between its results and its inputs. With ``display``, a table is printed at the end, with
    modules down to ``depth``. ``custom_mapping`` has formulas of this counter, by operator.
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[str, int]] = {}
        self._mods = [] if mods is None else list(mods) if isinstance(mods, (list, tuple)) else [mods]
        self._own = {_name(target): formula for target, formula in (custom_mapping or {}).items()}
        self._running: list[str] = []
        self._handles: list[Any] = []

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts = {}
        for module in self._mods:
            root = type(module).__name__
            for path, part in module.named_modules():
                self._watch(f"{root}.{path}" if path else root, part)
        super().__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)
        while self._handles:
            self._handles.pop().remove()
        self._running.clear()
        if self.display:
            print(self.get_table(self.depth))

    def _watch(self, name: str, module: Any) -> None:
        def begin(_module: Any, args: tuple[Any, ...]) -> None:
            self._running.append(name)
            for tensor in _differentiable(args):
                self._handles.append(tensor.register_hook(lambda _grad: self._end(name)))

        def end(_module: Any, _args: Any, result: Any) -> None:
            self._end(name)
            for tensor in _differentiable([result]):
                self._handles.append(tensor.register_hook(lambda _grad: self._begin(name)))

        self._handles += [module.register_forward_pre_hook(begin), module.register_forward_hook(end)]

    def _begin(self, name: str) -> None:
        if name not in self._running:
            self._running.append(name)

    def _end(self, name: str) -> None:
        if name in self._running:
            self._running.remove(name)

    def __opgrid_dispatch__(
        self, func: _opgrid.OpOverload, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        name = _name(func)
        formula = self._own.get(name)
        if formula is not None:
            count = formula(*_shapes(args), out_shape=_shapes(result), **{key: _shapes(value) for key, value in (kwargs or {}).items()})
        elif name in _formulas:
            count = _formulas[name](*args, out_val=result, **(kwargs or {}))
        else:
            return result
        for place in {"Global", *self._running}:
            counts = self.flop_counts.setdefault(place, {})
            counts[name] = counts.get(name, 0) + count
        return result

    def get_total_flops(self) -> int:
        """How many operations there were."""
        return sum(self.flop_counts.get("Global", {}).values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """How many operations there were, by module and by operator."""
        return {place: dict(counts) for place, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as text, with modules down to a depth."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        rows = [("Module", "FLOP", "% Total")]
        places = sorted(place for place in self.flop_counts if place != "Global" and place.count(".") < depth)
        for place in ["Global", *places]:
            for about, count in [(place, sum(self.flop_counts.get(place, {}).values())), *_indented(self.flop_counts.get(place, {}))]:
                rows.append((about, f"{count:,}", f"{100 * count / total:.2f} %" if total else ""))
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        return "\n".join(f"{a:{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}".rstrip() for a, b, c in rows)


def _indented(counts: dict[str, int]) -> list[tuple[str, int]]:
    return [(f"  {name}", count) for name, count in sorted(counts.items())]


def _differentiable(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _differentiable(value)
        elif isinstance(value, _opgrid.TensorBase) and value.requires_grad:
            yield value
