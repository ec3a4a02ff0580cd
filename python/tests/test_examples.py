"""The examples in Python say what those in Rust say, and the page of the tutorial is that of its script."""

import json
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


# What runs the blocks of a page one after the other, as a reader types them, and prints what each has printed as a line of JSON.
RUN_BLOCKS = """
import contextlib, io, json, sys
names = {"__name__": "__main__"}
for number, block in enumerate(json.load(sys.stdin)):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block, f"block {number}", "exec"), names)
    print(json.dumps(out.getvalue()))
"""


def pages_with_programs():
    root = EXAMPLES.parent
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    return [page for page in pages if "```python\n" in page.read_text(encoding="utf-8")]


def run_page(text, folder):
    """Runs the blocks marked `python`, and gives pairs of what each printed and the block marked `text` behind it, if there is one.

    Blocks that need torch or a compiled extension are marked `py`, and do not run.
    """
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, re.DOTALL)
    command = [sys.executable, "-c", RUN_BLOCKS]
    given = json.dumps([program for program, _ in blocks])
    ran = subprocess.run(command, input=given, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    printed = [json.loads(line) for line in ran.stdout.splitlines()]
    return list(zip(printed, (expected for _, expected in blocks), strict=True))


@pytest.mark.parametrize("page", pages_with_programs(), ids=lambda page: page.name)
def test_the_programs_of_the_documentation_run(page, tmp_path):
    for printed, expected in run_page(page.read_text(encoding="utf-8"), tmp_path):
        assert not expected or printed == expected


def test_the_readme_and_the_how_to_pages_have_programs():
    names = {page.name for page in pages_with_programs()}
    assert names >= {"README.md", "python.md", "operators-in-python.md", "models.md", "checkpoints.md", "numpy-and-torch.md"}


def test_a_program_of_a_page_that_prints_something_else_is_found(tmp_path):
    page = "```python\nx = 1\nprint(x)\n```\n\n```text\n1\n```\n\n```py\nraise ValueError\n```\n\n```python\nprint(x + 1)\n```\n"
    assert run_page(page, tmp_path) == [("1\n", "1\n"), ("2\n", "")]
    with pytest.raises(AssertionError, match="ValueError"):
        run_page(page.replace("```py\n", "```python\n"), tmp_path)


def test_the_readme_prints_what_it_says(tmp_path):
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    gradient, operator = (printed for printed, _ in run_page(readme, tmp_path))
    assert gradient.startswith("tensor([2., 4.])\naten::add.Tensor(Tensor self, Tensor other")
    assert operator == "tensor([2., 4., 6.])\n"
    for printed in ("tensor([2., 4.])", "tensor([2., 4., 6.])"):
        assert f"# {printed}" in readme


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
