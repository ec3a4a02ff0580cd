"""Checkpoints that one of torch and opgrid writes and the other one reads: values, sharing, strides, dtypes, all ways to call.

Run with both packages in one environment: ``python conformance/python/training/checkpoints.py``. Exits with 1 on a difference.
"""

from __future__ import annotations

import collections
import io
import os
import sys
import tempfile
import warnings
from typing import Any

import opgrid as og
import torch

DTYPES = "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 float8_e4m3fn float8_e5m2".split()


def made(m: Any) -> dict[str, Any]:
    """A checkpoint of many kinds of values."""
    m.manual_seed(0)
    base = m.arange(12.0).reshape(3, 4)
    shared = [1, "two"]
    layer = m.nn.Linear(3, 2)
    optimizer = m.optim.AdamW(layer.parameters(), lr=0.1)
    layer(m.ones(4, 3)).sum().backward()
    optimizer.step()
    named = m.ones(2)
    named.note = "kept"
    return {
        "base": base,
        "transposed": base.t(),
        "part": base[1:, ::2],
        "expanded": m.ones(1).expand(3, 2),
        "empty": m.empty(0, 3),
        "number": m.tensor(2.5),
        "dtypes": {name: m.tensor([0, 1, 3]).to(getattr(m, name)) for name in DTYPES},
        "conjugate": m.tensor([1 + 2j]).conj(),
        "parameter": m.nn.Parameter(m.ones(2)),
        "frozen": m.nn.Parameter(m.ones(2), requires_grad=False),
        "leaf": m.ones(2, requires_grad=True),
        "meta": m.empty(2, 3, device="meta"),
        "named": named,
        "size": m.Size([2, 3]),
        "dtype": m.float64,
        "device": m.device("cpu"),
        "layout": m.strided,
        "shared": [shared, shared],
        "plain": [
            None,
            True,
            1,
            300,
            70000,
            -5,
            2**40,
            -(2**70),
            1.5,
            float("inf"),
            1j,
            "ä",
            b"\x00\xff",
            (1, 2, 3, 4),
            (),
            {1, 2},
            bytearray(b"ab"),
        ],
        "ordered": collections.OrderedDict(b=1, a=2),
        "counter": collections.Counter("aab"),
        1: {(1, "a"): 2},
        "model": layer.state_dict(),
        "optimizer": optimizer.state_dict(),
        "generator": None,
    }


def plain(value: Any) -> Any:
    """What can be compared of a value."""
    if isinstance(value, (torch.Tensor, og.TensorBase)):
        kind = "Parameter" if isinstance(value, (torch.nn.Parameter, og.nn.Parameter)) else "Tensor"
        meta = value.device.type == "meta"
        content = (
            None
            if meta
            else value.detach().to(torch.float64 if isinstance(value, torch.Tensor) else og.float64).tolist()
            if "float8" in str(value.dtype)
            else value.tolist()
        )
        return (
            kind,
            str(value.dtype).split(".")[-1],
            tuple(value.shape),
            value.stride(),
            value.storage_offset(),
            value.requires_grad,
            content,
            getattr(value, "note", None),
        )
    if isinstance(value, dict):
        extra = plain(getattr(value, "_metadata", None))
        return (
            "dict",
            [(plain(key), plain(each)) for key, each in value.items()],
            isinstance(value, collections.OrderedDict),
            extra,
        )
    if isinstance(value, (torch.Size, og.Size)):
        return ("Size", tuple(value))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [plain(each) for each in value])
    if type(value).__module__.split(".")[0] in ("torch", "opgrid", "builtins") and not isinstance(
        value, (int, float, str, bytes, complex, set, bytearray, type(None))
    ):
        return str(value).split(".")[-1]
    return (type(value).__name__, value)


def sharing(value: Any) -> list[bool]:
    """Which values share memory, or are one object."""
    pointers = [value[name].data_ptr() for name in ("base", "transposed")]
    return [pointers[0] == pointer for pointer in pointers] + [
        value["part"].data_ptr() - pointers[0] == 16,
        value["shared"][0] is value["shared"][1],
    ]


def exchanged() -> list[str]:
    """Differences of what is written by one package and read by the other."""
    found = []
    theirs, ours = made(torch), made(og)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.v1.pt")
        for legacy in (False, True):
            if legacy:
                # That format has storages of these dtypes alone.
                theirs["dtypes"] = {
                    name: x
                    for name, x in theirs["dtypes"].items()
                    if name[:5] not in ("uint1", "uint3", "uint6", "float") or name in ("float16", "float32", "float64")
                }
            torch.save(theirs, path, _use_new_zipfile_serialization=not legacy)
            wanted = torch.load(path, weights_only=True)
            with open(path, "rb") as opened:
                ways = {
                    "path": og.load(path),
                    "file": og.load(opened),
                    "weights_only": og.load(path, weights_only=True, map_location="cpu"),
                }
            ways["function"] = og.load(path, map_location=lambda storage, location: storage)
            ways["dict"] = og.load(path, map_location={"cuda:0": "cpu"})
            if not legacy:
                ways["mmap"] = og.load(path, mmap=True)
            for way, loaded in ways.items():
                if plain(loaded) != plain(wanted):
                    found += [
                        f"torch to opgrid by {way}, legacy {legacy}: {key}: {plain(wanted[key])} {plain(loaded[key])}"
                        for key in wanted
                        if plain(loaded.get(key)) != plain(wanted[key])
                    ]
                if sharing(loaded) != sharing(wanted):
                    found.append(f"torch to opgrid by {way}, legacy {legacy}: sharing {sharing(wanted)} {sharing(loaded)}")
        og.save(ours, path)
        buffer = io.BytesIO()
        og.save(ours, buffer)
        buffer.seek(0)
        again = og.load(path)
        for way, loaded in {
            "path": torch.load(path, weights_only=True),
            "buffer": torch.load(buffer, weights_only=True),
            "mmap": torch.load(path, weights_only=True, mmap=True),
            "all": torch.load(path, weights_only=False),
            "opgrid": again,
        }.items():
            if plain(loaded) != plain(again):
                found += [f"opgrid to torch by {way}: {key}" for key in again if plain(loaded[key]) != plain(again[key])]
            if sharing(loaded) != sharing(ours):
                found.append(f"opgrid to torch by {way}: sharing {sharing(ours)} {sharing(loaded)}")
        if plain(again) != plain(ours):
            found += [
                f"opgrid to opgrid: {key}: {plain(ours[key])} {plain(again[key])}"
                for key in ours
                if plain(again[key]) != plain(ours[key])
            ]
    return found


def main() -> int:
    """All ways."""
    warnings.simplefilter("ignore")
    found = exchanged()
    print(f"{len(found)} differences", *found, sep="\n  ")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
