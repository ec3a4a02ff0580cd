"""What errors say in Python: no names of Rust's functions, whatever is called with whatever."""

import re
import types
from pathlib import Path

import opgrid as og
import pytest

ROOT = Path(__file__).parents[2]

RUST = re.compile(r"\b[A-Z]\w*::\w|\b(?:crate|std|core|files|kernels|devices|layers|modes|autograd|opgrid\w*)::\w")
"""A path of Rust: a type or a module with what is in it. (`aten::add` is an operator's name.)"""

CHANGES_THE_PROCESS = {
    *("backend", "layer", "set_default_dtype", "set_num_threads", "set_printoptions"),
    *("manual_seed", "seed", "set_rng_state"),
}
"""Functions that are left alone: a call that they take changes what other tests see."""


def public_functions():
    found = {}
    places = [("og", og), ("og.Tensor", og.Tensor), ("og.nn", og.nn), ("og.nn.functional", og.nn.functional)]
    places += [("og.nn.init", og.nn.init), ("og.optim", og.optim), ("og.autograd", og.autograd)]
    places += [("og.library", og.library)]
    for title, place in places:
        for name in dir(place):
            value = getattr(place, name, None)
            if callable(value) and not name.startswith("_") and name not in CHANGES_THE_PROCESS:
                if not (isinstance(value, type) and issubclass(value, BaseException)):
                    found[f"{title}.{name}"] = value
    return found


def attempts():
    thing, matrix = object(), og.ones(2, 3)
    return [
        (),
        (thing,),
        (matrix, thing),
        (matrix, og.ones(4, 5)),
        (matrix, 99),
        (matrix, [99, 99]),
        (matrix, matrix, og.ones(7)),
        (og.ones(2, dtype=og.bool), "x"),
        (matrix.to("meta"), og.ones(4)),
        ("no_such_name",),
        (-1, -2, -3),
        (thing, thing, thing, thing, thing, thing, thing, thing, thing, thing, thing, thing, thing, thing, thing, thing),
    ]


def test_no_error_names_functions_of_rust(tmp_path, monkeypatch):
    # Some of the functions write files.
    monkeypatch.chdir(tmp_path)
    wrong, refused = [], 0
    for title, function in public_functions().items():
        for arguments in attempts():
            try:
                function(*arguments)
            except Exception as error:  # noqa: BLE001
                refused += 1
                if RUST.search(str(error)):
                    wrong.append(f"{title}{arguments}: {type(error).__name__}: {error}")
    assert refused > 3000, "nearly every call is refused"
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "use",
    [
        lambda: og.ops.aten.no_such_operator.default,
        lambda: og.explain("aten::no_such_operator"),
        lambda: og.explain("no_such::operator"),
        lambda: og.table("no_such"),
        lambda: og.library.Library("aten", "DEF"),
        lambda: og.library.Library("mine", "FRAGMENT").define("add(Tensor"),
        lambda: og.ops.load_library("/no/such.so"),
        lambda: og.load("/no/such.npy"),
        lambda: og.ones(1, device="xpu:3"),
        lambda: og.tensor([1.0]).to("mps"),
    ],
)
def test_other_errors_name_no_functions_of_rust(use):
    with pytest.raises(Exception) as raised:  # noqa: PT011
        use()
    assert not RUST.search(str(raised.value)), str(raised.value)


def quoted_names(source):
    """The paths between backquotes in the literals of a Rust source, without its tests and comments."""
    lines = source.split("#[cfg(test)]")[0].splitlines()
    # These speak to the programmers of the crates.
    others = ("//", "expect(", "unreachable!(", "assert!(", "assert!(is")
    kept = [line for line in lines if not line.strip().startswith("//") and not any(it in line for it in others[1:])]
    literals = re.findall(r'"((?:[^"\\]|\\.)*)"', "\n".join(kept))
    return {name for text in literals for name in re.findall(r"`((?:\w+::)+\w+)`", text)}


@pytest.mark.skipif(not (ROOT / "crates").is_dir(), reason="the tests run without the sources of the crates")
def test_every_function_of_rust_that_errors_name_has_a_name_in_python():
    table = (ROOT / "crates/opgrid-python/src/rust_names.rs").read_text()
    namespaces = ("aten::", "prim::", "my::", "mine::", "torch::")
    crates = ("opgrid-array", "opgrid-core", "opgrid-kernels", "opgrid-kinds", "opgrid-plugin", "opgrid-schema", "opgrid-tensor")
    operators = (path.name for path in (ROOT / "crates").glob("opgrid-operators-*"))
    missing = {
        (str(path.relative_to(ROOT)), name)
        for crate in (*crates, *operators)
        for path in (ROOT / "crates" / crate / "src").rglob("*.rs")
        for name in quoted_names(path.read_text())
        if not name.startswith(namespaces) and f"`{name}`" not in table
    }
    assert not missing, f"give these a row in rust_names.rs: {sorted(missing)}"


def test_names_are_those_of_python():
    with pytest.raises(Exception, match=r"og\.library\.Library\(namespace, \"FRAGMENT\"\)"):
        og.library.Library("aten", "DEF")
    assert isinstance(og.library, types.ModuleType)
