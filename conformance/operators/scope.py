"""Which operators are compared, and which entries of torch's database exercise them.

Each overload that torch tags ``core`` is in scope, and what the tables below name: a packet with all its overloads, or one
overload after a dot.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import torch

COMPOSITES = """
linear matmul bmm baddbmm einsum dot mv vdot outer tensordot kron ger addmv addr addbmm inner
conv1d conv2d conv3d conv_transpose1d conv_transpose2d.input conv_transpose3d.input
softmax.int log_softmax.int _softmax_backward_data _log_softmax_backward_data
cross_entropy_loss nll_loss nll_loss_nd nll_loss_forward nll_loss2d nll_loss2d_forward
mse_loss l1_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy binary_cross_entropy_with_logits
layer_norm rms_norm group_norm batch_norm instance_norm native_batch_norm dropout embedding
scaled_dot_product_attention
silu gelu softplus mish glu relu6 selu celu hardsigmoid hardswish hardshrink softshrink log_sigmoid prelu threshold
lstm.input gru.input
reshape flatten.using_ints unflatten.int transpose.int t movedim swapaxes narrow squeeze unsqueeze
chunk split tensor_split stack hstack vstack dstack column_stack unbind.int unfold tile repeat_interleave
zeros_like ones_like full_like empty_like rand_like randn_like randint randint_like
new_zeros new_ones new_full new_empty new_empty_strided zeros ones eye linspace
to tril triu tril_indices triu_indices
linalg_vector_norm norm std std.correction var var.correction var_mean std_mean max min max.dim min.dim aminmax
argmin argsort sort.stable cumprod cummax cummin logsumexp logcumsumexp count_nonzero diff nansum nanmean median trace
clamp_min clamp_max clip square lerp addcmul addcdiv logaddexp logaddexp2 nan_to_num xlogy hypot copysign fmin fmax
exp2 frac erfc erfinv sgn signbit isfinite isposinf isneginf positive deg2rad rad2deg sinc lgamma digamma
floor_divide true_divide logit heaviside nextafter gcd lcm bitwise_left_shift bitwise_right_shift
logical_and logical_or logical_xor logical_not all rsub allclose isclose equal
one_hot masked_fill masked_select masked_scatter take take_along_dim index_add index_copy index_fill index_reduce
scatter scatter_reduce nonzero argwhere select_scatter slice_scatter diagonal_scatter
roll pad rot90 fliplr flipud
upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d upsample_bicubic2d
upsample_trilinear3d _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
isin meshgrid.indexing meshgrid bincount searchsorted bucketize multinomial bernoulli normal uniform
_unique2 unique_dim unique_consecutive
conj _conj conj_physical real imag view_as_real view_as_complex resolve_conj resolve_neg complex polar angle
lift_fresh detach alias _unsafe_view contiguous expand_as view_as reshape_as broadcast_to broadcast_tensors
_fft_r2c _fft_c2r _fft_c2c fft_fft fft_ifft fft_rfft fft_irfft
adaptive_avg_pool2d adaptive_avg_pool3d avg_pool3d_backward _adaptive_avg_pool3d_backward adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d
max_pool1d max_pool2d max_pool3d max_pool1d_with_indices
diag diag_embed cov corrcoef cross linalg_cross cdist pdist cosine_similarity pairwise_distance
pixel_shuffle pixel_unshuffle channel_shuffle atleast_1d atleast_2d atleast_3d
ravel numpy_T matrix_H mT mH adjoint swapdims moveaxis hsplit vsplit dsplit
log_sigmoid_forward im2col embedding_bag item
ctc_loss _ctc_loss multi_margin_loss multilabel_margin_loss multilabel_margin_loss_forward
rrelu rrelu_with_noise alpha_dropout feature_dropout feature_alpha_dropout
max_unpool2d max_unpool3d fractional_max_pool2d fractional_max_pool3d native_channel_shuffle
pad_sequence renorm frexp.Tensor sum_to_size fill_diagonal_ _aminmax
linalg_cholesky_ex linalg_cholesky cholesky_solve cholesky_inverse linalg_lu_factor_ex linalg_lu_factor linalg_lu lu_unpack
linalg_lu_solve linalg_solve_ex linalg_solve linalg_solve_triangular triangular_solve linalg_inv_ex linalg_inv inverse
linalg_det linalg_slogdet slogdet logdet linalg_qr geqrf linalg_householder_product orgqr ormqr linalg_matrix_power
linalg_eigh linalg_eigvalsh linalg_eig linalg_eigvals linalg_svd linalg_svdvals svd _linalg_det _linalg_slogdet _linalg_solve_ex
_linalg_eigh _linalg_svd linalg_pinv pinverse linalg_lstsq linalg_cond linalg_norm linalg_matrix_norm frobenius_norm nuclear_norm
linalg_matrix_rank linalg_matrix_exp matrix_exp linalg_ldl_factor_ex linalg_ldl_factor linalg_ldl_solve linalg_polar
linalg_matrix_sqrth linalg_tensorinv linalg_tensorsolve linalg_vander vander linalg_vecdot linalg_diagonal
trapezoid trapz cumulative_trapezoid quantile nanquantile stft istft
bartlett_window blackman_window hamming_window hann_window kaiser_window
i0 igamma igammac mvlgamma polygamma
alias_copy as_strided_copy diagonal_copy expand_copy narrow_copy permute_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy
unbind_copy unfold_copy unsqueeze_copy view_copy
special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_spherical_bessel_j0
special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1
special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_i0e special_i1 special_i1e
special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w
special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
special_shifted_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he
special_laguerre_polynomial_l special_legendre_polynomial_p
special_entr special_erfcx special_log_ndtr special_ndtr special_ndtri special_polygamma special_xlog1py special_zeta
"""
"""Composites and other operators that users of torch meet, beside the core ones."""

BACKWARD = {
    "gradients_of_elements": """
