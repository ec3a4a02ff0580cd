"""The gradients that are not torch's, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Departure:
    """Calls whose gradients are not torch's, and why."""

    overloads: frozenset[str]
    holds: Callable[[Any, str], bool]
    """Of the arguments and the text of the difference."""
    reason: str
    with_other_results: bool = False
    """Whether it holds only for calls whose results are not torch's either."""


def has_no_elements(arguments: Any, text: str) -> bool:
    return (text.startswith("second") or "jvp" in text) and any(0 in tensor.size for tensor in arguments.tensors())


def has_a_zero_or_one(arguments: Any, text: str) -> bool:
    import convert

    tensor = convert.for_torch(arguments).tensors[0]
    return "gradient" in text and bool(((tensor == 0) | (tensor == 1)).any())


def has_nan(arguments: Any, text: str) -> bool:
    import convert

    return "gradient" in text and any((tensor != tensor).any() for tensor in convert.for_torch(arguments).tensors)


def is_at_the_end_of_the_range(arguments: Any, text: str) -> bool:
    import convert

    return "gradient" in text and any((tensor.abs() > 1e300).any() for tensor in convert.for_torch(arguments).tensors)


def has_ties(arguments: Any, text: str) -> bool:
    import convert

    tensors = [tensor for tensor in convert.for_torch(arguments).tensors if tensor.is_floating_point()]
    return "gradient" in text and any(tensor.unique().numel() < tensor.numel() for tensor in tensors)


def is_of_one(arguments: Any, text: str) -> bool:
    tensor = next(arguments.tensors(), None)
    return text.startswith("second") and tensor is not None and 1 in (*tensor.size, *([] if tensor.size else [1]))


def has_a_zero(arguments: Any, text: str) -> bool:
    import convert

    return text.startswith("second") and any((tensor == 0).any() for tensor in convert.for_torch(arguments).tensors)


def scales(arguments: Any, text: str) -> bool:
    is_asked = text.startswith("second") or "jvp" in text
    return is_asked and (arguments.kwargs.get("scale_grad_by_freq") is True or True in arguments.args)


def is_forward(arguments: Any, text: str) -> bool:
    return "jvp" in text


def is_forward_of_a_product(arguments: Any, text: str) -> bool:
    return "jvp" in text and "prod" in (*arguments.args, *arguments.kwargs.values())


def writes_shared_statistics(arguments: Any, text: str) -> bool:
    return "vmap" in text and "`running_" in text


def is_of_a_number(arguments: Any, text: str) -> bool:
    return "vmap" in text and not next(arguments.tensors()).size


def is_forward_of_padding(arguments: Any, text: str) -> bool:
    padding = arguments.kwargs.get("padding_idx", arguments.args[2] if len(arguments.args) > 2 else -1)
    return "jvp" in text and padding != -1


def is_gradient(arguments: Any, text: str) -> bool:
    return "gradient" in text


def is_nan_there(arguments: Any, text: str) -> bool:
    return "gradient" in text and "nan" in text.partition("expected")[2]


def is_degenerate(arguments: Any, text: str) -> bool:
    import convert
    import torch

    matrices = convert.for_torch(arguments).tensors[0]
    least = min(matrices.shape[-2:])
    if "gradient" not in text or not matrices.numel():
        return False
    block = matrices[..., :least, :least]
    values = torch.linalg.svdvals(matrices)
    near = 1e-8 * values.amax(-1, keepdim=True)
    others = torch.linalg.eigvals(block)
    between = (others.unsqueeze(-1) - others.unsqueeze(-2)).abs() + torch.eye(least) * (1 + near[..., None])
    found = (
        (values[..., -1:] <= near).any(),
        (values[..., :-1] - values[..., 1:] <= near).any(),
        (between <= near[..., None]).any(),
        # Factors are made of what stands in front.
        (torch.linalg.svdvals(block)[..., -1:] <= near).any(),
    )
    return any(map(bool, found))


def has_a_zero_pivot(arguments: Any, text: str) -> bool:
    import convert

    return bool((convert.for_torch(arguments).tensors[0].diagonal(0, -2, -1) == 0).any())


def is_not_positive_definite(arguments: Any, text: str) -> bool:
    import convert
    import torch

    matrices = convert.for_torch(arguments).tensors[0]
    values = [torch.linalg.eigvalsh(matrices, UPLO=triangle) for triangle in "LU"]
    return any(bool((value <= 1e-8 * value.amax(-1, keepdim=True)).any()) for value in values)


def is_not_hermitian(arguments: Any, text: str) -> bool:
    import convert
    import torch

    matrices = convert.for_torch(arguments).tensors[0]
    return arguments.kwargs.get("hermitian") is True and not torch.allclose(matrices, matrices.mH)


def is_of_complex_numbers(arguments: Any, text: str) -> bool:
    import torch

    return "gradient" in text and any(tensor.dtype == torch.complex128 for tensor in arguments.tensors())


def is_the_zeroth(arguments: Any, text: str) -> bool:
    return arguments.args[1:2] == (0,) or arguments.kwargs.get("n") == 0


def has_all_digits(arguments: Any, text: str) -> bool:
    return "gradient" in text and "nan" not in text and "inf" not in text


