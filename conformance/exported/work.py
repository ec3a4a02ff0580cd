"""Exports one network, runs what was exported with our program, and compares what both give."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch.export._tree_utils import reorder_kwargs
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import _pytree as tree

import calibrate
from networks import Inputs, Network, Outcome

TOLERANCES = {torch.float32: 1e-5, torch.float64: 1e-5, torch.bfloat16: 1.6e-2, torch.float16: 1e-3}
"""Of the largest expected magnitude; for 16 bits what `torch.testing.assert_close` allows."""

TIMES_TORCH = 2.0
"""How many times as far from the result in float64 as torch's an output may be that differs by more.

One sum of rounding errors says little about how large they are, so that torch computes twice, with oneDNN and without; the larger counts.
"""

MOST_OF_TRACE = 1e-6
"""How much what is traced from the run of a program may differ from it, relative to the largest magnitude."""

LEAST_VARIATION = 1e-3
"""How much some output has to differ between two inputs, relative to the largest."""

OTHER_BATCH = 3
"""The number of samples with which programs run whose batch can vary."""

CALIBRATION_BATCH = 8


@dataclass(frozen=True)
class Setting:
    program: Path
    folder: Path
    seed: int
    seconds: float
    breaks: bool
    """Whether a weight is changed behind torch's back, which has to be noticed."""

    again: bool = False
    """Whether programs are written here and run by torch, and traced from their own run."""


class NotExported(Exception):
    """What torch says where it does not export a network."""


class Differs(Exception):
    """What differs."""


def ways(network: Network) -> list[str]:
    if network.trains:
        return ["training"]
    return ["static", "dynamic"] if network.dynamic else ["static"]


def outcome(network: Network, way: str, setting: Setting) -> Outcome:
    """Compares a network in one way."""
    result = Outcome(network.name, way, "failed")
    try:
        (trained if way == "training" else inferred)(network, way, setting, result)
        result.state = "passed"
    except NotExported as error:
        result.state, result.reason = "not exported", line(error)
    except Differs as error:
        result.reason = line(error)
    except Exception as error:
        result.reason = f"{type(error).__name__}: {line(error)}"
    return result


def line(error: Exception) -> str:
    """The first lines of a message, as one."""
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= 400 else words[:400] + " …"


def inferred(network: Network, way: str, setting: Setting, result: Outcome) -> None:
    draw(network, setting)
    dtype = getattr(torch, network.dtype)
    module = network.make().eval().requires_grad_(False)
    calibrate.calibrate(module, network.inputs(CALIBRATION_BATCH))
    module = module.to(dtype)
    inputs = converted(network.inputs(network.batch), dtype)
    batch = OTHER_BATCH if way == "dynamic" else network.batch
    asked = converted(network.inputs(batch), dtype)
    with torch.no_grad():
        expected = leaves(module, asked)
        result.varies = variation(expected, leaves(module, converted(network.inputs(batch), dtype)))
        exported_module = broken(module) if setting.breaks else module
        began = time.monotonic()
        try:
            program = torch.export.export(exported_module, *inputs, dynamic_shapes=shapes(inputs) if way == "dynamic" else None, strict=False)
            if way == "dynamic":
                expect_dynamic(program)
        except Exception as error:
            raise NotExported(error) from error
        found, _ = ran(program, asked, began, setting, result)
        in_double = lambda: leaves(copy.deepcopy(module).double(), converted(asked, torch.float64))  # noqa: E731
        check(found, expected, lambda: leaves(module, asked), in_double, result)
    if not setting.breaks and not result.varies >= LEAST_VARIATION:
        raise Differs(f"outputs differ by {result.varies:.1e} between inputs, which proves little")


def trained(network: Network, way: str, setting: Setting, result: Outcome) -> None:
    draw(network, setting)
    module = network.make().train()
    inputs = network.inputs(4)
    loss, gradients, buffers = stepped(module, inputs)
    exported_module = broken(module) if setting.breaks else copy.deepcopy(module)
    began = time.monotonic()
    try:
        from torch.export.experimental import _export_forward_backward

        # What torch 2.15 exports of the other kernels for attention is wrong: the backward pass gets the weights as logarithms, and gives
        # other gradients in torch itself.
        with sdpa_kernel(SDPBackend.MATH):
            program = _export_forward_backward(torch.export.export(exported_module, *inputs, strict=False))
    except Exception as error:
        raise NotExported(error) from error
    names = returned(program)
    expected = [loss if name is None else gradients[name] for name in names]
    found, written = ran(program, inputs, began, setting, result)
    missing = set(program.graph_signature.buffers_to_mutate.values()) - set(written)
    if missing:
        raise Differs(f"buffers are not written: {', '.join(sorted(missing))}")
    places = sorted(written)

    def computed(dtype: torch.dtype) -> list[Any]:
        loss, gradients, buffers = stepped(copy.deepcopy(module).to(dtype), converted(inputs, dtype))
        return [loss if name is None else gradients[name] for name in names] + [buffers[name] for name in places]

    found, expected = found + [written[name] for name in places], expected + [buffers[name] for name in places]
    check(found, expected, lambda: computed(torch.float32), lambda: computed(torch.float64), result)
    _, others, _ = stepped(module, network.inputs(4))
    result.varies = variation(list(gradients.values()), [others[name] for name in gradients])
    if not any(torch.count_nonzero(gradient) for gradient in gradients.values()):
        raise Differs("all gradients are zero, which proves nothing")