hardswish_backward hardsigmoid_backward hardshrink_backward softshrink_backward mish_backward log_sigmoid_backward logit_backward
_prelu_kernel_backward native_dropout_backward glu_backward glu_jvp glu_backward_jvp infinitely_differentiable_gelu_backward
""",
    "gradients_of_losses": """
mse_loss_backward smooth_l1_loss_backward huber_loss_backward soft_margin_loss_backward binary_cross_entropy_backward
nll_loss_backward nll_loss2d_backward
""",
    "gradients_of_normalisations": """
native_batch_norm_backward _weight_norm_interface _weight_norm_interface_backward _weight_norm_differentiable_backward
""",
    "gradients_of_views": """
select_backward slice_backward diagonal_backward unfold_backward index_select_backward gather_backward masked_select_backward
masked_scatter_backward trace_backward value_selecting_reduction_backward cummaxmin_backward cumprod_backward
""",
    "gradients_of_padding": """
reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward
replication_pad1d_backward replication_pad2d_backward replication_pad3d_backward
""",
    "gradients_of_images": """
upsample_linear1d_backward upsample_bilinear2d_backward upsample_trilinear3d_backward upsample_bicubic2d_backward
upsample_nearest1d_backward upsample_nearest2d_backward upsample_nearest3d_backward _upsample_nearest_exact1d_backward
_upsample_nearest_exact2d_backward _upsample_nearest_exact3d_backward _upsample_bilinear2d_aa_backward
_upsample_bicubic2d_aa_backward grid_sampler_2d_backward grid_sampler_3d_backward affine_grid_generator_backward
""",
    "gradients_of_pooling": """
adaptive_max_pool2d_backward adaptive_max_pool3d_backward max_pool3d_with_indices_backward conv_tbc
""",
    "gradients_of_tables": """
embedding_backward _embedding_bag_backward _embedding_bag_dense_backward _embedding_bag_per_sample_weights_backward _cdist_backward
_pdist_backward
""",
}
"""Backward operators, by the programs that call them: torch's functions reach them in derivatives only."""

DRIVERS = """
nn.functional.cross_entropy nn.functional.nll_loss nn.functional.interpolate nn.functional.upsample_bilinear
nn.functional.upsample_nearest nn.functional.pad nn.functional.unfold nn.functional.grid_sample nn.functional.logsigmoid
nn.functional.adaptive_avg_pool1d nn.functional.embedding_bag nn.functional.max_pool1d nn.functional.max_pool2d
nn.functional.max_pool3d nn.functional.multi_head_attention_forward nn.functional.softmin nn.functional.dropout
nn.functional.leaky_relu nn.functional.kl_div nn.functional.one_hot nn.functional.rms_norm nn.functional.instance_norm
__getitem__ __radd__ __rdiv__ __rmatmul__ __rmod__ __rmul__ __rpow__ __rsub__ __rand__ __ror__ __rxor__
H T mT mH float half bfloat16 double int long bool byte char short cfloat cdouble to
log_softmax softmax unique max_pool2d_with_indices_backward native_batch_norm _native_batch_norm_legit
fft.fft fft.ifft fft.rfft fft.irfft fft.fft2 fft.rfft2 fft.irfft2 linalg.vector_norm linalg.cross norm
as_strided_scatter broadcast_shapes cartesian_prod block_diag stft istft normal uniform
"""
"""Entries of the database that reach overloads in scope under another name."""

