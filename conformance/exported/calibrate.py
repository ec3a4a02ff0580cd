"""Gives fresh networks weights with which every layer matters.

Networks as they are made prove little: averages of zero and deviations of one let numbers grow or vanish from layer to layer, scales
of 1e-6 hide whole branches, and biases are zero. Here parameters that are all equal are drawn anew, statistics become those of seeded
inputs, and each linear layer and convolution is scaled so that it gives numbers of order one.
"""

from __future__ import annotations

from typing import Any

import torch

from networks import Inputs

SMALLEST_VARIANCE = 0.1
"""Of running statistics: what does not vary would be divided by almost nothing."""


def calibrate(module: torch.nn.Module, inputs: Inputs) -> None:
    """Changes the weights and statistics of a module in place."""
    with torch.no_grad():
        for parameter in module.parameters():
            vary(parameter)
        handles = []
        for layer in module.modules():
            if hasattr(layer, "running_mean") and isinstance(layer.running_mean, torch.Tensor):
                handles.append(layer.register_forward_pre_hook(take_statistics))
            elif is_scaled(layer):
                handles.append(layer.register_forward_hook(scale))
        args, kwargs = inputs
        module(*args, **kwargs)
        for handle in handles:
            handle.remove()


def vary(parameter: torch.Tensor) -> None:
    """Draws a parameter anew whose elements are all equal: around one where it scales, around zero where it is added."""
    if not parameter.is_floating_point() or parameter.numel() == 0 or parameter.min() != parameter.max():
        return
    if parameter.numel() == 1:
        if parameter.item() == 0:
            parameter.fill_(0.5)
    elif parameter.min() == 0:
        parameter.normal_(0, 0.1)
    else:
        parameter.uniform_(0.5, 1.5)


def is_scaled(layer: torch.nn.Module) -> bool:
    weight = layer._parameters.get("weight")
    is_linear = isinstance(layer, (torch.nn.Linear, torch.nn.modules.conv._ConvNd)) or type(layer).__name__ == "Conv1D"
    return is_linear and weight is not None and weight.dim() >= 2


def take_statistics(layer: Any, given: tuple[Any, ...]) -> None:
    """Sets the running statistics to those of the input."""
    x = given[0]
    across = [dim for dim in range(x.dim()) if dim != 1]
    layer.running_mean.copy_(x.mean(across))
    layer.running_var.copy_(x.var(across, correction=0).clamp_min(SMALLEST_VARIANCE))


def scale(layer: Any, given: tuple[Any, ...], result: Any) -> Any:
    """Scales the weight so that the layer gives a deviation of one, and computes the result anew."""
    deviation = result.std().item()
    if not 1e-12 < deviation < 1e12:
        return None
    layer.weight.div_(deviation)
    return layer.forward(*given)