DEGENERATE = """
linalg_svdvals linalg_svd _linalg_svd svd linalg_matrix_norm linalg_matrix_norm.str_ord linalg_norm linalg_norm.ord_str linalg_cond
linalg_eigvals linalg_eig linalg_inv_ex linalg_lstsq linalg_qr linalg_polar linalg_lu linalg_lu_factor_ex
""".split()
SPREADS = ("var", "std", "var_mean", "std_mean")
DEPARTURES = (
    Departure(
        frozenset(name + form for name in SPREADS for form in ("", ".dim", ".correction")),
        has_no_elements,
        "the second gradient of the spread of nothing is NaN, as the spread is",
    ),
    Departure(
        frozenset({"cholesky_inverse", "cholesky_solve"}),
        is_gradient,
        "elements of the triangle that is not read have a zero gradient, as differences say; torch's formula gives them one",
    ),
    Departure(
        frozenset({"ormqr", "linalg_householder_product"}),
        is_nan_there,
        "a reflection that is no orthogonal matrix has the gradient of differences; torch divides by what may be zero there",
    ),
    Departure(
        frozenset(DEGENERATE),
        is_degenerate,
        "factors of matrices that are singular, or have equal singular values or eigenvalues, are not unique; no gradient is defined there",
    ),
    Departure(
        frozenset({"linalg_lu_solve"}),
        has_a_zero_pivot,
        "equations whose matrix is singular have no solution, and no gradient is defined there",
    ),
    Departure(
        frozenset({"linalg_svd", "_linalg_svd", "svd", "linalg_eigh", "_linalg_eigh"}),
        is_gradient,
        "vectors may be multiplied by a number of absolute value 1, by which these gradients are multiplied, too",
        with_other_results=True,
    ),
    Departure(
        frozenset({"linalg_cholesky", "linalg_cholesky_ex"}),
        is_of_complex_numbers,
        "of the gradient by a Hermitian matrix the Hermitian part counts, which is torch's; here the gradient is Hermitian, as for real numbers",
    ),
    Departure(
        frozenset({"linalg_matrix_sqrth", "linalg_cholesky_ex"}),
        is_not_positive_definite,
        "a matrix that is not positive definite has no such factor, or one without a gradient",
    ),
    Departure(
        frozenset({"linalg_pinv.atol_rtol_float", "linalg_pinv.atol_rtol_tensor"}),
        is_not_hermitian,
        "a matrix that is called Hermitian and is not has no such inverse",
    ),
    Departure(
        frozenset({"linalg_matrix_power"}),
        is_the_zeroth,
        "the zeroth power is constant, so that it requires no gradient; torch's requires one, which is zero",
    ),
    Departure(
        frozenset({"special_bessel_j1", "special_bessel_y0", "special_bessel_y1"}),
        has_all_digits,
        "torch's bessel_j0 and bessel_y1, of which these gradients are made, have errors of up to 4e-7; here they have all digits",
    ),
    Departure(
        frozenset({"amax", "amin"}),
        has_nan,
        "of elements with a NaN the gradient goes to the NaN, which is the result; torch's is NaN everywhere",
    ),
    Departure(
        frozenset({"prod.dim_int", "prod"}),
        has_nan,
        "of elements with one NaN the gradient of that one is the product of the others; torch's is NaN everywhere",
    ),
    Departure(
        frozenset({"sort", "sort.stable", "msort", "argsort", "topk", "kthvalue", "median", "median.dim", "mode"}),
        has_ties,
        "which one of equal elements has the gradient is not defined; torch takes one that depends on how it sorts",
    ),
    Departure(
        frozenset(name + form for name in ("std", "std_mean") for form in ("", ".dim", ".correction")),
        is_of_one,
        "the deviation of one element is constant, so that its second gradient is zero; torch's is NaN",
    ),
    Departure(
        frozenset({"cross_entropy_loss"}),
        has_no_elements,
        "the second gradient of a mean of no losses is NaN, as the mean is",
    ),
    Departure(
        frozenset({"binary_cross_entropy"}),
        has_a_zero_or_one,
        "the gradient by the target keeps logarithms above -100, as the loss does; torch's is infinite where the loss is not",
    ),
    Departure(
        frozenset({"prelu", "_prelu_kernel"}),
        has_a_zero,
        "at zero the first gradient is that of negative numbers, and so are its own gradients; torch's are those of positive ones",
    ),
    Departure(
        frozenset({"_softmax_backward_data"}),
        is_of_a_number,
        "the result for a tensor without dimensions is that of the formula; in a batch torch takes `output` to be one and the result to be zero",
    ),
    Departure(
        frozenset({"embedding"}),
        scales,
        "second gradients and tangents are scaled by how often an index occurs, as the first gradients are; torch leaves the scale out",
    ),
    Departure(
        frozenset({"hypot"}),
        is_at_the_end_of_the_range,
        "a gradient is multiplied by leg over length; torch multiplies by the leg first, which may leave the range",
    ),
    Departure(
        frozenset({"embedding"}),
        is_forward_of_padding,
        "rows of padding get no gradient, and so their tangents go nowhere; torch's tangents pass by the padding",
    ),
    Departure(
        frozenset({"logcumsumexp"}),
        is_forward,
        "torch's tangents are taken relative to the largest exponential of all, so that those of smaller sums lose digits, and those of complex "
        "sums are NaN; here each sum has weights of its own",
    ),
    Departure(
        frozenset({"native_layer_norm_backward"}),
        is_forward,
        "mean and reciprocal deviation are arguments as others; torch's derivative takes them as results of the input",
    ),
    Departure(
        frozenset({"scatter_reduce.two"}),
        is_forward_of_a_product,
        "torch's tangents of products are zero",
    ),
    Departure(
        frozenset({"batch_norm", "native_batch_norm", "instance_norm"}),
        writes_shared_statistics,
        "running statistics that are the same for all examples are not written in a batch, whatever is a batch; torch writes those of an "
        "input that is the same for all",
    ),
)
