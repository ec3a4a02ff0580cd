"""What all tests share."""

import gc

import pytest


@pytest.fixture
def resident():
    """How much memory of the process is resident, in bytes, as a function."""

    def measure() -> int:
        gc.collect()
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096

    return measure
