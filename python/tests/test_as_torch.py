"""`import torch` gives opgrid: checked in processes of their own, since it holds for all of one."""

import pathlib
import subprocess
import sys
import textwrap

import pytest

INSTALL = "import opgrid.as_torch; opgrid.as_torch.install()\n"


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "program",
    [
        "import torch; assert torch is opgrid",
        "import torch.nn as nn; assert nn is opgrid.nn",
        "import torch.nn.functional as F; assert F is opgrid.nn.functional",
        "from torch import nn, optim; assert optim is opgrid.optim",
        "from torch.optim.lr_scheduler import StepLR; assert StepLR is opgrid.optim.lr_scheduler.StepLR",
        "from torch import *",
        # What was imported before stays the only copy of a module, under its own name.
        "import opgrid.nn as ours; import torch.nn; assert torch.nn is ours and ours.__spec__.name == 'opgrid.nn'",
        "import torch, importlib; assert importlib.reload(torch.nn).__name__ == 'opgrid.nn'",
        "opgrid.as_torch.install(); import torch; assert opgrid.as_torch.is_installed()",
        "import pickle, torch; assert pickle.loads(pickle.dumps(torch.nn.Linear(2, 3))).out_features == 3",
    ],
)
def test_imports_give_the_modules_of_opgrid(program):
    run("-c", INSTALL + program)


@pytest.mark.parametrize("program", ["import torch.nothing", "from torch import nothing", "from torch.nn import nothing"])
def test_what_is_missing_is_missing(program):
    run("-c", INSTALL + f"try:\n    {program}\nexcept ImportError as error:\n    assert 'nothing' in str(error)\nelse:\n    raise SystemExit(1)")


def test_the_real_torch_is_not_replaced_once_it_is_imported():
    program = """
    import sys, types
    sys.modules["torch"] = types.ModuleType("torch")
    import opgrid.as_torch
    try:
        opgrid.as_torch.install()
    except ImportError as error:
        assert "before" in str(error)
    else:
        raise SystemExit(1)
    """
    run("-c", textwrap.dedent(program))


def test_operators_of_torch_are_refused_with_the_reason():
    program = "try:\n    opgrid.torch.export('aten::gelu')\nexcept opgrid.errors.NotSupportedError as error:\n    print(error)"
    assert "opgrid.as_torch took its name" in run("-c", INSTALL + program)


def test_files_are_run_with_their_arguments(tmp_path: pathlib.Path):
    (tmp_path / "beside.py").write_text("import torch\nanswer = torch.ones(2).sum().item()\n")
    file = tmp_path / "program.py"
    file.write_text("import sys\nimport beside\nif __name__ == '__main__':\n    print(beside.answer, sys.argv[1:])\n")
    assert run("-m", "opgrid.as_torch", str(file), "--steps", "3") == "2.0 ['--steps', '3']\n"
