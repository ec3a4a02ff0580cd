"""Files as Python users meet them: archives that numpy wrote, names of dtypes, and files that are not there."""

import zipfile

import numpy as np
import opgrid as og
import pytest
from opgrid import errors


def test_archives_may_hold_texts_objects_and_other_files(tmp_path):
    path = tmp_path / "mixed.npz"
    np.savez(path, a=np.arange(3.0), labels=np.array(["x", "y"]), any=np.array([None, {}], dtype=object))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("README.txt", "hello")
        archive.writestr("folder/", "")
    loaded = og.load(path)
    assert list(loaded) == ["a"] and loaded["a"].tolist() == [0.0, 1.0, 2.0]
    for name, part in [("labels", "dtype `<U1` not supported"), ("any", "dtype `|O`"), ("README.txt", "is no array")]:
        with pytest.raises(KeyError, match=part.replace("|", r"\|")):
            loaded[name]
    with pytest.raises(KeyError, match="^'none'$"):
        loaded["none"]
    np.savez(path, labels=np.array(["x"]))
    with pytest.raises(NotImplementedError, match="dtype `<U1` not supported"):
        og.load(path)


NAMES = [*"?bBhHiIlLqQpPnNefdFD", "b1", "u1", "i1", "i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
WORDS = "bool uint8 int16 int64 int uint float16 half single float32 double float complex64 cdouble longlong intp".split()


@pytest.mark.parametrize("name", [*(order + name for order in ["", "<", ">", "=", "|"] for name in NAMES), *WORDS])
def test_dtypes_are_read_by_every_name(tmp_path, name):
    path, dtype = tmp_path / "x.npy", np.dtype(name)
    wanted = np.array([0, 1, 1]).astype(dtype)
    header = f"{{'descr': '{name}', 'fortran_order': False, 'shape': (3,), }}".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + wanted.tobytes())
    found = og.load(path)
    assert found.tolist() == np.load(path).tolist() == wanted.tolist()
    assert str(found.dtype) == f"opgrid.{wanted.dtype.newbyteorder('=').name}"


@pytest.mark.parametrize(
    "use",
    [
        *(lambda path, end=end: og.load(path / f"none.{end}") for end in ["npy", "npz", "safetensors", "pt", "txt"]),
        *(
            lambda path, end=end: og.save({"x": og.ones(1)} if end != "npy" else og.ones(1), path / f"none/x.{end}")
            for end in ["npy", "npz", "safetensors"]
        ),
        lambda path: og.ops.load_library(path / "none.so"),
        lambda path: og.ops.load_library("no_plugin_of_that_name"),
    ],
)
def test_missing_files_are_said_to_be_missing(tmp_path, use):
    with pytest.raises(FileNotFoundError) as raised:
        use(tmp_path)
    assert isinstance(raised.value, errors.FileError)
    assert any(part in str(raised.value).lower() for part in ["no such file", "there is no folder"])


def test_what_is_saved_is_a_tensor(tmp_path):
    with pytest.raises(TypeError, match="expected a tensor for 'b', found int"):
        og.save({"a": og.ones(1), "b": 1}, tmp_path / "x.npz")