DERIVED = """
nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d nn.functional.conv_transpose2d
nn.functional.layer_norm nn.functional.group_norm nn.functional.embedding nn.functional.max_pool2d nn.functional.avg_pool2d
nn.functional.adaptive_avg_pool2d nn.functional.avg_pool3d nn.functional.adaptive_avg_pool3d softmax log_softmax
"""
"""Entries whose derivatives are always run, because these call core overloads."""

REACHED_BY = {
    "convolution": "nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d nn.functional.conv_transpose2d",
    "convolution_backward": "nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d nn.functional.conv_transpose2d",
    "_softmax": "softmax",
    "_softmax_backward_data": "softmax",
    "_log_softmax": "log_softmax",
    "_log_softmax_backward_data": "log_softmax",
    "native_layer_norm": "nn.functional.layer_norm native_layer_norm",
    "native_layer_norm_backward": "nn.functional.layer_norm",
    "native_group_norm": "nn.functional.group_norm native_group_norm",
    "native_group_norm_backward": "nn.functional.group_norm",
    "_native_batch_norm_legit": "_native_batch_norm_legit nn.functional.batch_norm nn.functional.instance_norm",
    "_native_batch_norm_legit_no_training": "nn.functional.batch_norm",
    "native_dropout": "nn.functional.dropout",
    "embedding_dense_backward": "nn.functional.embedding",
    "max_pool2d_with_indices": "nn.functional.max_pool2d",
    "max_pool2d_with_indices_backward": "nn.functional.max_pool2d",
    "max_pool3d_with_indices": "nn.functional.max_pool3d",
    "avg_pool2d_backward": "nn.functional.avg_pool2d",
    "_adaptive_avg_pool2d": "nn.functional.adaptive_avg_pool2d",
    "_adaptive_avg_pool2d_backward": "nn.functional.adaptive_avg_pool2d",
    "_adaptive_avg_pool3d": "nn.functional.adaptive_avg_pool3d",
    "_adaptive_avg_pool3d_backward": "nn.functional.adaptive_avg_pool3d",
    "avg_pool3d_backward": "nn.functional.avg_pool3d",
    "cross_entropy_loss": "nn.functional.cross_entropy",
    "nll_loss_nd": "nn.functional.nll_loss",
    "nll_loss_forward": "nn.functional.nll_loss",
    "nll_loss2d_forward": "nn.functional.nll_loss",
    "upsample_nearest1d": "nn.functional.interpolate",
    "upsample_nearest2d": "nn.functional.interpolate nn.functional.upsample_nearest",
    "upsample_nearest3d": "nn.functional.interpolate",
    "upsample_linear1d": "nn.functional.interpolate",
    "upsample_bilinear2d": "nn.functional.interpolate nn.functional.upsample_bilinear",
    "upsample_bicubic2d": "nn.functional.interpolate",
    "upsample_trilinear3d": "nn.functional.interpolate",
    "grid_sampler_2d": "nn.functional.grid_sample grid_sampler_2d",
    "reflection_pad1d": "nn.functional.pad",
    "reflection_pad2d": "nn.functional.pad",
    "reflection_pad3d": "nn.functional.pad",
    "replication_pad1d": "nn.functional.pad",
    "replication_pad2d": "nn.functional.pad",
    "replication_pad3d": "nn.functional.pad",
    "constant_pad_nd": "nn.functional.pad constant_pad_nd",
    "im2col": "nn.functional.unfold",
    "_cdist_forward": "cdist",
    "_pdist_forward": "nn.functional.pdist",
    "_fft_r2c": "fft.fft fft.rfft fft.rfft2 fft.ifft",
    "_fft_c2r": "fft.irfft fft.irfft2 fft.hfft",
    "_fft_c2c": "fft.fft fft.ifft fft.fft2",
    "_to_copy": "float half bfloat16 double long to",
    "_unique2": "unique",
    "_local_scalar_dense": "item",
    "slice": "__getitem__ slice",
    "index": "__getitem__ index_put",
    "upsample_nearest_exact2d": "nn.functional.interpolate",
    "copy": "numbers",
    "rand": "random_numbers",
    "randperm": "random_numbers",
    "swapaxes": "shapes",
    "swapdims": "shapes",
    "moveaxis": "shapes",
    "adjoint": "shapes",
    "ger": "shapes",
} | {name: program for program, names in BACKWARD.items() for name in names.split()}
"""Which entries make calls of operators that have no entry of their own, for runs that are limited to these."""

