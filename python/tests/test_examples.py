"""The examples in Python say what those in Rust say."""

import pathlib
import runpy

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
    ):
        assert line in printed, line
