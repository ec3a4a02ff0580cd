"""Runs one program with one package, in a process of its own, and writes its figures, one line of JSON for each.

`run.py` starts this as `work.py SIDE FOLDER/NAME FILE`, where the side is `torch` or `opgrid`.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any, TextIO

SIDE, PROGRAM, FILE = sys.argv[1:4]

# Here and not in `main`: processes that a program spawns read this file anew.
if SIDE == "opgrid":
    from opgrid import as_torch

    as_torch.install()


class Record:
    """What programs give their figures to: `record(step, loss=loss)`."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self.torch = importlib.import_module("torch")

    def __call__(self, step: int | str, **figures: Any) -> None:
        for name, figure in figures.items():
            self.file.write(json.dumps({"step": step, "name": name, **self.plain(figure)}) + "\n")
        self.file.flush()

    def plain(self, figure: Any) -> dict[str, Any]:
        """A figure's dtype, shape and numbers. Numbers of Python have what the program's default dtype holds."""
        if isinstance(figure, self.torch.Tensor):
            figure = figure.detach()
            dtype, shape = str(figure.dtype).rpartition(".")[2], list(figure.shape)
            figure = self.torch.view_as_real(figure) if figure.is_complex() else figure
            return {"dtype": dtype, "shape": shape, "value": figure.flatten().tolist()}
        if isinstance(figure, float):
            return {"dtype": str(self.torch.get_default_dtype()).rpartition(".")[2], "shape": [], "value": [figure]}
        if isinstance(figure, (list, tuple)) and all(isinstance(item, float) for item in figure):
            return {**self.plain(0.0), "shape": [len(figure)], "value": list(figure)}
        if isinstance(figure, self.torch.Size):
            # Its text names the package.
            return self.plain(tuple(figure))
        return {"dtype": type(figure).__name__, "shape": [], "value": [repr(figure)]}


def main() -> None:
    warnings.simplefilter("ignore")
    folder = Path(__file__).parent / PROGRAM
    sys.path.insert(0, str(folder.parent))
    with open(FILE, "w") as file:
        record = Record(file)
        record.torch.set_num_threads(1)
        importlib.import_module(folder.name).main(record)


if __name__ == "__main__":
    main()
