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
