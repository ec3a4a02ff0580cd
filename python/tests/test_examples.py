"""The examples in Python say what those in Rust say, and the page of the tutorial is that of its script."""

import pathlib
import re
import runpy
import shutil
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"

HOOK = """\
tensor([2., 3., 4.])
Custom hook called 0 times
  Operator: aten::add_1
Custom hook called 1 times
  Operator: aten::add
tensor([3., 4., 5.])
"""


def test_custom_hook(capsys):
    runpy.run_path(str(EXAMPLES / "custom-hook" / "hook.py"), run_name="__main__")
    assert capsys.readouterr().out == HOOK

TUTORIAL = """\
tensor([2., 3., 4.]) tensor([2., 3., 4.]) tensor([2., 3., 4.])
"""


def test_the_tutorial_runs(capsys):
    runpy.run_path(str(EXAMPLES / "python" / "tutorial.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.startswith(TUTORIAL)
    for line in (
        "tensor([3., 6., 9.]) opgrid.Size([3])",
        "MissingKernelError tutorial::scale DispatchKeySet(CUDA)",
        "  called aten::add.Tensor\n  called aten::mul_.Tensor\n",
        "tensor([20., 40., 60.])",
        " operators",
        "['direct']",
        "  small 2\n  any 3\n  any 2\n",
        "tensor([2.]) opgrid.int32",
    ):
        assert line in printed, line


def test_the_example_of_the_readme_runs():
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    # One after the other, as a reader types them.
    example = "\n".join(re.findall(r"```python\n(.*?)```", readme, re.DOTALL))
    ran = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("graph(\n  %p__0_weight: float32[4, 3] = parameter \"0.weight\"")
    assert "\nopgrid.Size([5, 4])\n" in ran.stdout
    assert "\ntensor([2., 4., 6.])\nmyops::myadd(Tensor self, Tensor other)" in ran.stdout
    assert ran.stdout.endswith("\nmyops::myadd\ntensor([2., 4.])\n")


def test_a_network_learns_to_read_digits(tmp_path):
    file = tmp_path / "digits.safetensors"
    command = [sys.executable, str(EXAMPLES / "python" / "train_digits.py"), "--save", str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    (accuracy,) = re.findall(r"^test accuracy ([\d.]+) %$", ran.stdout, re.MULTILINE)
    assert float(accuracy) >= 97
    assert file.stat().st_size > 40000


def check(folder):
    command = [sys.executable, str(folder / "render.py"), "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_page_of_the_tutorial_is_up_to_date():
    checked = check(EXAMPLES / "python")
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("file", "old", "new", "passes"),
    [
        ("tutorial.html", "TutorialTimesTen", "AnotherLayer", False),
        ("tutorial.html", "tensor([20., 40., 60.])", "tensor([20., 40., 61.])", False),
        ("tutorial.py", 'print(count.calls, "operators")', 'print(count.calls, "calls")', False),
        ("tutorial.html", "<body>", "<body>", True),
    ],
)
def test_a_page_that_is_old_is_found(tmp_path, file, old, new, passes):
    folder = tmp_path / "examples" / "python"
    shutil.copytree(EXAMPLES / "python", folder)
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")
    checked = check(folder)
    assert checked.returncode == (0 if passes else 1), checked.stdout + checked.stderr
    assert checked.stderr == ""
    assert ("run `python examples/python/render.py`" in checked.stdout) is not passes
