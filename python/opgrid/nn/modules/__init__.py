"""torch's places of classes: ``opgrid.nn.modules.batchnorm._BatchNorm`` is where torch has it."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

from .. import __all__ as _names
from ..module import Module
from . import utils

__all__ = ["Module", "utils"]

_FILES = {
    "activation": "activation rectifiers attention",
    "adaptive": "adaptive",
    "batchnorm": "batchnorm",
    "channelshuffle": "rearrange",
    "container": "containers parameter_containers",
    "conv": "conv",
    "distance": "distance",
    "dropout": "dropout",
    "flatten": "flatten",
    "fold": "rearrange",
    "instancenorm": "batchnorm",
    "lazy": "lazy",
    "linear": "linear",
    "loss": "loss margin_loss chunked_loss",
    "module": "module hooks",
    "normalization": "norm",
    "padding": "padding",
    "pixelshuffle": "rearrange",
    "pooling": "pooling adaptive_pooling",
    "rnn": "recurrent recurrent_cells",
    "sparse": "embedding",
    "transformer": "transformer",
    "upsampling": "rearrange",
}
"""What each of torch's modules has, by modules of this package."""


def _gathered(name: str, sources: str) -> ModuleType:
    """A module with the names of others."""
    made = ModuleType(f"{__name__}.{name}", f"The names that torch has in ``nn.modules.{name}``.")
    # Imports under another name look for it.
    made.__spec__ = ModuleSpec(made.__name__, None)
    for source in sources.split():
        found = importlib.import_module(f"opgrid.nn.{source}")
        vars(made).update({key: value for key, value in vars(found).items() if not key.startswith("__")})
    return made


for _name, _sources in _FILES.items():
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _gathered(_name, _sources)
_nn = importlib.import_module("opgrid.nn")
for _name in _names:
    # All classes are here as well.
    if isinstance(getattr(_nn, _name), type):
        globals()[_name] = getattr(_nn, _name)
