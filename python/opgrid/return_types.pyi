# Written by python/stubs/generate.py: the classes of several results with names.
from typing import NamedTuple

from ._opgrid import Tensor

class _scaled_dot_product_flash_attention_for_cpu(NamedTuple):
    output: Tensor
    logsumexp: Tensor

class _scaled_dot_product_flash_attention_for_cpu_backward(NamedTuple):
    grad_query: Tensor
    grad_key: Tensor
    grad_value: Tensor

class aminmax(NamedTuple):
    min: Tensor
    max: Tensor

class cummax(NamedTuple):
    values: Tensor
    indices: Tensor

class cummin(NamedTuple):
    values: Tensor
    indices: Tensor

class kthvalue(NamedTuple):
    values: Tensor
    indices: Tensor

class log_sigmoid_forward(NamedTuple):
    output: Tensor
    buffer: Tensor

class max(NamedTuple):
    values: Tensor
    indices: Tensor

class median(NamedTuple):
    values: Tensor
    indices: Tensor

class min(NamedTuple):
    values: Tensor
    indices: Tensor

class mode(NamedTuple):
    values: Tensor
    indices: Tensor

class nanmedian(NamedTuple):
    values: Tensor
    indices: Tensor

class nll_loss2d_forward(NamedTuple):
    output: Tensor
    total_weight: Tensor

class nll_loss_forward(NamedTuple):
    output: Tensor
    total_weight: Tensor

class sort(NamedTuple):
    values: Tensor
    indices: Tensor

class topk(NamedTuple):
    values: Tensor
    indices: Tensor