WITHOUT_CALLS = {
    "sym_is_contiguous": "sizes that are not known",
    "sym_numel": "sizes that are not known",
    "sym_size.int": "sizes that are not known",
    "sym_storage_offset": "sizes that are not known",
    "sym_stride.int": "sizes that are not known",
}
"""Core overloads of which no sample can be made, and why."""

RANDOM = """
rand randn randint randperm rand_like randn_like randint_like bernoulli bernoulli_ multinomial normal normal_ uniform
uniform_ native_dropout dropout exponential_ geometric_ random_
rrelu rrelu_with_noise rrelu_with_noise_functional alpha_dropout feature_dropout feature_alpha_dropout
"""
"""Operators that draw numbers: both sides get the same seed, and other numbers are not a difference."""

UNINITIALIZED = """
empty empty_like empty_strided empty_permuted new_empty new_empty_strided resize_ resize
"""
"""Operators whose results hold whatever the memory held: only metadata are compared."""

VALUE_DEPENDENT = {
    "nonzero": "as many rows as there are elements other than zero",
    "argwhere": "as nonzero",
    "masked_select": "as many elements as the mask selects",
    "masked_scatter_backward": "it selects elements by the mask",
    "unique": "as many elements as there are different ones",
    "_unique2": "as many elements as there are different ones",
    "unique_dim": "as many slices as there are different ones",
    "unique_consecutive": "as many elements as there are runs",
    "bincount": "as many bins as the largest element says",
    "repeat_interleave": "as many elements as the repeats add up to",
    "_local_scalar_dense": "the result is the element",
    "item": "the result is the element",
    "equal": "the result is a bool of Python",
    "allclose": "the result is a bool of Python",
    "one_hot": "as many classes as the largest element says",
}
"""Operators whose metadata follow from elements, which meta tensors do not have."""


def words(table: str) -> frozenset[str]:
    return frozenset(table.split())


def overload_of(name: str) -> Any | None:
    """Torch's overload ``aten::name.overload``, if there is one."""
    base, _, overload = name.removeprefix("aten::").partition(".")
    try:
        return getattr(getattr(torch.ops.aten, base), overload or "default")
    except AttributeError:
        return None


@cache
def core() -> frozenset[str]:
    """The overloads that torch tags ``core``, as in ``add.Tensor`` and ``abs``."""
    names = (name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::"))
    found = ((name, overload_of(name)) for name in names)
    return frozenset(
        name.removeprefix("aten::") for name, overload in found if overload is not None and torch.Tag.core in overload.tags
    )


@cache
def composites() -> frozenset[str]:
    return words(COMPOSITES).union(*map(words, BACKWARD.values()))


@cache
def entries() -> tuple[str, ...]:
    """Everything in scope: overloads, and packets of which every overload counts."""
    return tuple(sorted(core() | composites() | {op.name for op in of_lists()}))


def database() -> list[Any]:
    """Torch's entries, those of operators over lists too."""
    from torch.testing._internal.common_methods_invocations import op_db

    return [*op_db, *of_lists()]


@cache
def of_lists() -> tuple[Any, ...]:
    """The entries of operators that do for each tensor of a list what another one does for one."""
    from torch.testing._internal import common_methods_invocations as invocations

    kinds = ("unary", "binary", "pointwise", "reduce", "other")
    return tuple(op for kind in kinds for op in getattr(invocations, f"foreach_{kind}_op_db"))


@cache
def bases() -> frozenset[str]:
    """The names of packets of which something is in scope."""
    return frozenset(name.partition(".")[0] for name in entries())


@cache
def holds(overload: str) -> bool:
    """Whether an overload is in scope, or is the in-place or ``out`` form of one."""
    base = overload.partition(".")[0]
    return base in bases() or base.removesuffix("_") in bases()


def base_of(overload: str) -> str:
    """The name by which the overload is counted: that of its packet, without the sign of in-place forms."""
    base = overload.partition(".")[0]
    return base if base.startswith("__") else base.removesuffix("_")


def aten_name(op: Any) -> str | None:
    """The packet that an entry of the database is about, if there is one."""
    for name in (op.aten_name, op.name.rpartition(".")[2], op.name.replace(".", "_")):
        if name is not None and hasattr(torch.ops.aten, name):
            return str(name)
    return None


def drivers(database: list[Any]) -> Iterator[Any]:
    """The entries of the database that exercise something in scope."""
    for op in database:
        name = aten_name(op)
        if (name is not None and name in bases()) or op.name in words(DRIVERS):
            yield op
