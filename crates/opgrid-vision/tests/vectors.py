"""Writes what torchvision gives to `vectors.json`, beside this file: `python tests/vectors.py`, with torch 2.15 and torchvision 0.29.

Each case has an operator, its arguments by position, its results, and the gradients of the sum of the results times `weights`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import torchvision  # noqa: F401

CASES: list[dict[str, Any]] = []


def described(value: Any) -> Any:
    """A tensor as its dtype, sizes and elements; anything else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    elements = value.detach().flatten().tolist()
    if value.dtype == torch.float32:
        elements = [float(f"{element:.9g}") for element in elements]
    return {"dtype": str(value.dtype).removeprefix("torch."), "sizes": list(value.shape), "elements": elements}


def case(name: str, operator: str, *arguments: Any, differentiable: bool = True) -> None:
    given = [x.clone().requires_grad_(differentiable and x.is_floating_point()) if isinstance(x, torch.Tensor) else x for x in arguments]
    result = getattr(torch.ops.torchvision, operator)(*given)
    entry = {"name": name, "operator": f"torchvision::{operator}", "arguments": [described(x) for x in arguments], "result": described(result)}
    if differentiable:
        weights = torch.randn(result.shape, dtype=result.dtype)
        (result * weights).sum().backward()
        entry["weights"] = described(weights)
        entry["gradients"] = {str(place): described(x.grad) for place, x in enumerate(given) if isinstance(x, torch.Tensor) and x.grad is not None}
    CASES.append(entry)


def boxes(count: int, size: float, dtype: torch.dtype) -> torch.Tensor:
    corners = torch.rand(count, 2, dtype=dtype) * size
    return torch.cat([corners, corners + 0.5 + torch.rand(count, 2, dtype=dtype) * size * 0.6], 1)


def main() -> None:
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.float64):
        scores = torch.rand(24, dtype=dtype)
        scores[5] = scores[9] = scores[14]
        for threshold in (0.1, 0.5, 0.9):
            case(f"{dtype} at {threshold}", "nms", boxes(24, 10, dtype), scores, threshold, differentiable=False)
        case(f"{dtype} of one box twice", "nms", boxes(1, 10, dtype).repeat(3, 1), scores[:3], 0.5, differentiable=False)
        case(f"{dtype} without boxes", "nms", torch.zeros(0, 4, dtype=dtype), torch.zeros(0, dtype=dtype), 0.5, differentiable=False)
        case(f"{dtype} of empty boxes", "nms", torch.zeros(3, 4, dtype=dtype), torch.tensor([0.1, 0.3, 0.2], dtype=dtype), 0.5, differentiable=False)

        images = torch.randn(2, 2, 5, 6, dtype=dtype)
        rois = torch.cat([torch.tensor([[0.0], [1], [1], [0], [1]], dtype=dtype), boxes(5, 8, dtype) * 2 - 3], 1)
        for ratio in (-1, 2):
            for aligned in (False, True):
                if dtype == torch.float64 and aligned:
                    continue
                case(f"{dtype} with {ratio} places, aligned {aligned}", "roi_align", images, rois, 0.75, 3, 2, ratio, aligned)
        case(f"{dtype} of a point", "roi_align", images, torch.tensor([[0, 2.0, 3, 2, 3]], dtype=dtype), 1.0, 2, 2, -1, False)
        case(f"{dtype} without boxes", "roi_align", images, rois[:0], 1.0, 2, 2, 2, True)

        x = torch.randn(2, 4, 4, 5, dtype=dtype)
        for name, groups, offset_groups, stride, padding, dilation in (("plain", 1, 1, (1, 1), (0, 0), (1, 1)), ("groups", 2, 2, (2, 1), (1, 2), (1, 2)), ("offsets", 1, 4, (2, 2), (1, 1), (2, 1))):
            if dtype == torch.float64 and name != "groups":
                continue
            weight = torch.randn(6, 4 // groups, 3, 2, dtype=dtype)
            height = (4 + 2 * padding[0] - dilation[0] * 2 - 1) // stride[0] + 1
            width = (5 + 2 * padding[1] - dilation[1] - 1) // stride[1] + 1
            offset = torch.randn(2, 2 * offset_groups * 6, height, width, dtype=dtype) * 1.5
            mask = torch.rand(2, offset_groups * 6, height, width, dtype=dtype)
            bias = torch.randn(6, dtype=dtype)
            settings = *stride, *padding, *dilation, groups, offset_groups
            case(f"{dtype}, {name} with a mask", "deform_conv2d", x, weight, offset, mask, bias, *settings, True)
            if name == "plain":
                case(f"{dtype}, {name}", "deform_conv2d", x, weight, offset, torch.zeros(2, 1, dtype=dtype), bias, *settings, False)
    text = json.dumps(CASES, separators=(",", ":"))
    (Path(__file__).parent / "vectors.json").write_text(text.replace('{"name"', '\n{"name"') + "\n")


main()