def draw(network: Network, setting: Setting) -> None:
    """Starts the random numbers of a network, which do not depend on the others that are run."""
    torch.set_num_threads(1)
    seed = setting.seed * 1_000_003 + zlib.crc32(network.name.encode())
    random.seed(seed)
    torch.manual_seed(seed)


def broken(module: torch.nn.Module) -> torch.nn.Module:
    """A copy in which one of the weights is a twentieth larger."""
    other = copy.deepcopy(module)
    matrices = [weight for weight in other.parameters() if weight.dim() >= 2 and weight.is_floating_point()]
    with torch.no_grad():
        matrices[len(matrices) // 2].mul_(1.05)
    return other


def stepped(module: torch.nn.Module, inputs: Inputs) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """The loss of a module, the gradients by name, and the buffers afterwards; the module stays what it is."""
    module = copy.deepcopy(module)
    loss = module(*inputs[0], **inputs[1])
    loss.backward()
    gradients = {name: parameter.grad for name, parameter in module.named_parameters()}
    return loss.detach(), gradients, dict(module.named_buffers())


def returned(program: Any) -> list[str | None]:
    """What the program returns: the parameters whose gradients they are, `None` for the loss."""
    from torch.export.graph_signature import OutputKind

    kinds = {OutputKind.LOSS_OUTPUT: False, OutputKind.USER_OUTPUT: False, OutputKind.GRADIENT_TO_PARAMETER: True}
    return [spec.target if kinds[spec.kind] else None for spec in program.graph_signature.output_specs if spec.kind in kinds]


def converted(inputs: Inputs, dtype: torch.dtype) -> Inputs:
    return tree.tree_map_only(torch.Tensor, lambda x: x.to(dtype) if x.is_floating_point() else x, inputs)


def tensors(inputs: Inputs) -> list[torch.Tensor]:
    return [leaf for leaf in tree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]


def shapes(inputs: Inputs) -> Any:
    """A batch that varies, for each input."""
    args, kwargs = inputs
    varies = {0: torch.export.Dim.DYNAMIC}
    assert not (args and kwargs), "inputs are given by position or by name"
    return {name: varies for name in kwargs} if kwargs else tuple(varies for _ in args)


def expect_dynamic(program: Any) -> None:
    """Makes sure that what is exported takes other batches."""
    names = set(program.graph_signature.user_inputs)
    values = [node.meta["val"] for node in program.graph.nodes if node.op == "placeholder" and node.name in names]
    if not all(isinstance(value.shape[0], torch.SymInt) for value in values if isinstance(value, torch.Tensor)):
        raise ValueError("the batch is fixed in what torch exported")


def leaves(module: torch.nn.Module, inputs: Inputs) -> list[Any]:
    """What a module gives, from first to last in the order of the tree."""
    return tree.tree_leaves(module(*inputs[0], **inputs[1]))


def variation(one: list[Any], other: list[Any]) -> float:
    """The largest difference of outputs for two inputs, relative to the largest output; integers count as floats, and other sizes as 1."""
    found = 0.0
    for a, b in zip(one, other):
        if isinstance(a, torch.Tensor) and a.shape != b.shape:
            found = max(found, 1.0)
        elif isinstance(a, torch.Tensor) and a.numel():
            a, b = (torch.nan_to_num(x.double(), posinf=0, neginf=0) for x in (a, b))
            found = max(found, ((a - b).abs().max() / a.abs().max().clamp_min(1e-30)).item())
    return found


def ran(program: Any, inputs: Inputs, began: float, setting: Setting, result: Outcome) -> tuple[list[Any], dict[str, Any]]:
    """Writes the exported program and its inputs to files, and gives what our program says its results and buffers are."""
    stem = setting.folder / f"{result.name}.{result.way}"
    endings = "pt2", "in.safetensors", "out.safetensors", "written.pt2"
    model, given, out, written = files = [stem.with_name(f"{stem.name}.{end}") for end in endings]
    try:
        try:
            torch.export.save(program, model)
        except Exception as error:
            raise NotExported(error) from error
        result.export = time.monotonic() - began
        args, kwargs = inputs
        ordered = args, reorder_kwargs(kwargs, program.call_spec.in_spec)
        save_file({str(place): leaf.contiguous().clone() for place, leaf in enumerate(tensors(ordered))}, given)
        command = [setting.program, "--model", model, "--inputs", given, "--out", out]
        if setting.again:
            command += ["--written", written]
        done = subprocess.run(command, capture_output=True, text=True, timeout=setting.seconds)
        if not done.stdout.startswith("{"):
            raise Differs(f"the program ended with {done.returncode}: {done.stderr[-300:]}")
        told = json.loads(done.stdout)
        for field in ("nodes", "targets", "missing", "run"):
            setattr(result, field, told.get(field, getattr(result, field)))
        if "error" in told:
            raise Differs(told["error"])
        if setting.again:
            result.traced = told["traced"]
            if not result.traced <= MOST_OF_TRACE:
                raise Differs(f"traced from its own run it differs by {result.traced:.1e}")
            expect_equal(program, torch.export.load(written), inputs)
        stored = load_file(out)
        results = [stored.get(str(place), told) for place, told in enumerate(told["results"])]
        return results, {name.removeprefix("buffer."): value for name, value in stored.items() if name.startswith("buffer.")}
    finally:
        for file in files:
            file.unlink(missing_ok=True)


def expect_equal(program: Any, written: Any, inputs: Inputs) -> None:
    """Compares what torch computes of a program and of what was written of it here, to the last bit."""
    # All parameters are written as trained, and torch sums products of those in another order than of frozen ones.
    frozen = {name for name, parameter in program.named_parameters() if not parameter.requires_grad}
    for name, parameter in written.named_parameters():
        parameter.requires_grad_(parameter.requires_grad and name not in frozen)
    results = [computed_by_torch(each, inputs) for each in (program, written)]
    for place, (before, after) in enumerate(zip(*results, strict=True)):
        if not isinstance(before, torch.Tensor):
            is_equal = before == after
        else:
            is_equal = before.dtype == after.dtype and torch.equal(before.nan_to_num(), after.nan_to_num())
        if not is_equal:
            raise Differs(f"what was written gives another value {place} in torch")


def computed_by_torch(program: Any, inputs: Inputs) -> list[Any]:
    """What a program gives in torch, and what its state is afterwards."""
    torch.manual_seed(3)
    args, kwargs = tree.tree_map_only(torch.Tensor, torch.clone, inputs)
    kinds = {spec.kind.name for spec in program.graph_signature.output_specs}
    if kinds & {"LOSS_OUTPUT", "GRADIENT_TO_PARAMETER"}:
        # torch 2.15 keeps the tree of the loss as that of all results, so that the module of such a program does not run.
        given = program._graph_module_flat_inputs(args, kwargs)
        return tree.tree_leaves(torch.fx.Interpreter(program.graph_module).run(*given))
    module = program.module(check_guards=False)
    return tree.tree_leaves((module(*args, **kwargs), dict(module.state_dict())))


def check(found: list[Any], expected: list[Any], again: Callable[[], list[Any]], in_double: Callable[[], list[Any]], result: Outcome) -> None:
    """Compares all results; `again` and `in_double` compute them once more with torch.

    Raises `Differs` for the first that is not what torch gives.
    """
    if len(found) != len(expected):
        raise Differs(f"found {len(found)} results, expected {len(expected)}")
    far = []
    for place, (ours, theirs) in enumerate(zip(found, expected)):
        if not isinstance(theirs, torch.Tensor):
            if ours != theirs:
                raise Differs(f"result {place} is {ours}, expected {theirs}")
            continue
        if not isinstance(ours, torch.Tensor):
            raise Differs(f"result {place} is {ours}, expected a tensor")
        if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
            raise Differs(f"result {place} is {ours.dtype} of {list(ours.shape)}, expected {theirs.dtype} of {list(theirs.shape)}")
        if not theirs.is_floating_point():
            if not torch.equal(ours, theirs):
                count = torch.count_nonzero(ours != theirs).item()
                raise Differs(f"result {place} differs in {count} of {theirs.numel()} elements of {theirs.dtype}")
            continue
        distance = relative(ours, theirs, place)
        result.largest = max(result.largest, distance)
        if not distance <= TOLERANCES[theirs.dtype]:
            far.append((place, distance))
    if not far:
        return
    exact = in_double()
    with torch.backends.mkldnn.flags(enabled=False):
        others = again()
    for place, distance in far:
        ours, *theirs = (absolute(x[place], exact[place]) for x in (found, expected, others))
        theirs = max(theirs)
        times = ours / theirs if theirs else float("inf")
        result.of_double = max(result.of_double or 0.0, times)
        if not times <= TIMES_TORCH:
            raise Differs(f"result {place} differs by {distance:.1e} of the largest, and is {times:.1f} times as far from float64 as torch")


def relative(found: torch.Tensor, expected: torch.Tensor, place: int) -> float:
    """The largest difference, relative to the largest finite number expected."""
    found, expected = found.double(), expected.double()
    is_finite = expected.isfinite()
    if expected.numel() and is_finite.sum() * 2 < expected.numel():
        raise Differs(f"half of result {place} is not finite in torch, which proves little")
    if not torch.equal(found[~is_finite].nan_to_num(7.0), expected[~is_finite].nan_to_num(7.0)):
        raise Differs(f"result {place} differs where torch gives numbers that are not finite")
    if not is_finite.any():
        return 0.0
    distance = (found - expected)[is_finite].abs().max().item()
    largest = expected[is_finite].abs().max().item()
    return distance / largest if largest else (0.0 if distance == 0 else float("inf"))


def absolute(found: torch.Tensor, exact: torch.Tensor) -> float:
    distances = (found.double() - exact.double()).abs()
    return distances[exact.isfinite()].max().item()
