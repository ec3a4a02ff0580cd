"""The stubs are those of the registry, and a user's file passes the strictest checks with them."""

import pathlib
import subprocess
import sys

import pytest

PYTHON = pathlib.Path(__file__).parents[1]

SAMPLE = '''
from __future__ import annotations

import opgrid as og
from opgrid import Tensor, library
from opgrid.library import Library


def norm(x: Tensor) -> float:
    squares: Tensor = x * x
    return float(og.sum(squares))


def double(op: og.OpOverload, *args: object) -> object:
    with og.exclude("CPU"):
        return op(*args)


x = og.zeros(2, 3, dtype=og.float32)
y: Tensor = og.add(x, 1, alpha=2).relu().view(3, 2)
shape: og.Size = y.shape
size: int = y.size(0)
lib = Library("mypy_sample", "FRAGMENT")
name: str = lib.define("twice(Tensor x) -> Tensor")
lib.impl("twice", lambda x: x + x, "CPU")
keys: og.DispatchKeySet = og.DispatchKeySet("CPU") | og.DispatchKey("Meta")
explanation: og.Explanation = og.explain("aten::add.Tensor", x, x)
explanation = og.call_explained(og.add, x, x)[1]
schema: str = library.infer_schema(norm, mutates_args=())
y += 1
'''

WRONG = """
import opgrid as og

size: str = og.zeros(2).numel()
og.add("a")
og.zeros(2).view("a")
"""


def test_stubs_are_those_of_the_registry():
    checked = subprocess.run(
        [sys.executable, str(PYTHON / "stubs" / "generate.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def mypy(tmp_path, text):
    pytest.importorskip("mypy")
    (tmp_path / "sample.py").write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "sample.py"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)


def test_a_users_file_passes_strict_checks(tmp_path):
    checked = mypy(tmp_path, SAMPLE)
    assert checked.returncode == 0, checked.stdout


def test_mistakes_are_found(tmp_path):
    checked = mypy(tmp_path, WRONG)
    assert checked.stdout.count("error:") >= 3, checked.stdout
