//! Of Fourier transforms.

use opgrid_array::views::normalise_dim;
use opgrid_core::{Complex64, DType, Scalar};

use crate::differences::{Argument, DIED, Difference, Part};

/// The differences from torch that all transforms have.
pub const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "transforms-into-other-dtypes",
        what: "torch computes some transforms in the dtype of the output, which it then rejects \
             together with its own intermediate results; here results are converted to the output",
        why: "all outputs behave alike",
        test: ("opgrid-operators/tests/all/differences/outputs.rs", "outputs_take_what_converts_to_them"),
        when: |seen| seen.family().starts_with("fft_") && seen.torch_refuses("Found dtype"),
        directed: None,
    },
    Difference {
        id: "transforms-keep-imaginary-parts",
        what: "torch's transform kernels write to outputs of any dtype, dropping imaginary parts and \
             fractions; here that is rejected",
        why: "values must not be lost silently",
        test: ("opgrid-operators/tests/all/differences/refused.rs", "what_torch_does_not_check_is_refused"),
        when: |seen| {
            seen.family().starts_with("_fft_") && seen.we_refuse("can't be cast to the desired output type")
        },
        directed: None,
    },
    Difference {
        id: "transforms-of-conjugates-are-written",
        what: "torch returns outputs of `ihfft2` and `ihfftn` without the result if it conjugates it; \
             here it is written",
        why: "an output must hold the result",
        test: ("opgrid-operators/tests/all/differences/outputs.rs", "outputs_of_any_strides_are_written"),
        when: |seen| {
            let is_such = matches!(seen.operator, "aten::fft_ihfft2.out" | "aten::fft_ihfftn.out");
            let Some(out) = seen.out() else { return false };
            let is_left = |(_, _, torch): &(DType, Complex64, Complex64)| out.elements.contains(torch);
            let is_unwritten = match seen.part {
                Part::Sizes => seen.torch == format!("{:?}", out.geometry.sizes()),
                Part::Strides | Part::Offset => out.is_empty(),
                _ => seen.each(is_left),
            };
            is_such && is_unwritten
        },
        directed: None,
    },
    Difference {
        id: "transforms-lie-as-their-inputs",
        what: "torch decides the order of transformed dimensions by copies of tensors with repeated \
             elements; here the input itself decides",
        why: "all operators behave alike",
        test: ("opgrid-operators/tests/all/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
        when: |seen| {
            let repeats = seen.inputs().iter().any(|input| input.repeats());
            seen.family().contains("fft_") && repeats && seen.are_both_dense()
        },
        directed: None,
    },
    Difference {
        id: "transforms-along-dimensions-from-the-end",
        what: "torch's transform kernels do not support negative dimensions, which fail an internal \
             assertion, access memory out of bounds, or are ignored; here they count from the end",
        why: "all dimensions behave alike",
        test: ("opgrid-operators/tests/all/differences/layouts.rs", "transforms_by_their_kernels"),
        when: |seen| {
            let Some(Argument::Ints(dims)) = seen.argument("dim") else { return false };
            let is_met = seen.torch_refuses("") || seen.part != Part::Outcome;
            let is_met = is_met || seen.we_refuse("argument `last_dim_size` is");
            seen.family().starts_with("_fft_") && is_met && dims.iter().any(|dim| *dim < 0)
        },
        directed: None,
    },
    Difference {
        id: "normalisations-of-transforms-are-checked",
        what: "torch's transform kernels accept any number as the normalization, and then do not \
             divide; here invalid ones are rejected",
        why: "an invalid number is probably a mistake",
        test: ("opgrid-operators/tests/all/differences/refused.rs", "places_that_are_not_there"),
        when: |seen| seen.family().starts_with("_fft_") && seen.we_refuse("argument `normalization` is"),
        directed: None,
    },
    Difference {
        id: "transforms-along-dimensions-once",
        what: "torch's transform kernels accept a dimension that occurs twice; here that is rejected, \
             as in all other transforms",
        why: "transforming half a spectrum again is not meaningful",
        test: ("opgrid-operators/tests/all/differences/refused.rs", "places_that_are_not_there"),
        when: |seen| {
            let names_twice = seen.we_refuse("which names dimension") && seen.we_refuse("twice");
            seen.family().starts_with("_fft_") && names_twice
        },
        directed: None,
    },
    Difference {
        id: "more-than-half-of-a-spectrum",
        what: "torch's `_fft_c2r` fails an internal assertion, or writes out of bounds, if there are \
             more elements than half of the results; here the excess is ignored",
        why: "consistent with `fft_irfft`",
        test: ("opgrid-operators/tests/all/differences/layouts.rs", "transforms_by_their_kernels"),
        when: |seen| {
            let (Some(input), Some(Argument::Ints(dims))) = (seen.tensor("self"), seen.argument("dim"))
            else {
                return false;
            };
            let Some(Scalar::Int(size)) = seen.number("last_dim_size") else { return false };
            let last = dims.last().and_then(|dim| normalise_dim(*dim, input.geometry.dims()).ok());
            let is_met = seen.torch_refuses("INTERNAL ASSERT FAILED")
                || seen.torch_refuses(DIED)
                || matches!(seen.part, Part::Values | Part::Written);
            is_met && last.is_some_and(|last| input.geometry.sizes()[last] > size / 2 + 1)
        },
        directed: None,
    },
];
