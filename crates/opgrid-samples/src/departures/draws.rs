//! Of operators that draw random numbers.

use opgrid_tensor::families::kind;

use crate::differences::{Argument, Difference, Operand, Part};

/// The differences from torch that all operators have that draw random numbers.
pub const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "random-numbers-follow-the-memory",
        what: "torch draws the numbers of an output in a temporary first, in the order and dtype of the \
             input or in the requested format; here they are drawn in the output itself, in memory \
             order",
        why: "no temporary is needed",
        test: ("opgrid-operators/tests/all/differences/numbers.rs", "random_numbers_follow_the_memory"),
        when: |seen| {
            let is_apart = |tensor: &Operand| tensor.is_empty() || !tensor.geometry.is_contiguous();
            let inputs = seen.inputs();
            let is_other = |out: &Operand| inputs.first().is_some_and(|input| input.dtype != out.dtype);
            let is_moved =
                |out: &Operand| is_apart(out) || is_other(out) || inputs.iter().any(|input| is_apart(input));
            let is_drawn = seen.is_of_kind(&kind::RANDOM) && !seen.elements.is_empty();
            let is_asked = matches!(seen.argument("memory_format"), Some(Argument::Other));
            is_drawn && (is_asked && seen.out().is_some() || seen.outs().any(is_moved))
        },
        directed: None,
    },
    Difference {
        id: "random-integers-without-a-dtype",
        what: "torch draws floats if `randint` is given None as the dtype, and integers if no dtype is \
             given; here both give integers",
        why: "None means the default",
        test: ("opgrid-operators/tests/all/differences/numbers.rs", "random_integers_without_a_dtype"),
        when: |seen| {
            let is_none = matches!(seen.argument("dtype"), Some(Argument::None));
            seen.family() == "randint" && seen.part == Part::DType && is_none
        },
        directed: None,
    },
    Difference {
        id: "random-bits-of-complex-numbers",
        what: "torch has no complex kernel for `bernoulli`, and draws complex numbers for `dropout` in \
             an order of its own; here they are drawn like real numbers",
        why: "the random mask must not depend on the dtype",
        test: ("opgrid-operators/tests/all/differences/numbers.rs", "random_bits_of_complex_numbers"),
        when: |seen| {
            let is_complex = seen.tensors().iter().any(|(_, tensor)| tensor.dtype.is_complex());
            let refuses = seen.family() == "bernoulli" && seen.torch_refuses("not implemented for 'Complex");
            is_complex && (refuses || seen.family().ends_with("dropout") && !seen.elements.is_empty())
        },
        directed: None,
    },
    Difference {
        id: "masks-of-nothing",
        what: "torch returns the input itself and a mask of its dtype if `native_dropout` gets an empty \
             input; here a new tensor and a bool mask",
        why: "the kind of result must not depend on the number of elements",
        test: ("opgrid-operators/tests/all/differences/computed.rs", "masks_of_nothing"),
        when: |seen| {
            let is_empty = seen.tensor("input").is_some_and(Operand::is_empty);
            let is_own = matches!(seen.part, Part::Identity | Part::DType | Part::Offset);
            seen.family() == "native_dropout" && is_empty && is_own
        },
        directed: None,
    },
    Difference {
        id: "numbers-of-one-normal",
        what: "torch leaves an empty output unchanged if `normal` gets a mean or deviation of one \
             element, and rejects it if that has several; here it gets their shape",
        why: "an output must hold the result",
        test: ("opgrid-operators/tests/all/differences/outputs.rs", "outputs_of_any_strides_are_written"),
        when: |seen| {
            let is_layout = matches!(seen.part, Part::Sizes | Part::Strides | Part::Offset);
            let is_normal = seen.family() == "normal" && seen.outs().any(Operand::is_empty);
            // Of those with dimensions it refuses what it has not enlarged.
            let is_refused = seen.torch_refuses("must match the size of tensor b");
            is_normal && (is_refused || is_layout)
        },
        directed: None,
    },
    Difference {
        id: "means-beyond-the-range",
        what: "torch rejects means that overflow the dtype of the deviations; here the results are \
             infinite, like other sums",
        why: "all sums behave alike",
        test: ("opgrid-operators/tests/all/differences/computed.rs", "means_beyond_the_range"),
        when: |seen| seen.family() == "normal" && seen.torch_refuses("without overflow"),
        directed: None,
    },
    Difference {
        id: "random-bits-lie-as-their-input",
        what: "torch returns some random bits in row-major order, and draws them so; here they have the \
             memory format of the input",
        why: "all operators behave alike",
        test: ("opgrid-operators/tests/all/differences/numbers.rs", "random_numbers_follow_the_memory"),
        when: |seen| {
            let is_apart = seen.tensor("self").is_some_and(|input| !input.geometry.is_contiguous());
            let is_drawn = seen.part == Part::Values && is_apart && seen.out().is_none();
            seen.family() == "bernoulli" && (seen.lies_in_rows_there() || is_drawn)
        },
        directed: None,
    },
];
