"""Checks of an operator on samples of its arguments."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, cast

from . import _opgrid, errors
from ._opgrid import Tensor

TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


class OpCheckError(AssertionError):
    """An operator does not do what its schema says."""


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = TESTS,
    raise_exception: bool = True,
) -> dict[str, str]:
    """Checks an operator with these arguments: that it writes what its schema says and nothing else, that the results of
    its kernel for meta tensors look like those of the real one, and that gradients reach the arguments that require them. ``"SUCCESS"`` for each test that passed."""
    from .library import full_name

    overload = op if isinstance(op, _opgrid.OpOverload) else _opgrid.overload_named(full_name(op))
    names = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    unknown = sorted(set(names) - set(TESTS))
    if unknown:
        raise ValueError(f"opcheck(): unknown tests {', '.join(unknown)}; they are {', '.join(TESTS)}")
    results: dict[str, str] = {}
    for name in names:
        try:
            _CHECKS[name](overload, args, kwargs or {})
            results[name] = "SUCCESS"
        except errors.NotSupportedError as skipped:
            results[name] = f"SKIPPED: {skipped}"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck({overload}): {name} failed: {error}") from error
            results[name] = f"FAILED: {error}"
    return results


def _tensors(values: Any) -> list[_opgrid.TensorBase]:
    if isinstance(values, _opgrid.TensorBase):
        return [values]
    if isinstance(values, (tuple, list)):
        return [tensor for value in values for tensor in _tensors(value)]
    return []


def _check_schema(overload: _opgrid.OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    args, kwargs = copy.deepcopy((args, kwargs))
    arguments = overload._schema.arguments
    given = [*zip(arguments, args), *((a, kwargs[a.name]) for a in arguments if a.name in kwargs)]
    before = {a.name: [(t, _bytes(t), t._version) for t in _tensors(value)] for a, value in given}
    results = _tensors(overload(*args, **kwargs))
    for argument, value in given:
        for tensor, content, version in before[argument.name]:
            # A kernel may write through numpy or a pointer, which no version tells.
            changed = tensor._version != version if content is None else _bytes(tensor) != content
            if changed and not argument.is_write:
                raise OpCheckError(f"argument {argument.name} is written, but the schema does not say so: {overload._schema}")
            shared = any(result is tensor for result in results)
            if shared and not argument.is_write and not overload.is_view:
                raise OpCheckError(f"a result is the argument {argument.name}, but the schema does not say so")


def _bytes(tensor: _opgrid.TensorBase) -> bytes | None:
    """The elements as bytes: NaN equals itself so, and zeros differ by their sign. None of what has no elements of its own."""
    if type(tensor) is not _opgrid.Tensor or tensor.device.type == "meta":
        return None
    # A copy that lies in a row, as bytes.
    return bytes(tensor.detach().reshape(-1).clone().view(_opgrid.uint8).tolist())


def _check_meta(overload: _opgrid.OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    def to_meta(value: Any) -> Any:
        if isinstance(value, _opgrid.TensorBase):
            return value.to("meta")
        if isinstance(value, (tuple, list)):
            return type(value)(to_meta(item) for item in value)
        return value

    real = _tensors(overload(*copy.deepcopy(args), **copy.deepcopy(kwargs)))
    meta = _tensors(overload(*to_meta(args), **{name: to_meta(value) for name, value in kwargs.items()}))
    if len(real) != len(meta):
        raise OpCheckError(f"{len(real)} results, but {len(meta)} on meta tensors")
    for place, (found, expected) in enumerate(zip(meta, real)):
        for what in ("shape", "dtype"):
            if getattr(found, what) != getattr(expected, what):
                raise OpCheckError(
                    f"result {place} has {what} {getattr(expected, what)}, but {getattr(found, what)} on meta tensors"
                )
        if found.stride() != expected.stride() and expected.numel() > 1:
            raise OpCheckError(f"result {place} has strides {expected.stride()}, but {found.stride()} on meta tensors")


def _check_autograd(overload: _opgrid.OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Gradients reach the arguments that require them, in the form that the derivative states."""
    from .autograd import grad

    inputs = [tensor for tensor in _tensors([*args, *kwargs.values()]) if tensor.requires_grad]
    results = [result for result in _tensors(overload(*args, **kwargs)) if result.requires_grad] if inputs else []
    if results:
        ones = [_opgrid.function("ones_like")(result) for result in results]
        grad(cast("list[Tensor]", results), cast("list[Tensor]", inputs), ones, allow_unused=True)


def _check_compiler(_overload: Any, _args: Any, _kwargs: Any) -> None:
    raise errors.NotSupportedError("there is no compiler to compare with")


_CHECKS = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd,
    "test_faketensor": _check_meta,
    "test_aot_dispatch_dynamic": _check_compiler,
}
