"""The command line of the package, and its answers in `opgrid.inspect`."""

import json
import subprocess
import sys

import opgrid as og
import pytest


def run(*arguments):
    command = [sys.executable, "-m", "opgrid", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_module_is_the_command_line():
    called = run("call", "aten::add.Tensor", "[1,2]:f32", "[3,4]:f32")
    assert (called.returncode, called.stdout) == (0, "tensor([4., 6.])\n"), called.stderr
    assert run("--version").stdout.startswith(f"opgrid {og.__version__}")


@pytest.mark.parametrize(("arguments", "status"), [(["lint"], 0), (["list", "no::such"], 1), (["call", "no::such"], 2), (["bogus"], 2)])
def test_the_exit_status_is_that_of_the_command(arguments, status):
    assert run(*arguments).returncode == status


def test_lint_finds_what_this_process_has_registered():
    with og.library.Library("inspected", "DEF") as library:
        library.define("odd(Tensor x) -> Tensor")
        library.impl("odd", lambda x: x.clone(), "CPU")
        findings = og.inspect.lint(namespace="inspected")
        assert {finding.operator for finding in findings} == {"inspected::odd"}
        fault = findings[0].fault
        assert fault in str(findings) and "<table>" in findings._repr_html_()
        assert len(og.inspect.lint(namespace="inspected", allow=[f"{fault}=inspected::odd"])) < len(findings)
    with pytest.raises(RuntimeError, match="no operator is registered in inspected"):
        og.inspect.lint(namespace="inspected")


def test_records_differ_where_the_registry_does(tmp_path):
    with og.library.Library("inspected", "DEF") as library:
        library.define("one(Tensor x) -> Tensor")
        before = og.inspect.record(tmp_path / "before.json", namespace="inspected")
        assert json.loads((tmp_path / "before.json").read_text()) == before
        assert og.inspect.diff(before) == []
        library.define("two(Tensor x) -> Tensor")
        after = og.inspect.record(namespace=["inspected"])
        (change,) = og.inspect.diff(tmp_path / "before.json", after)
        assert change.operator == "inspected::two" and not change.breaks
        assert og.inspect.diff(before) == [change]
        (gone,) = og.inspect.diff(after, before)
        assert gone.breaks


def test_the_grid_is_one_page(tmp_path):
    og.inspect.grid(tmp_path / "grid.html", "relu", namespace="aten")
    page = (tmp_path / "grid.html").read_text()
    assert "aten::relu" in page and "aten::matmul" not in page


def test_coverage_counts_names_and_operators():
    (fft,) = og.inspect.coverage("torch.fft")
    assert fft.missing == [] and "fftshift" in fft.here
    assert {names.namespace for names in og.inspect.coverage()} >= {"torch", "torch.Tensor", "torch.nn"}
    (cpu,) = og.inspect.backend_coverage("CPU")
    assert cpu.missing == [] and "aten::add.out" in cpu.native
    assert str(len(cpu.native)) in str(og.inspect.backend_coverage())


def test_wrong_arguments_are_errors():
    with pytest.raises(og.OpgridError, match="torch.nothing"):
        og.inspect.coverage("torch.nothing")
    with pytest.raises(og.OpgridError, match="nonsense"):
        og.inspect.lint(allow=["nonsense"])
