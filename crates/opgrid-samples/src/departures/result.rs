//! Results, and outputs that take them.

use opgrid_core::DType;

use crate::differences::DIED;
use crate::{Difference, Directed, Operand, Part};
use opgrid_tensor::families::kind;

/// The differences from torch that come of it.
pub const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "outputs-keep-their-shape",
        what: "torch resizes an output of another shape, with a warning; here it is rejected unless it \
             is empty",
        why: "other references to the tensor would change",
        test: ("opgrid-operators/tests/all/views.rs", "outputs_beside_their_inputs"),
        when: |seen| {
            let is_refused = |out: &Operand| {
                let shape =
                    format!("has shape {:?}, which doesn't match the result's shape", out.geometry.sizes());
                !out.is_empty() && seen.we_refuse(&shape)
            };
            seen.outs().any(is_refused)
        },
        directed: None,
    },
    Difference {
        id: "outputs-that-get-a-shape-get-memory",
        what: "torch enlarges the storage of an empty output, as `resize_` does for every tensor; here \
             both get new memory",
        why: "other views of the memory stay valid",
        test: (
            "opgrid-operators/tests/all/differences/outputs.rs",
            "an_output_that_gets_a_shape_gets_memory",
        ),
        when: |seen| {
            // Outputs that grow in one memory overlap there.
            let growing = || seen.outs().filter(|out| out.is_empty());
            let is_one = growing()
                .enumerate()
                .any(|(at, out)| growing().take(at).any(|before| before.memory == out.memory));
            let is_such = seen.part == Part::Written
                || seen.begins_memory_here()
                || is_one && seen.part == Part::Values;
            is_such && growing().next().is_some()
        },
        directed: None,
    },
    Difference {
        id: "refused-without-elements",
        what: "torch does not check dtypes and numbers if there are no elements; here a call is \
             rejected whatever the sizes are",
        why: "whether a call is valid must not depend on sizes or elements",
        test: (
            "opgrid-operators/tests/all/differences/refused.rs",
            "what_is_refused_with_elements_is_refused_without",
        ),
        when: |seen| seen.we_refuse("") && seen.torch_gives_nothing(),
        directed: None,
    },
    Difference {
        id: "outputs-that-get-a-shape-get-an-order",
        what: "torch copies results of composite operators to an empty output, so that the output is \
             row-major; here it gets the memory format of the inputs, as in all other operators",
        why: "all operators behave alike",
        test: (
            "opgrid-operators/tests/all/differences/outputs.rs",
            "an_output_that_gets_a_shape_gets_memory",
        ),
        when: |seen| seen.outs().any(Operand::is_empty) && seen.lies_in_rows_there(),
        directed: None,
    },
    Difference {
        id: "outputs-of-other-dtypes",
        what: "torch requires exactly the result's dtype for outputs of composite operators; here \
             outputs of every operator accept results that convert to them",
        why: "all operators behave alike",
        test: ("opgrid-operators/tests/all/differences/outputs.rs", "outputs_take_what_converts_to_them"),
        when: |seen| {
            let is_other = |out: &Operand| seen.tensor("self").is_some_and(|input| input.dtype != out.dtype);
            let words = ["Found dtype", "expected scalar type"];
            seen.torch_refuses("Expected out tensor to have dtype")
                || seen.outs().any(is_other) && words.iter().any(|words| seen.torch_refuses(words))
        },
        directed: None,
    },
    Difference {
        id: "outputs-of-any-strides-are-written",
        what: "torch writes the results of some operators to an output as if it were row-major, or in \
             the memory format of the input; here every element is written at its position",
        why: "elements must not be lost or overwritten",
        test: ("opgrid-operators/tests/all/differences/outputs.rs", "outputs_of_any_strides_are_written"),
        when: |seen| {
            let is_such = matches!(
                seen.family(),
                "adaptive_avg_pool3d"
                    | "adaptive_max_pool3d"
                    | "avg_pool3d"
                    | "avg_pool3d_backward"
                    | "avg_pool2d_backward"
                    | "fft_fftfreq"
                    | "fft_rfftfreq"
                    | "im2col"
                    | "col2im"
                    | "kthvalue"
                    | "median"
                    | "mode"
                    | "nanmedian"
                    | "tril"
                    | "triu"
                    | "_softmax"
                    | "_log_softmax"
                    | "_softmax_backward_data"
                    | "_log_softmax_backward_data"
                    | "upsample_bicubic2d"
                    | "upsample_bilinear2d"
                    | "narrow_copy"
            );
            let is_apart = |out: &Operand| !out.is_empty() && !out.lies_in_rows();
            // By averages of others, in the order of the images.
            let lies_otherwise = |input: &Operand| {
                seen.out().is_some_and(|out| out.geometry.strides() != input.geometry.strides())
            };
            let is_normal = matches!(
                seen.family(),
                "native_batch_norm" | "_native_batch_norm_legit" | "_native_batch_norm_legit_no_training"
            );
            let is_such = is_such && seen.outs().any(is_apart)
                || is_normal && seen.tensor("input").is_some_and(lies_otherwise);
            is_such && !seen.elements.is_empty()
        },
        directed: None,
    },
    Difference {
        id: "outputs-of-images-keep-their-strides",
        what: "torch changes the strides of outputs of the right shape in some operators; here an \
             output keeps its strides",
        why: "other views of the memory stay valid",
        test: ("opgrid-operators/tests/all/differences/outputs.rs", "outputs_of_any_strides_are_written"),
        when: |seen| {
            let is_such = matches!(
                seen.family(),
                "adaptive_avg_pool2d"
                    | "col2im"
                    | "im2col"
                    | "log_sigmoid_forward"
                    | "max_pool3d_with_indices"
                    | "max_pool3d_with_indices_backward"
                    | "max_unpool2d"
                    | "reflection_pad2d"
                    | "reflection_pad2d_backward"
                    | "reflection_pad3d"
                    | "reflection_pad3d_backward"
                    | "replication_pad2d"
                    | "replication_pad2d_backward"
                    | "replication_pad3d"
                    | "replication_pad3d_backward"
            );
            is_such && matches!(seen.part, Part::Strides | Part::Written) && seen.out().is_some()
        },
        directed: None,
    },
    Difference {
        id: "strides-of-single-places",
        what: "torch leaves it to each kernel which stride a dimension of size 1 gets, or any dimension \
             of an empty tensor; here one rule holds for all operators",
        why: "such a stride reaches no element",
        test: ("opgrid-operators/tests/all/differences/layouts.rs", "strides_of_single_places"),
        when: |seen| {
            // Pointwise operators and views have rules of their own in torch, which hold here as well.
            let is_own = matches!(
                seen.family(),
                "nan_to_num"
                    | "hardtanh"
                    | "relu6"
                    | "resize_as"
                    | "resize"
                    | "angle"
                    | "_prelu_kernel"
                    | "isinf"
                    | "isnan"
                    | "rad2deg"
                    | "deg2rad"
                    | "conj_physical"
                    | "_conj_physical"
                    | "ldexp"
            );
            if !is_own && (seen.is_of_kind(&kind::POINTWISE) || seen.is_of_kind(&kind::VIEW)) {
                return false;
            }
            let is_reached = |at: usize| seen.sizes[at] > 1 && !seen.sizes.contains(&0);
            let agree = |[ours, torch]: [Vec<i64>; 2]| {
                let places = 0..seen.sizes.len();
                ours.len() == torch.len()
                    && places.into_iter().all(|at| ours[at] == torch[at] || !is_reached(at))
            };
            seen.strides().is_some_and(agree)
        },
        directed: None,
    },
    Difference {
        id: "floats-of-16-bits-everywhere",
        what: "torch has no kernel for one or both 16-bit floats in some operators; here all operators \
             on floats accept them",
        why: "one loop serves all floats",
        test: (
            "opgrid-operators/tests/all/differences/computed.rs",
            "floats_of_16_bits_are_taken_everywhere",
        ),
        when: |seen| {
            let dtypes = ["'Half'", "'BFloat16'", "dtype Half", "dtype BFloat16"];
            let lacks = |dtype: &&str| {
                seen.torch_refuses(&format!("not implemented for {dtype}"))
                    || seen.torch_refuses(&format!("Unsupported {dtype}"))
            };
            dtypes.iter().any(lacks)
        },
        directed: None,
    },
    Difference {
        id: "calls-that-end-the-process",
        what: "torch crashes with a signal in some calls; here they return results or errors",
        why: "data must not crash the process",
        test: ("opgrid-operators/tests/all/differences/computed.rs", "calls_that_end_the_process_elsewhere"),
        when: |seen| {
            let is_such = matches!(
                seen.family(),
                "_adaptive_avg_pool3d" | "adaptive_avg_pool3d" | "avg_pool3d" | "lcm"
            );
            // Written as if it lay in rows, beyond its memory.
            let is_apart = |out: &Operand| !out.lies_in_rows();
            // Read where an output without elements has been.
            let is_over_itself = |out: &Operand| {
                out.is_empty() && seen.inputs().iter().any(|input| input.memory == out.memory)
            };
            let is_read_there = seen.family() == "median" && seen.outs().any(is_over_itself);
            let is_written_in_rows =
                matches!(seen.family(), "tril" | "triu" | "upsample_bicubic2d" | "upsample_bilinear2d");
            let is_divided_by_zero = seen.family() == "_scaled_dot_product_flash_attention_for_cpu"
                && seen.inputs().iter().any(|of| of.is_empty());
            let is_such = is_such || is_read_there || is_divided_by_zero;
            let is_such = is_such || is_written_in_rows && seen.outs().any(is_apart);
            is_such && seen.torch_refuses(DIED)
        },
        directed: Some(Directed {
            operator: "aten::lcm",
            arguments: || {
                vec![
                    ("self", Operand::rows(0, DType::I64, &[1], &[i64::MIN as f64]).into()),
                    ("other", Operand::rows(1, DType::I64, &[1], &[-1.0]).into()),
                ]
            },
            needs: None,
        }),
    },
];
