"""Operators inside torch: what can be said without torch, and the suite that runs with it."""

import importlib.util
import os
import pathlib
import subprocess

import opgrid as og
import pytest

SUITE = pathlib.Path(__file__).parents[2] / "conformance/torch-operators/run.py"


def test_without_torch_the_error_says_how_to_get_it():
    if importlib.util.find_spec("torch") is not None:
        pytest.skip("this interpreter has torch")
    for call in (lambda: og.torch.export("aten::gelu"), lambda: og.torch.import_("aten::gelu")):
        with pytest.raises(og.errors.NotSupportedError, match="pip install torch"):
            call()


def test_beside_torch():
    interpreter = os.environ.get("OPGRID_TORCH_PYTHON")
    if not interpreter:
        pytest.skip("name an interpreter with torch with OPGRID_TORCH_PYTHON, or use `cargo xtask conformance torch-operators`")
    command = [interpreter, SUITE, "--only", "an_operator_equals,errors,memory,operators_that_write,import"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert run.returncode == 0, run.stdout + run.stderr
