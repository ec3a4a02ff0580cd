"""Infers schemas from the annotations of functions."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from . import _opgrid

if TYPE_CHECKING:
    from inspect import Signature

_PLAIN: dict[Any, str] = {
    _opgrid.Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    int | float | bool: "Scalar",
    _opgrid.dtype: "ScalarType",
    _opgrid.device: "Device",
    _opgrid.layout: "Layout",
    _opgrid.memory_format: "MemoryFormat",
    _opgrid.Generator: "Generator",
}


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
) -> str:
    """The schema of a function, from the annotations of its parameters and its result.

    ``mutates_args`` names the tensors that it writes; ``"unknown"`` stands for all of them.
    """
    # It takes longer to import than most of this package.
    import inspect

    signature = inspect.signature(prototype_function)
    hints = _hints(prototype_function)
    known = set(signature.parameters)
    unknown = mutates_args == "unknown"
    written = set() if unknown or isinstance(mutates_args, str) else set(mutates_args)
    if isinstance(mutates_args, str) and not unknown:
        _refuse(f"mutates_args must be 'unknown' or a collection of names, found {mutates_args!r}", signature)
    if written - known:
        names = ", ".join(sorted(written - known))
        _refuse(f"mutates_args names {names}, but the function has no such parameter", signature)
    parts: list[str] = []
    by_name = False
    writes = 0
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            _refuse(f"parameter {name} takes any number of arguments, which schemas cannot say", signature)
        if parameter.annotation is parameter.empty:
            _refuse(f"parameter {name} must have a type annotation", signature)
        if parameter.kind is parameter.KEYWORD_ONLY and not by_name:
            parts.append("*")
            by_name = True
        declared = _type(hints[name], f"parameter {name}", signature)
        if name in written or (unknown and "Tensor" in declared):
            if not declared.startswith("Tensor"):
                _refuse(f"parameter {name} is in mutates_args but is no tensor", signature)
            declared = declared.replace("Tensor", f"Tensor(a{writes}!)", 1)
            writes += 1
        default = "" if parameter.default is parameter.empty else f"={_default(parameter.default, name, signature)}"
        parts.append(f"{declared} {name}{default}")
    results = _results(hints.get("return", signature.empty), signature)
    return f"{op_name or ''}({', '.join(parts)}) -> {results}"


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except NameError as error:
        raise ValueError(f"infer_schema(func): cannot resolve the annotations: {error}") from error


def _refuse(message: str, signature: Signature) -> typing.NoReturn:
    raise ValueError(f"infer_schema(func): {message}. Got func with signature {signature}")


def _type(annotation: Any, what: str, signature: Signature) -> str:
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        rest = [kind for kind in inner if kind is not type(None)]
        if set(rest) == {int, float, bool}:
            return "Scalar" if len(rest) == len(inner) else "Scalar?"
        if len(rest) == 1 and len(rest) < len(inner):
            return _type(rest[0], what, signature) + "?"
    if origin in (list, Sequence) and len(inner) == 1:
        return _type(inner[0], what, signature) + "[]"
    if isinstance(annotation, type) and issubclass(annotation, _opgrid.TensorBase):
        return "Tensor"
    _refuse(f"{what} has unsupported type {annotation}", signature)


_ESCAPES = {"\\": "\\\\", '"': '\\"', "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _quoted(text: str) -> str:
    """A string literal of the schema language."""

    def escaped(character: str) -> str:
        if character in _ESCAPES:
            return _ESCAPES[character]
        is_control = ord(character) < 0x20 or ord(character) == 0x7F
        return f"\\{ord(character):03o}" if is_control else character

    return '"' + "".join(map(escaped, text)) + '"'


def _default(value: Any, name: str, signature: Signature) -> str:
    if value is None or isinstance(value, (bool, int, float)):
        return str(value)
    if isinstance(value, str):
        if any("\ud800" <= character <= "\udfff" for character in value):
            _refuse(f"parameter {name} has the default {value!r}, which is no Unicode text (it has lone surrogates)", signature)
        return _quoted(value)
    if isinstance(value, _opgrid.device):
        return _quoted(str(value))
    if isinstance(value, (_opgrid.dtype, _opgrid.layout, _opgrid.memory_format)):
        return repr(value).removeprefix("opgrid.")
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_default(item, name, signature) for item in value)}]"
    _refuse(f"parameter {name} has unsupported default {value!r}", signature)


def _results(annotation: Any, signature: Signature) -> str:
    if annotation is signature.empty:
        _refuse("the function must have an annotation of what it returns", signature)
    if annotation in (None, type(None)):
        return "()"
    if typing.get_origin(annotation) is tuple:
        results = [_type(kind, "a result", signature) for kind in typing.get_args(annotation)]
        return f"({', '.join(results)})"
    declared = _type(annotation, "the result", signature)
    return "SymInt" if declared == "SymInt" else declared
