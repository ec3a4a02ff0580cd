//! Kernels, such as those of gradients, that torch's own functions call with arguments that they have checked or made.

use crate::differences::{DIED, Operand, Seen};
use crate::{Difference, Part};

/// The differences from torch that come of what such kernels take for granted.
pub const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "arguments-of-kernels-are-checked",
        what: "torch's kernels of these gradients take the shapes and dtypes of gradients and saved \
             results for granted, broadcast them or read beyond them; here those that do not belong \
             together are rejected",
        why: "out-of-bounds reads are never allowed, and a mistake would go unnoticed",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "arguments_of_kernels_are_checked"),
        when: |seen| {
            let is_such = matches!(
                seen.family(),
                "_cdist_backward"
                    | "_ctc_loss_backward"
                    | "_pdist_backward"
                    | "_scaled_dot_product_flash_attention_for_cpu_backward"
                    | "_weight_norm_interface"
                    | "adaptive_max_pool2d_backward"
                    | "adaptive_max_pool3d_backward"
                    | "binary_cross_entropy_backward"
                    | "diagonal_backward"
                    | "fractional_max_pool2d_backward"
                    | "fractional_max_pool3d_backward"
                    | "glu_backward_jvp"
                    | "max_pool3d_with_indices_backward"
                    | "multilabel_margin_loss_backward"
                    | "slice_backward"
            );
            let is_of_shape = is_such && seen.we_refuse("has shape");
            let is_odd = seen.family() == "glu_jvp" && seen.we_refuse("expected an even size");
            let is_converted = matches!(
                seen.family(),
                "reflection_pad2d_backward"
                    | "reflection_pad3d_backward"
                    | "replication_pad2d_backward"
                    | "replication_pad3d_backward"
            ) && (seen.we_refuse("as `self`; convert")
                || seen.we_refuse("expected a numeric dtype"));
            is_of_shape || is_odd || is_converted
        },
        directed: None,
    },
    Difference {
        id: "kernels-take-any-strides",
        what: "torch's kernels of these operators require rows, or views of their arguments; here \
             arguments may have any strides",
        why: "whether a call is valid must not depend on strides",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "kernels_take_any_strides"),
        when: |seen| {
            let is_such = matches!(
                seen.family(),
                "_embedding_bag_backward"
                    | "_embedding_bag_dense_backward"
                    | "_embedding_bag_per_sample_weights_backward"
                    | "_foreach_addcdiv"
                    | "_foreach_addcmul"
                    | "_weight_norm_differentiable_backward"
                    | "_weight_norm_interface_backward"
                    | "conv_tbc"
                    | "max_unpool3d"
                    | "nll_loss2d_backward"
            );
            let words = [
                "must be contiguous",
                "to be contiguous",
                "contiguous tensor",
                "view size is not compatible",
            ];
            is_such && words.iter().any(|words| seen.torch_refuses(words)) && is_any_apart(seen)
        },
        directed: None,
    },
    Difference {
        id: "kernels-keep-to-strides",
        what: "torch's kernels of these operators read and write some of their arguments as if they lay \
             in rows, also beyond their memory; here every element is where its strides say",
        why: "results must not depend on strides",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "kernels_keep_to_strides"),
        when: |seen| {
            let is_such = matches!(
                seen.family(),
                "_embedding_bag_dense_backward"
                    | "_embedding_bag_per_sample_weights_backward"
                    | "_scaled_dot_product_flash_attention_for_cpu_backward"
                    | "_weight_norm_interface"
                    | "_weight_norm_interface_backward"
                    | "adaptive_max_pool3d_backward"
                    | "batch_norm_backward"
                    | "fractional_max_pool2d"
                    | "fractional_max_pool2d_backward"
                    | "fractional_max_pool3d"
                    | "fractional_max_pool3d_backward"
                    | "linalg_ldl_solve"
                    | "max_pool3d_with_indices_backward"
                    | "rrelu_with_noise"
                    | "rrelu_with_noise_functional"
            );
            let is_elsewhere = !seen.elements.is_empty()
                || seen.torch_refuses(DIED)
                || seen.torch_refuses("INTERNAL ASSERT FAILED");
            is_such && is_elsewhere && is_any_apart(seen)
        },
        directed: None,
    },
    Difference {
        id: "gradients-lie-as-inputs-do",
        what: "torch decides for each of these gradients by itself whether it lies in rows, and otherwise \
             for its `out` form; here one rule holds, which takes the memory format of the inputs",
        why: "all operators behave alike",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "gradients_lie_as_inputs_do"),
        when: |seen| {
            let is_such = matches!(
                seen.family(),
                "_dirichlet_grad"
                    | "_scaled_dot_product_flash_attention_for_cpu_backward"
                    | "_weight_norm"
                    | "_weight_norm_interface"
                    | "_weight_norm_interface_backward"
                    | "adaptive_max_pool2d_backward"
                    | "adaptive_max_pool3d_backward"
                    | "batch_norm_backward"
                    | "cumprod_backward"
                    | "glu_jvp"
                    | "log_sigmoid_backward"
                    | "masked_select_backward"
                    | "max_pool3d_with_indices_backward"
                    | "mse_loss_backward"
                    | "reflection_pad2d_backward"
                    | "reflection_pad3d_backward"
                    | "replication_pad2d_backward"
                    | "replication_pad3d_backward"
            );
            is_such && seen.are_both_dense()
        },
        directed: None,
    },
    Difference {
        id: "gradients-of-integers-are-refused",
        what: "torch computes these gradients for integers, bools or complex numbers where the formula \
             happens to need no division; here the dtypes are those of the functions that they belong to",
        why: "whether a call is valid must not depend on sizes or elements",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "gradients_of_integers_are_refused"),
        when: |seen| {
            let is_such = matches!(
                seen.family(),
                "cumprod_backward" | "glu_backward_jvp" | "rrelu_with_noise_backward"
            );
            is_such && seen.we_refuse("expected a floating-point")
        },
        directed: None,
    },
    Difference {
        id: "saved-indices-are-checked",
        what: "torch's kernels for gradients of bags take int64 rows of indices only, and do not check them; here \
             int32 is accepted as in `_embedding_bag`, and indices out of bounds are rejected",
        why: "out-of-bounds reads are never allowed",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "saved_indices_are_checked"),
        when: |seen| {
            let is_such = matches!(
                seen.family(),
                "_embedding_bag_backward"
                    | "_embedding_bag_dense_backward"
                    | "_embedding_bag_per_sample_weights_backward"
            );
            let is_checked = seen.we_refuse("out of bounds") || seen.we_refuse("argument `");
            is_such && (is_checked || seen.torch_refuses("expected scalar type Long"))
        },
        directed: None,
    },
    Difference {
        id: "windows-of-one-are-checked",
        what: "torch does not check the dtype of a window of one element; here windows are real",
        why: "whether a call is valid must not depend on sizes or elements",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "windows_of_one_are_checked"),
        when: |seen| {
            let is_such = matches!(
                seen.family(),
                "bartlett_window" | "blackman_window" | "hamming_window" | "hann_window" | "kaiser_window"
            );
            let is_one = seen.number("window_length").is_some_and(|length| length.to_complex().re == 1.0);
            is_such && is_one && seen.we_refuse("expected a real floating-point one")
        },
        directed: None,
    },
    Difference {
        id: "results-without-elements-are-new",
        what: "torch returns an argument, or a view of it, where there are no elements, though the schema says \
             that the result is new; here it is new",
        why: "whether memory is shared must not depend on sizes",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "results_without_elements_are_new"),
        when: |seen| {
            let is_such = matches!(seen.family(), "cummaxmin_backward" | "native_channel_shuffle");
            let is_elsewhere = matches!(seen.part, Part::Identity | Part::Offset | Part::Strides);
            is_such && is_elsewhere && seen.inputs().first().is_some_and(|input| input.is_empty())
        },
        directed: None,
    },
    Difference {
        id: "paths-end-with-their-sequences",
        what: "torch leaves the logarithms of paths behind the end of a sequence unwritten; here they are those \
             of zero",
        why: "results must not be uninitialized memory",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "paths_end_with_their_sequences"),
        when: |seen| seen.family() == "_ctc_loss" && seen.each(|(_, ours, _)| ours.re == f64::NEG_INFINITY),
        directed: None,
    },
    Difference {
        id: "masks-of-other-dtypes",
        what: "torch scatters the gradient of `masked_select` only into a tensor of its dtype; here the gradient's dtype \
             decides",
        why: "only the shape of the input matters",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "kernels_take_what_functions_take"),
        when: |seen| {
            seen.family() == "masked_select_backward"
                && seen.torch_refuses("expected self and source to have same dtypes")
        },
        directed: None,
    },
    Difference {
        id: "sizes-are-integers",
        what: "torch accepts numbers with a fraction where a size is to be constrained, and negative sizes of \
             gradients; here both are rejected",
        why: "the mistake would go unnoticed",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "sizes_are_integers"),
        when: |seen| match seen.family() {
            "sym_constrain_range" | "sym_constrain_range_for_size" => seen.we_refuse("expected an integer"),
            "masked_scatter_backward" => seen.we_refuse("negative dimension"),
            _ => false,
        },
        directed: None,
    },
    Difference {
        id: "copies-of-lists-have-no-gaps",
        what: "torch's `_foreach_copy` copies the gaps of the tensors and their offsets as well; here the copies lie as \
             those of `copy` do",
        why: "all operators behave alike",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "copies_of_lists_have_no_gaps"),
        when: |seen| seen.family() == "_foreach_copy" && matches!(seen.part, Part::Strides | Part::Offset),
        directed: None,
    },
    Difference {
        id: "ranges-of-integers-by-fractions",
        what: "torch truncates the bounds and the step of a range of integers, so that the step may become zero, by which it \
             divides; here the number of elements is that of the given numbers",
        why: "data must not crash the process",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "ranges_of_integers_by_fractions"),
        when: |seen| {
            let has_fraction = |number: opgrid_core::Scalar| number.to_complex().re.fract() != 0.0;
            let is_met = seen.torch_refuses(DIED) || !seen.elements.is_empty() || seen.part == Part::Sizes;
            seen.family() == "range" && is_met && seen.numbers().any(has_fraction)
        },
        directed: None,
    },
    Difference {
        id: "losses-of-nothing",
        what: "torch leaves the loss of no elements, or its gradient, unwritten, and outputs of such gradients without a \
             shape; here the mean of nothing is NaN, and outputs get their shape",
        why: "results must not be uninitialized memory",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "losses_of_nothing"),
        when: |seen| {
            let is_met = !seen.elements.is_empty() || matches!(seen.part, Part::Sizes | Part::Strides);
            let is_such = matches!(
                seen.family(),
                "binary_cross_entropy_backward" | "multi_margin_loss" | "multilabel_margin_loss"
            );
            is_such && is_met && seen.tensors().iter().any(|(_, tensor)| tensor.is_empty())
        },
        directed: None,
    },
    Difference {
        id: "outputs-of-these-have-the-dtype",
        what: "torch converts the results of these operators to outputs of other dtypes; here the output has the dtype of the \
             result",
        why: "gradients keep the dtype of what they are gradients of",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "outputs_of_gradients_have_the_dtype"),
        when: |seen| {
            let is_such = matches!(
                seen.family(),
                "linalg_eig" | "mse_loss_backward" | "multi_margin_loss" | "soft_margin_loss_backward"
            );
            is_such && seen.we_refuse("argument `out` has dtype")
        },
        directed: None,
    },
    Difference {
        id: "factors-of-determinants",
        what: "torch factorizes the transpose of a matrix in rows for its determinant, and returns those factors; here they are \
             the matrix's own",
        why: "results must not depend on strides",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "factors_of_determinants"),
        when: |seen| {
            // There is one determinant for each matrix, and there are more factors and pivots.
            let compared = seen.ours.split(' ').nth(2).and_then(|count| count.parse::<i64>().ok());
            let of = |input: &Operand| -> i64 { input.geometry.sizes().iter().rev().skip(2).product() };
            let matrices = seen.inputs().first().map(|input| of(input));
            let is_such = matches!(seen.family(), "_linalg_det" | "_linalg_slogdet");
            is_such && !seen.elements.is_empty() && compared > matrices
        },
        directed: None,
    },
    Difference {
        id: "reflections-of-right-factors",
        what: "torch compares the number of reflections with a size of the other matrix that has nothing to do with it, \
             and rejects valid calls; here it is compared with the matrix of reflections",
        why: "the product is defined",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "kernels_take_what_functions_take"),
        when: |seen| seen.family() == "ormqr" && seen.torch_refuses("must be equal to min(other.shape"),
        directed: None,
    },
];

/// Whether one of the tensors does not lie in rows.
fn is_any_apart(seen: &Seen<'_>) -> bool {
    seen.tensors().iter().any(|(_, tensor)| !Operand::lies_in_rows(tensor))
}
