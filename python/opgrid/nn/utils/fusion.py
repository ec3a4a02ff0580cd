"""Batch normalization as part of the layer before it, for evaluation."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import opgrid as og

from ..._opgrid import Tensor
from ..module import Module
from ..parameter import Parameter

_M = TypeVar("_M", bound=Module)


def _fused_eval(layer: _M, bn: Any, *settings: Any) -> _M:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn has no running statistics, expected running_mean and running_var")
    fused: Any = copy.deepcopy(layer)
    statistics = (bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    fused.weight, fused.bias = fuse_conv_bn_weights(fused.weight, fused.bias, *statistics, *settings)
    result: _M = fused
    return result


def fuse_conv_bn_eval(conv: _M, bn: Module, transpose: bool = False) -> _M:
    """A convolution that computes what a convolution and batch normalization after it do in evaluation.

    ``transpose`` says that the convolution is a transposed one.
    """
    return _fused_eval(conv, bn, transpose)


def fuse_linear_bn_eval(linear: _M, bn: Module) -> _M:
    """A linear layer that computes what a linear layer and batch normalization after it do in evaluation."""
    outputs, features = (getattr(module, name) for module, name in ((linear, "out_features"), (bn, "num_features")))
    if features not in (1, outputs):
        raise AssertionError(f"bn has {features} features, expected 1, or {outputs} as linear has")
    return _fused_eval(linear, bn)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of a layer and batch normalization together; outputs are the first dimension, or the second."""
    bias = og.zeros_like(bn_rm) if conv_b is None else conv_b
    scale = og.rsqrt(bn_rv + bn_eps) if bn_w is None else bn_w * og.rsqrt(bn_rv + bn_eps)
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    weight = (conv_w * scale.reshape(shape)).to(conv_w.dtype)
    moved = (bias - bn_rm) * scale + (0 if bn_b is None else bn_b)
    dtype = conv_w.dtype if conv_b is None else conv_b.dtype
    learns = conv_w.requires_grad, bias.requires_grad
    return Parameter(weight, learns[0]), Parameter(moved.to(dtype), learns[1])


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of a linear layer and batch normalization together."""
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)
