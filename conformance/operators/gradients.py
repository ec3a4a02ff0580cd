"""Calls of backward operators by themselves, as graphs of training steps make them: of several shapes, layouts, dtypes and options."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

aten = torch.ops.aten
REALS = (torch.float32, torch.float64, torch.bfloat16)
Calls = Iterator[Callable[[], Any]]


def floats(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(sizes, dtype=torch.float64).to(dtype)


def positive(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return floats(*sizes, dtype=dtype).abs() + 0.25


def call(name: str, *arguments: Any) -> Callable[[], Any]:
    return lambda: getattr(aten, name)(*arguments)


def layouts(x: torch.Tensor) -> Iterator[torch.Tensor]:
    yield x
    if x.dim() >= 2:
        yield x.transpose(-1, -2).contiguous().transpose(-1, -2)
    if x.dim() == 4:
        yield x.contiguous(memory_format=torch.channels_last)


def of_elements() -> Calls:
    for dtype, sizes in itertools.product(REALS, ((2, 3), (), (0, 3), (5, 9))):
        grad = floats(*sizes, dtype=dtype)
        for x in layouts(floats(*sizes, dtype=dtype) * 3):
            for name in ("hardswish", "hardsigmoid", "mish"):
                yield call(f"{name}_backward", grad, x)
            for name in ("hardshrink", "softshrink"):
                yield call(f"{name}_backward", grad, x, 0.5)
            yield call("infinitely_differentiable_gelu_backward", grad, x)
            yield call("log_sigmoid_backward", grad, x, aten.log_sigmoid_forward(x)[1])
            yield call("logit_backward", grad, x.sigmoid())
            yield call("logit_backward", grad, x.sigmoid(), 0.2)
            yield call("_prelu_kernel_backward", grad, x, floats(*sizes, dtype=dtype))
            yield call("native_dropout_backward", grad, x > 0, 1.25)
    for dtype, (sizes, dim) in itertools.product(REALS[:2], (((2, 4), -1), ((4, 3), 0), ((2, 4, 3), 1), ((6,), 0))):
        x, dx = floats(*sizes, dtype=dtype), floats(*sizes, dtype=dtype)
        glu = aten.glu(x, dim)
        grad, dgrad = floats(*glu.shape, dtype=dtype), floats(*glu.shape, dtype=dtype)
        yield call("glu_backward", grad, x, dim)
        yield call("glu_jvp", glu, x, dx, dim)
        yield call("glu_backward_jvp", aten.glu_backward(grad, x, dim), grad, x, dgrad, dx, dim)


def of_losses() -> Calls:
    for dtype, (sizes, others), reduction in itertools.product(
        REALS, (((2, 3), (2, 3)), ((2, 3), (3,)), ((), ()), ((0, 3), (0, 3)), ((5, 9), (5, 9))), (0, 1, 2)
    ):
        x, y = floats(*sizes, dtype=dtype), floats(*others, dtype=dtype)
        grad = floats(*(sizes if reduction == 0 else ()), dtype=dtype)
        yield call("mse_loss_backward", grad, x, y, reduction)
        yield call("smooth_l1_loss_backward", grad, x, y, reduction, 0.7)
        yield call("huber_loss_backward", grad, x, y, reduction, 0.7)
        yield call("soft_margin_loss_backward", grad, x, y.sign(), reduction)
        if sizes == others:
            for weight in (None, positive(*sizes, dtype=dtype)):
                yield call("binary_cross_entropy_backward", grad, x.sigmoid(), y.sigmoid(), weight, reduction)
    for dtype, sizes, reduction, ignored in itertools.product(REALS, ((2, 3), (4,), (5, 2), (2, 3, 2, 2)), (0, 1, 2), (-100, 0)):
        classes = sizes[0] if len(sizes) == 1 else sizes[1]
        target = torch.randint(0, classes, sizes[:1] + sizes[2:] if len(sizes) > 1 else ())
        name = "nll_loss2d" if len(sizes) == 4 else "nll_loss"
        for weight in (None, positive(classes, dtype=dtype)):
            x = floats(*sizes, dtype=dtype)
            out, total = getattr(aten, f"{name}_forward")(x, target, weight, reduction, ignored)
            yield call(f"{name}_backward", floats(*out.shape, dtype=dtype), x, target, weight, reduction, ignored, total)


def of_normalisations() -> Calls:
    for sizes, train in itertools.product(((4, 3), (4, 3, 5), (2, 3, 4, 4)), (True, False)):
        channels = sizes[1]
        for x in layouts(floats(*sizes)):
            means, variances = x.transpose(0, 1).reshape(channels, -1).mean(1), positive(channels)
            deviations = (x.transpose(0, 1).reshape(channels, -1).var(1, unbiased=False) + 1e-5).rsqrt()
            grad, running = floats(*sizes), (floats(channels), variances)
            for weight, mask in itertools.product((None, floats(channels)), ([True] * 3, [True, False, False], [False, True, True])):
                yield call("native_batch_norm_backward", grad, x, weight, *running, means, deviations, train, 1e-5, mask)
    for sizes, dim in (((2, 3), 0), ((2, 3), 1), ((2, 3, 4), 0), ((2, 3, 4), 2)):
        v, g = floats(*sizes), positive(*(size if at == dim else 1 for at, size in enumerate(sizes)))
        _, norms = aten._weight_norm_interface(v, g, dim)
        yield call("_weight_norm_interface", v, g, dim)
        for name in ("interface", "differentiable"):
            yield call(f"_weight_norm_{name}_backward", floats(*sizes), v, g, norms, dim)


def of_views_and_indices() -> Calls:
    for dtype in (torch.float32, torch.float64, torch.complex64, torch.int64):
        def numbers(*sizes: int, dtype: torch.dtype = dtype) -> torch.Tensor:
            return torch.randn(sizes, dtype=dtype) if dtype.is_complex else (floats(*sizes) * 4).to(dtype)

        for sizes, grad, dim, index in (((2, 3), (3,), 0, 1), ((2, 3), (2,), -1, -3), ((4,), (), 0, 2)):
            yield call("select_backward", numbers(*grad), sizes, dim, index)
        for sizes, grad, arguments in (((5, 3), (2, 3), (0, 1, 4, 2)), ((2, 7), (2, 2), (1, -5, -1, 3)), ((4,), (4,), (0, -9, 9, 1))):
            yield call("slice_backward", numbers(*grad), sizes, *arguments)
        for sizes, arguments in (((3, 4), (1, 0, 1)), ((3, 4), (-1, -2, -1)), ((2, 3, 4), (0, 2, 0))):
            yield call("diagonal_backward", numbers(*torch.empty(sizes).diagonal(*arguments).shape), sizes, *arguments)
        for sizes, arguments in (((7,), (0, 3, 2)), ((2, 5), (-1, 2, 1)), ((4, 3), (0, 2, 2))):
            yield call("unfold_backward", numbers(*torch.empty(sizes).unfold(*arguments).shape), sizes, *arguments)
        yield call("index_select_backward", numbers(2, 3), (2, 5), 1, torch.tensor([2, 0, 2]))
        yield call("gather_backward", numbers(2, 2), numbers(2, 3), 1, torch.tensor([[0, 0], [2, 1]]), False)
        yield call("masked_select_backward", numbers(4), numbers(3), torch.tensor([[True, False, True], [False, True, True]]))
        yield call("masked_scatter_backward", numbers(3), torch.tensor([True, False, True]), (2, 2))
        yield call("trace_backward", numbers(), (2, 3))
        yield call("value_selecting_reduction_backward", numbers(3), 0, torch.tensor([1, 0, 1]), (2, 3), False)
        yield call("cummaxmin_backward", numbers(2, 4), numbers(2, 4), torch.tensor([[0, 0, 2, 2]] * 2), 1)
        if dtype.is_floating_point or dtype.is_complex:
            for zeros in (0, 1, 2):
                x = numbers(2, 4)
                x.view(-1)[:zeros] = 0
                yield call("cumprod_backward", numbers(2, 4), x, 1, torch.cumprod(x, 1))


def of_padding() -> Calls:
    cases: tuple[tuple[Sequence[int], Sequence[int]], ...] = (
        ((2, 4), (1, 2)), ((2, 2, 3), (2, 0)), ((1, 5), (-1, 1)), ((2, 3, 4), (1, 2, 0, 1)), ((2, 3, 4, 5), (1, 1, 1, 1)),
        ((1, 2, 2, 3), (1, 1, 0, 1, 1, 0)), ((2, 1, 2, 3, 2), (0, 1, 1, 0, -1, 1)),
    )
    for name, (sizes, padding) in itertools.product(("reflection", "replication"), cases):
        x, packet = floats(*sizes), f"{name}_pad{len(padding) // 2}d"
        out = getattr(aten, packet)(x, padding)
        for grad in layouts(floats(*out.shape)):
            yield call(f"{packet}_backward", grad, x, padding)


def of_resampling() -> Calls:
    names = {
        1: ("upsample_linear1d", "upsample_nearest1d", "_upsample_nearest_exact1d"),
        2: ("upsample_bilinear2d", "upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa", "upsample_nearest2d",
            "_upsample_nearest_exact2d"),
        3: ("upsample_trilinear3d", "upsample_nearest3d", "_upsample_nearest_exact3d"),
    }
    images = (((2, 3, 4), (4, 6, 8), None), ((3, 5, 7), (2, 3, 4), None), ((4, 4, 4), (7, 7, 7), 1.75))
    for dims, (sizes, output, scale) in itertools.product(names, images):
        sizes, output = sizes[3 - dims:], output[3 - dims:]
        for name in names[dims]:
            for flags in ((),) if "nearest" in name else ((False,), (True,)):
                for grad in layouts(floats(2, 3, *output)):
                    yield call(f"{name}_backward", grad, output, (2, 3, *sizes), *flags, *[scale] * dims)
    for dims, padding, corners in itertools.product((2, 3), range(3), (False, True)):
        image, places = (3, 4, 5)[3 - dims:], (2, 3, 4)[3 - dims:]
        for mode in range(3 if dims == 2 else 2):
            x, grid, grad = floats(2, 2, *image), floats(2, *places, dims) * 0.8, floats(2, 2, *places)
            yield call(f"grid_sampler_{dims}d_backward", grad, x, grid, mode, padding, corners, [True, True])
            yield call(f"grid_sampler_{dims}d_backward", grad, x, grid, mode, padding, corners, [False, True])
    for places, corners in itertools.product(((2, 3), (2, 3, 2)), (False, True)):
        yield call("affine_grid_generator_backward", floats(2, *places, len(places)), (2, 3, *places), corners)


def of_pooling() -> Calls:
    for sizes, output in (((2, 3, 4, 6), (2, 2)), ((3, 5, 7), (3, 4)), ((0, 2, 4, 4), (2, 2)), ((2, 3, 4, 4, 6), (2, 2, 2))):
        packet = f"adaptive_max_pool{len(output)}d"
        for x in layouts(floats(*sizes)):
            out, indices = getattr(aten, packet)(x, output)
            yield call(f"{packet}_backward", floats(*out.shape), x, indices)
    for stride, padding, dilation, ceil in ((2, 0, 1, False), (1, 1, 1, True), (1, 0, 2, False)):
        x, window = floats(2, 3, 5, 6, 7), ([2] * 3, [stride] * 3, [padding] * 3, [dilation] * 3, ceil)
        out, indices = aten.max_pool3d_with_indices(x, *window)
        yield call("max_pool3d_with_indices_backward", floats(*out.shape), x, *window, indices)
    yield call("conv_tbc", floats(5, 2, 3), floats(2, 3, 4), floats(4), 1)


def of_tables_and_distances() -> Calls:
    indices, offsets = torch.tensor([2, 0, 2, 3, 1]), torch.tensor([0, 2, 2, 3])
    for padding, scale in itertools.product((-1, 2), (False, True)):
        yield call("embedding_backward", floats(5, 3), indices, 5, padding, scale, False)
        for mode, weights in ((0, None), (0, floats(5)), (1, None), (2, None)):
            table = floats(5, 3)
            out, bags, sizes, largest = aten._embedding_bag(table, indices, offsets, scale, mode, False, weights, False, padding)
            grad, lists = floats(*out.shape), (sizes, largest, 5, scale, mode)
            yield call("_embedding_bag_backward", grad, indices, offsets, bags, *lists, False, weights, padding)
            if bags.numel() > 0:
                yield call("_embedding_bag_dense_backward", grad, indices, bags, *lists, weights, padding)
            if mode == 0:
                yield call("_embedding_bag_per_sample_weights_backward", grad, table, indices, offsets, bags, mode, padding)
    for p, dtype in itertools.product((0.0, 1.0, 1.5, 2.0, 3.0, float("inf")), (torch.float32, torch.float64)):
        for one, other in (((3, 4), (2, 4)), ((2, 1, 3, 2), (4, 2, 2)), ((0, 3), (2, 3))):
            x, y = floats(*one, dtype=dtype), floats(*other, dtype=dtype)
            distances = aten._cdist_forward(x, y, p, None)
            yield call("_cdist_backward", floats(*distances.shape, dtype=dtype), x, y, p, distances)
        x = floats(4, 3, dtype=dtype)
        distances = aten._pdist_forward(x, p)
        yield call("_pdist_backward", floats(*distances.shape, dtype=dtype), x, p, distances)


TOPICS = {
    "gradients_of_elements": of_elements,
    "gradients_of_losses": of_losses,
    "gradients_of_normalisations": of_normalisations,
    "gradients_of_views": of_views_and_indices,
    "gradients_of_padding": of_padding,
    "gradients_of_images": of_resampling,
    "gradients_of_pooling": of_pooling,
    "gradients_of_tables": of_tables_and_distances,
}
