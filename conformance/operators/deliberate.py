"""The differences from torch that were decided on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import convert
import matrices
import scope
import torch
from compare import Difference, Leaf, Outcome
from record import Call


@dataclass(frozen=True)
class Rule:
    name: str
    reason: str
    """What torch does, what opgrid does instead, and why."""
    test: str
    """The test of opgrid's that shows it."""
    explains: Callable[[Call, Outcome, Difference], bool]


PLACES: dict[str, tuple[str, ...]] = {
    "argsort": ("result:",),
    **dict.fromkeys(("sort", "topk", "kthvalue", "median.dim", "nanmedian.dim"), ("result[1]:",)),
    "sort.values": ("result[1]:", "argument 2 after"),
    "topk.values": ("result[1]:", "argument 2 after"),
    "kthvalue.values": ("result[1]:", "argument 2 after"),
    "median.dim_values": ("result[1]:", "argument 2 after"),
    "nanmedian.dim_values": ("result[1]:", "argument 2 after"),
}
"""Where operators say from which places elements come; what those elements are is compared as everywhere."""


def ends_before_all_indices(call: Call) -> bool:
    """Whether the last offset of a call of ``embedding_bag`` is included and leaves indices over."""
    arguments = convert.for_torch(call.arguments)
    _, indices, offsets, *rest = arguments.args
    includes = rest[4] if len(rest) > 4 else arguments.kwargs.get("include_last_offset", False)
    return bool(includes) and int(offsets[-1]) < indices.numel()


def within_rounding(call: Call, outcome: Outcome) -> bool:
    """Whether a convolution of complex64 is as near to that of complex128 as four roundings of the sum of all sizes allow."""
    given = convert.for_torch(convert.in_double(call.arguments))
    sizes = convert.rebuilt(given.args, lambda value: value.abs() if isinstance(value, torch.Tensor) else value)
    overload, found = scope.overload_of(call.overload), outcome.ours.value if outcome.ours is not None else None
    if overload is None or not isinstance(found, Leaf) or found.dtype != "complex64" or found.values is None:
        return False
    off = (found.values.to(torch.complex128) - overload(*given.args, **given.kwargs)).abs()
    return bool((off <= overload(*sizes, **given.kwargs) * 4 * torch.finfo(torch.float32).eps).all())


def rounds_once(call: Call, outcome: Outcome) -> bool:
    """Whether each sum of 16-bit floats and multiples by ``alpha`` of others has been rounded once, after ``alpha`` itself."""
    given = convert.for_torch(call.arguments)
    if outcome.ours is None or len(given.args) < 2 or not all(isinstance(given.args[place], list) for place in (0, 1)):
        return False
    found = outcome.ours.value if outcome.ours.value is not None else outcome.ours.after[: len(given.args[0])]
    combine = torch.sub if "_sub" in call.overload else torch.add
    for one, other, leaf in zip(given.args[0], given.args[1], found, strict=True):
        if one.dtype not in (torch.float16, torch.bfloat16) or not isinstance(leaf, Leaf) or leaf.values is None:
            return False
        alpha = torch.tensor(given.kwargs.get("alpha", 1), dtype=one.dtype).item()
        if not torch.equal(combine(one.float(), other.float(), alpha=alpha).to(one.dtype), leaf.values):
            return False
    return True


