"""Checks with torch that archives which opgrid writes load, and give what the original programs give.

    python check_written.py OPGRID [--import MODULE]... [MODEL.pt2 ...]

OPGRID is the command-line program; modules such as transformers.modeling_outputs register the types of results with torch. Each model,
those of the tests without others, is written again by `opgrid graph convert`, from the archive and by way of the text form. Both
programs run in torch on the inputs in the model's .npz, or on the sample inputs that it holds. Outputs, written inputs and the state dict
have to be equal to the last bit. The status is 1 if something differs.
"""

import importlib
import io
import subprocess
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import torch
import torchvision  # noqa: F401
from torch.utils import _pytree as pytree

warnings.filterwarnings("ignore")


def load(path):
    """The program of an archive, whose sample inputs may have been taken out."""
    source = zipfile.ZipFile(path)
    names = source.namelist()
    root = names[0].split("/")[0]
    if any("/data/sample_inputs/" in name for name in names):
        return torch.export.load(path)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as out:
        for name in names:
            out.writestr(name, source.read(name))
        out.writestr(f"{root}/data/sample_inputs/model.pt", b"")
    target.seek(0)
    return torch.export.load(target)


def arguments(program, path):
    """The inputs of the call, nested as the program wants them."""
    arrays = path.with_suffix(".npz")
    if not arrays.exists():
        return program.example_inputs
    arrays = np.load(arrays)
    given = iter([torch.from_numpy(arrays[f"in{index}"]) for index in range(sum(name.startswith("in") for name in arrays.files))])
    leaves = []
    kinds = {spec.arg.name: spec.arg for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"}
    for node in program.graph.nodes:
        if node.op != "placeholder" or node.name not in kinds:
            continue
        arg = kinds[node.name]
        if isinstance(arg, torch.export.graph_signature.ConstantArgument):
            leaves.append(arg.value)
        elif isinstance(arg, torch.export.graph_signature.TensorArgument):
            leaves.append(next(given))
        else:
            leaves.append(next(given).item())
    return pytree.tree_unflatten(leaves, program.call_spec.in_spec)


def run(program, path):
    """Everything that a call changes or gives."""
    torch.manual_seed(3)
    args, kwargs = pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, arguments(program, path))
    module = program.module()
    results = module(*args, **kwargs)
    return results, (args, kwargs), dict(module.state_dict())


def differences(before, after):
    (left, left_spec), (right, right_spec) = pytree.tree_flatten(before), pytree.tree_flatten(after)
    if left_spec != right_spec:
        yield "the nesting differs"
        return
    for index, (a, b) in enumerate(zip(left, right)):
        if not isinstance(a, torch.Tensor):
            if a != b and not (a != a and b != b):
                yield f"value {index}: {a} {b}"
        elif (a.dtype, a.shape, a.stride()) != (b.dtype, b.shape, b.stride()):
            yield f"tensor {index}: {a.dtype} {a.shape} {a.stride()}, {b.dtype} {b.shape} {b.stride()}"
        else:
            a, b = a.detach().contiguous().reshape(-1), b.detach().contiguous().reshape(-1)
            if not torch.equal(a.view(torch.uint8), b.view(torch.uint8)):
                yield f"tensor {index}: elements differ"


def check(opgrid, path, folder):
    direct, text, by_text = (folder / name for name in ("direct.pt2", "graph.txt", "by_text.pt2"))
    commands = [[path, direct], [path, text], [text, by_text, "--weights", path]]
    for command in commands:
        subprocess.run([opgrid, "graph", "convert", *map(str, command)], check=True, stdout=subprocess.DEVNULL)
    original = load(path)
    expected = run(original, path)
    for written in (direct, by_text):
        program = torch.export.load(written)
        found = list(differences(expected, run_like(program, original, path)))
        # torch can save, load and decompose what it got.
        torch.export.save(program, io.BytesIO())
        if found:
            return f"{written.name}: {'; '.join(found[:3])}"
    return None


def run_like(program, original, path):
    """A program without sample inputs of its own, on those of the original."""
    if path.with_suffix(".npz").exists():
        return run(program, path)
    program._example_inputs = original.example_inputs
    return run(program, path)


def all_models():
    """The models beside this file, and those of torchvision's operators."""
    folder = Path(__file__).parent
    return sorted(folder.glob("*.pt2")) + sorted((folder.parents[2] / "opgrid-vision/tests").glob("*.pt2"))


def main():
    opgrid, *paths = sys.argv[1:]
    while "--import" in paths:
        index = paths.index("--import")
        importlib.import_module(paths[index + 1])
        del paths[index : index + 2]
    paths = [Path(path) for path in paths] or all_models()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            try:
                found = check(opgrid, path, Path(folder))
            except Exception as error:
                found = f"{type(error).__name__}: {str(error)[-300:]}"
            failed += found is not None
            print(f"{path.stem}: {found or 'equal'}", flush=True)
    print(f"{len(paths) - failed} of {len(paths)} programs are equal, from the archive and by way of the text")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
