"""What `opgrid coverage` says of the names of torch is so in the package."""

import importlib.util
import warnings
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "crates/opgrid-cli/src/names"


@pytest.fixture(scope="module")
def record():
    specification = importlib.util.spec_from_file_location("record", FOLDER / "record.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_record_of_the_package_is_up_to_date(record):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = record.package_names()
    found = (FOLDER / "package.txt").read_text()
    assert found == expected, "print it anew with `python crates/opgrid-cli/src/names/record.py package`"


def test_names_that_operators_have_are_names_of_the_package(record):
    """Operators are found by the prefixes of their names alone."""
    for namespace, names in record.read("torch.txt").items():
        registered = record.registered(namespace)
        lacking = [name for name in names if name in registered and not record.is_there(namespace, name)]
        assert not lacking, f"{namespace}: {lacking}"


def test_other_names_are_not_there(record):
    there = record.read("package.txt")
    for namespace, name in [("torch", "sparse_coo_tensor"), ("torch.linalg", "svdd"), ("torch.Tensor", "cuda_")]:
        assert name not in there[namespace] and not record.is_there(namespace, name)