RULES: tuple[Rule, ...] = (
    Rule(
        name="nearer-to-the-exact-result",
        reason=(
            "torch rounds between the steps of a computation in 16 and 32 bits; opgrid rounds less often or elsewhere, and each element "
            "that differs is at least as near to the result in double precision"
        ),
        test="conformance/operators/test_comparison.py test_what_is_nearer_to_the_exact_result_is_wanted",
        explains=lambda call, outcome, difference: outcome.nearer and difference.kind in ("value", "argument"),
    ),
    Rule(
        name="exponentials-of-matrices-have-no-16-bit-floats",
        reason=(
            "torch's exponentials of matrices of 16-bit floats are wrong, that of the unit matrix is -1.3e30; here these dtypes are refused, "
            "as for all factorizations"
        ),
        test="opgrid-operators/tests/all/linalg.rs exponentials_of_matrices_have_no_16_bit_floats",
        explains=lambda call, outcome, difference: (
            call.overload.partition(".")[0] in ("matrix_exp", "linalg_matrix_exp")
            and difference.kind == "refuses"
            and "float16, expected float32" in difference.text
        ),
    ),
    Rule(
        name="bessel-functions-have-all-digits",
        reason=(
            "torch's bessel_j0 and bessel_y1 of float64 have errors of up to 4e-7 for numbers above 5; here they have all digits, so that "
            "float64 is worth its width"
        ),
        test="opgrid-special/tests/accuracy.rs bessel_functions_have_all_digits",
        explains=lambda call, outcome, difference: (
            difference.kind in ("value", "argument") and call.overload.partition(".")[0] in ("special_bessel_j0", "special_bessel_y1")
        ),
    ),
    Rule(
        name="poles-of-the-trigamma-function",
        reason=(
            "torch returns large numbers for polygamma(1, x) at negative integers, where the sine of a multiple of pi is rounded; here they "
            "are infinite, as the function is and as those of higher orders are"
        ),
        test="opgrid-special/tests/accuracy.rs poles_of_the_trigamma_function_are_infinite",
        explains=lambda call, outcome, difference: (
            difference.kind in ("value", "argument")
            and call.overload.partition(".")[0] in ("polygamma", "polygamma_", "special_polygamma")
            and "opgrid inf" in difference.text
        ),
    ),
    Rule(
        name="averages-of-complex-numbers-are-complex",
        reason=(
            "torch writes averages of complex numbers to real outputs, which lose the imaginary parts; here that is refused, because "
            "nothing is lost silently"
        ),
        test="opgrid-operators/tests/all/differences/computed.rs averages_of_complex_numbers_are_complex",
        explains=lambda call, outcome, difference: (
            difference.kind == "refuses"
            and call.overload.startswith("mean.")
            and "result type complex" in difference.text
        ),
    ),
    Rule(
        name="logarithms-of-complex-sums-are-complex",
        reason=(
            "torch writes logsumexp of complex numbers to real outputs, which lose the imaginary parts; here that is refused, because "
            "nothing is lost silently"
        ),
        test="opgrid-operators/tests/all/differences/numbers.rs logarithms_of_complex_sums_are_complex",
        explains=lambda call, outcome, difference: (
            difference.kind == "refuses"
            and call.overload == "logsumexp.out"
            and "result type complex" in difference.text
        ),
    ),
    Rule(
        name="spreads-of-16-bit-floats-in-wider-outputs",
        reason=(
            "torch has no variance of 16-bit floats of all elements if the output is wider, though it has it over some dimensions; here "
            "an output can be wider wherever results can be converted"
        ),
        test="opgrid-operators/tests/all/differences/outputs.rs spreads_of_halves_are_written_to_wider_outputs",
        explains=lambda call, outcome, difference: (
            difference.kind == "accepts"
            and call.overload in ("var.out", "var.correction_out", "std.out", "std.correction_out")
            and "std_var_all: Unsupported dtype" in difference.text
        ),
    ),
    Rule(
        name="places-of-equal-elements",
        reason=(
            "torch says nothing of where equal elements come from if it is not asked for a stable order; here they keep their order, so "
            "that results depend on the elements only"
        ),
        test="opgrid-operators/tests/all/differences/numbers.rs equal_elements_keep_their_order",
        explains=lambda call, outcome, difference: (
            difference.kind in ("value", "argument")
            and call.overload in PLACES
            and difference.text.startswith(PLACES[call.overload])
        ),
    ),
    Rule(
        name="complex-of-16-bit-floats",
        reason=(
            "torch promotes complex numbers beside 16-bit floats to a complex dtype of 16 bits, whose range results leave; here they are "
            "complex64"
        ),
        test="opgrid-operators/tests/turns/promotion.rs every_category_under_every_default",
        explains=lambda call, outcome, difference: (
            difference.kind in ("dtype", "argument") and "complex32, opgrid complex64" in difference.text
        ),
    ),
    Rule(
        name="outputs-of-any-strides-are-written",
        reason=(
            "torch writes averages of images with depth, and copies of parts, to the wrong places of an output that does not lie in rows; here "
            "to the output's elements, because elements must not be lost"
        ),
        test="opgrid-operators/tests/all/differences/outputs.rs outputs_of_any_strides_are_written",
        explains=lambda call, outcome, difference: (
            call.overload in ("avg_pool3d.out", "narrow_copy.out") and difference.kind in ("value", "argument")
        ),
    ),
    Rule(
        name="multiples-of-lists-are-rounded-once",
        reason=(
            "torch rounds a sum of a 16-bit float and a multiple of another one twice where elements fill no vector of the processor, and once "
            "elsewhere; here it is rounded once wherever it lies"
        ),
        test="conformance/operators/test_comparison.py test_multiples_of_lists_are_rounded_once",
        explains=lambda call, outcome, difference: (
            call.overload.startswith(("_foreach_add", "_foreach_sub"))
            and difference.kind in ("value", "argument")
            and rounds_once(call, outcome)
        ),
    ),
    Rule(
        name="empty-outputs-among-inputs",
        reason=(
            "torch gives an output without elements its shape before it looks at the inputs, of which it may be one, and refuses it; "
            "here they are looked at first, and what has no elements shares none"
        ),
        test="opgrid-operators/tests/all/differences/outputs.rs what_has_no_elements_shares_none",
        explains=lambda call, outcome, difference: (
            difference.kind == "accepts"
            and call.overload in ("cat.out", "stack.out")
            and "refer to a single memory location" in difference.text
            and any(0 in tensor.size for tensor in call.arguments.tensors())
        ),
    ),
    Rule(
        name="products-are-written-to-any-strides",
        reason=(
            "torch gives outputs of matmul and linear other strides, or refuses them, by the path that a product takes; an output of the right shape "
            "can hold the result, and is written where it lies"
        ),
        test="opgrid-operators/tests/all/differences/outputs.rs products_into_their_own_factors",
        explains=lambda call, outcome, difference: (
            call.overload in ("matmul.out", "linear.out")
            and (
                difference.kind in ("stride", "argument")
                or difference.kind == "accepts"
                and any(words in difference.text for words in ("must match the size of tensor", "match the broadcast shape"))
            )
        ),
    ),
    Rule(
        name="sums-of-products-in-place-keep-their-shape",
        reason=(
            "torch's addbmm_ gives self the shape of the product if self is stretched to it; here that is refused, as torch's addmm_, "
            "addmv_ and baddbmm_ do, because nothing in place changes a shape"
        ),
        test="opgrid-operators/tests/all/differences/outputs.rs sums_of_products_in_place_keep_their_shape",
        explains=lambda call, outcome, difference: (
            call.overload == "addbmm_" and difference.kind == "refuses" and "which doesn't match the result's shape" in difference.text
        ),
    ),
    Rule(
        name="the-last-offset-ends-a-bag",
        reason=(
            "torch looks at the last of the offsets that include it only for some sums and averages; elsewhere, and where it counts the "
            "elements of bags, it takes all indices that are left. Here it ends the last bag everywhere"
        ),
        test="opgrid-operators/tests/all/differences/numbers.rs the_last_offset_ends_a_bag",
        explains=lambda call, outcome, difference: (
            call.overload in ("_embedding_bag", "_embedding_bag_forward_only", "embedding_bag")
            and difference.kind == "value"
            and ends_before_all_indices(call)
        ),
    ),
    Rule(
        name="sums-of-complex-products-round-elsewhere",
        reason=(
            "torch makes three real convolutions of one of complex numbers, so that sums are rounded elsewhere; here each element is as near "
            "to the result in double precision as four roundings of the sum of its products' sizes allow"
        ),
        test="conformance/operators/test_comparison.py test_rounding_of_complex_convolutions_has_a_bound",
        explains=lambda call, outcome, difference: (
            call.overload.startswith("conv") and difference.kind == "value" and within_rounding(call, outcome)
        ),
    ),
    Rule(
        name="outputs-of-random-numbers-get-their-shape",
        reason=(
            "torch leaves an output without elements empty if the means are one number for all, and refuses it otherwise; here it gets the "
            "shape of the result, as with all other operators, and in torch where the deviations are a tensor"
        ),
        test="opgrid-operators/tests/all/differences/outputs.rs an_output_that_gets_a_shape_gets_memory",
        explains=lambda call, outcome, difference: (
            call.overload == "normal.Tensor_float_out"
            and (
                difference.kind in ("size", "argument") and "torch [0]" in difference.text
                or difference.kind == "accepts" and "(0) at non-singleton dimension" in difference.text
            )
        ),
    ),
    Rule(
        name="conjugates-are-computed",
        reason=(
            "torch gives a view with a mark of a complex tensor, of which each operator has to ask; here a new tensor has the conjugates"
        ),
        test="opgrid-operators/tests/all/differences/computed.rs conjugates_are_computed",
        explains=lambda call, outcome, difference: call.overload in ("conj", "_conj", "mH", "adjoint", "matrix_H") and difference.kind == "alias",
    ),
    Rule(
        name="factorizations-are-one-of-several",
        reason=(
            "vectors may be multiplied by a number of absolute value 1, and rounding decides which of two equal elements becomes a pivot; "
            "results that multiply to the matrix are as good as torch's"
        ),
        test="opgrid-operators/tests/all/linalg.rs vectors_and_values_multiply_to_the_matrix",
        explains=lambda call, outcome, difference: (
            difference.kind in ("value", "argument") and matrices.is_factorization(call, outcome)
        ),
    ),
    Rule(
        name="states-that-no-alignment-is-in",
        reason=(
            "torch leaves memory as it was for states that no alignment of a sequence is in; here they have the logarithm of the probability zero, "
            "so that results do not depend on memory"
        ),
        test="opgrid-operators/tests/all/losses.rs states_that_no_alignment_is_in_are_impossible",
        explains=lambda call, outcome, difference: (
            call.overload in ("_ctc_loss", "_ctc_loss.Tensor")
            and difference.kind == "value"
            and difference.text.startswith("result[1]:")
            and "opgrid -inf" in difference.text
        ),
    ),
    Rule(
        name="no-complex-numbers-of-16-bits",
        reason="torch has complex dtypes of two 16-bit floats, of which few operators take any; here there are none",
        test="opgrid-operators/tests/all/differences/refused.rs no_complex_numbers_have_parts_of_16_bits",
        explains=lambda call, outcome, difference: (
            call.overload == "view_as_complex" and difference.kind == "refuses" and "complex32" in difference.text
        ),
    ),
)


def rule_for(call: Call, outcome: Outcome, difference: Difference) -> str | None:
    """The name of the rule that explains a difference."""
    return next((rule.name for rule in RULES if rule.explains(call, outcome, difference)), None)
