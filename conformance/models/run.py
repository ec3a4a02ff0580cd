"""Runs whole networks with weights that torch made, in torch and in opgrid, and compares what they answer.

`cargo xtask conformance models` builds the package and runs this. Weights go by a `.safetensors` file: torch draws them with a
seed and writes it, opgrid reads it. Each file beside this one is a network: `module` makes it of torch's own layers, `inputs`
what it is asked, and `answer` computes it of opgrid's operators.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

sys.dont_write_bytecode = True

TOLERANCE = 1e-5


def distance(found: Any, expected: Any) -> float:
    """The largest difference of two arrays, relative to the largest number expected, or to 1."""
    import numpy

    if found.shape != expected.shape:
        sys.exit(f"expected the shape {expected.shape}, found {found.shape}")
    return float(numpy.abs(found - expected).max() / max(1.0, numpy.abs(expected).max()))


def compared(network: ModuleType, seed: int, folder: Path) -> float:
    import opgrid
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(seed)
    module = network.module().eval()
    with torch.no_grad():
        # Fresh statistics and norms are zeros and ones, which would hide mistakes.
        for name, tensor in module.state_dict().items():
            if tensor.dim() == 1 and tensor.is_floating_point():
                tensor.copy_(torch.rand(tensor.shape) + 0.5 if name.endswith(("weight", "running_var")) else torch.randn(tensor.shape) * 0.1)
        inputs = network.inputs(torch)
        expected = module(*inputs)
    file = folder / f"{network.__name__}.safetensors"
    save_file({name: tensor.contiguous() for name, tensor in module.state_dict().items()}, file)
    weights = opgrid.load(file)
    found = network.answer(opgrid, weights, *[opgrid.from_numpy(tensor.numpy()) for tensor in inputs])
    return distance(found.numpy(), expected.numpy())


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of weights and inputs (0)")
    parser.add_argument("--only", metavar="NAME", help="one network")
    options = parser.parse_args(arguments)
    import bert
    import gpt
    import resnet

    networks = {network.__name__: network for network in (bert, gpt, resnet)}
    if options.only and options.only not in networks:
        parser.error(f"there is no network `{options.only}`; networks are {', '.join(networks)}")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name, network in networks.items():
            if options.only in (None, name):
                found = compared(network, options.seed, Path(folder))
                failed |= not found <= TOLERANCE
                print(f"{name:8} {network.ABOUT}: {found:.1e} of {TOLERANCE:.0e}")
    return int(failed)


if __name__ == "__main__":
    os.chdir(Path(__file__).parent)
    sys.exit(main(sys.argv[1:]))
