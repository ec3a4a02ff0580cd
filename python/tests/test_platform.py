"""Where the package does not run, importing it says so."""

import subprocess
import sys

import pytest
from opgrid._platform import check


@pytest.mark.parametrize(
    ("platform", "abiflags", "text"), [("win32", "", "does not run on Windows"), ("linux", "t", "free-threaded build")]
)
def test_other_places_are_refused_with_a_reason(platform, abiflags, text):
    with pytest.raises(ImportError, match=text):
        check(platform, abiflags)


def test_this_place_is_not():
    check()
    check("linux", "d")


def test_the_reason_comes_before_anything_else():
    program = "import sys; sys.platform = 'win32'; sys.modules['opgrid._opgrid'] = None; import opgrid"
    imported = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert imported.returncode == 1 and imported.stderr.splitlines()[-1].startswith("ImportError: opgrid does not run on Windows")
