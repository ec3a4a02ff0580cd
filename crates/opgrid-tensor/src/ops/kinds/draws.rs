//! What operators share that draw random numbers for every element: shape rules, filling, samples.

use opgrid_core::{DType, Generator, MemoryFormat, Result};

use crate::error::argument;
use crate::families::result::{check_result, give_shape};
use crate::kernels::elementwise;
use crate::kernels::random::{self, Random};
use crate::tensor::choose::unsupported;
use crate::tensor::{Array, Element, Tensor, TensorSpec};

/// A tensor like the input, with another content. It lies as the input does where that has no gaps.
pub(crate) fn like(input: &Tensor) -> Result<TensorSpec> {
    let spec = input.spec()?;
    TensorSpec::elementwise(&[spec.geometry()], spec.dtype(), spec.device())
}

/// The same for floats only.
///
/// # Errors
///
/// Another dtype.
pub(crate) fn like_floats(input: &Tensor) -> Result<TensorSpec> {
    match input.spec()?.dtype() {
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 => like(input),
        other => Err(unsupported(other, "a floating-point dtype")),
    }
}

/// # Errors
///
/// An argument that is not above zero.
pub(crate) fn check_positive(name: &str, value: f64) -> Result<()> {
    match value > 0.0 {
        true => Ok(()),
        false => Err(argument(format!("argument `{name}` is {value}, expected a number above zero"))),
    }
}

/// Fills `out` with numbers that are drawn one by one, in the order in which its elements lie in memory.
///
/// # Errors
///
/// A generator of another library; no memory.
pub(crate) fn fill<T: Element>(
    out: &Tensor,
    generator: Option<&Generator>,
    mut number: impl FnMut(&mut Random) -> T,
) -> Result<()> {
    let n = out.numel();
    let drawn = random::draw(generator, |random| (0..n).map(|_| number(random)).collect::<Vec<T>>())?;
    elementwise::copy(out, &Array::from_slice(&drawn, &[n])?.view(random::order(out)?)?)
}

/// Gives an output the shape of `input`, in the order of `format`, if it has no elements.
///
/// # Errors
///
/// An output of another shape or dtype, or that repeats elements; a format for another number of dimensions.
pub(crate) fn shaped(input: &Tensor, format: Option<MemoryFormat>, out: &Tensor) -> Result<()> {
    let spec = like(input)?;
    let spec = match format {
        None => spec,
        Some(format) => spec.with_geometry(spec.geometry().like(format)?),
    };
    check_result(out, &TensorSpec::new(spec.geometry().clone(), out.dtype(), spec.device()))?;
    give_shape(out, &spec)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_core::Operator;

    use super::*;
    use crate::families::kind;
    use crate::samples::OperatorSamples;
    use crate::samples::prelude::*;

    /// Tensors of some shapes, with what stands behind them.
    pub(crate) fn tensors(dtype: DType, more: impl Fn(Sample) -> Sample) -> Vec<Sample> {
        let shapes: [&[i64]; 4] = [&[2000], &[40, 50], &[0], &[]];
        shapes.map(|sizes| more(given(make::numbers(dtype, sizes, 0)))).to_vec()
    }

    /// Samples of the overloads that make a tensor and fill one; `distribution` is that of the elements.
    pub(crate) fn collect<'a, F: Operator, I: Operator>(
        samples: &'a mut Samples,
        (functional, in_place): (F, I),
        dtypes: &[DType],
        inputs: fn(DType) -> Vec<Sample>,
        distribution: fn(&Inputs) -> Result<Distribution>,
    ) -> &'a mut OperatorSamples {
        let expected = move |it: &Inputs| -> Result<Expected> {
            let x = it.tensor("self")?;
            Ok(Expected::Random(x.sizes().to_vec(), x.dtype(), distribution(it)?))
        };
        samples.of_function(functional, dtypes, inputs, expected);
        samples.of_function(in_place, dtypes, inputs, expected)
    }

    /// Samples of an operator that makes a tensor like another one, and of the same with a generator.
    pub(crate) fn of_like<P: Operator, G: Operator>(
        samples: &mut Samples,
        (plain, seeded): (P, G),
        distribution: Distribution,
    ) {
        let expected = move |it: &Inputs| -> Result<Expected> {
            let x = it.tensor("self")?;
            Ok(Expected::Random(x.sizes().to_vec(), x.dtype(), distribution))
        };
        samples.of_function(plain, INEXACT, |dtype| tensors(dtype, |call| call), expected);
        let with_generator = |dtype| tensors(dtype, |call| call.named("generator", random::generator(3)));
        samples.of_function(seeded, INEXACT, with_generator, expected);
    }

    /// The differences from torch that all operators have that draw random numbers.
    pub(crate) const DIFFERENCES: &[Difference] = &[
        Difference {
            id: "random-numbers-follow-the-memory",
            what: "torch draws the numbers of an output elsewhere first, in the order and the dtype of the input or in the \
                   format that is asked for; here they are drawn in the output itself, in the order in which it lies in memory",
            why: "the output gets no copy",
            test: ("opgrid-tensor/tests/all/differences/numbers.rs", "random_numbers_follow_the_memory"),
            when: |seen| {
                let is_apart = |tensor: &Operand| tensor.is_empty() || !tensor.geometry.is_contiguous();
                let inputs = seen.inputs();
                let is_other = |out: &Operand| inputs.first().is_some_and(|input| input.dtype != out.dtype);
                let is_moved = |out: &Operand| {
                    is_apart(out) || is_other(out) || inputs.iter().any(|input| is_apart(input))
                };
                let is_drawn = seen.is_of_kind(&kind::RANDOM) && !seen.elements.is_empty();
                let is_asked = matches!(seen.argument("memory_format"), Some(Argument::Other));
                is_drawn && (is_asked && seen.out().is_some() || seen.outs().any(is_moved))
            },
            directed: None,
        },
        Difference {
            id: "random-integers-without-a-dtype",
            what: "torch draws floats where `randint` is given None as the dtype, and integers where it is given none; here both \
                   are integers",
            why: "None is the default",
            test: ("opgrid-tensor/tests/all/differences/numbers.rs", "random_integers_without_a_dtype"),
            when: |seen| {
                let is_none = matches!(seen.argument("dtype"), Some(Argument::None));
                seen.family() == "randint" && seen.part == Part::DType && is_none
            },
            directed: None,
        },
        Difference {
            id: "random-bits-of-complex-numbers",
            what: "torch has no kernel for complex numbers in `bernoulli`, and draws them for `dropout` in an order of its own; \
                   here they are drawn as real numbers are",
            why: "whether an element stays is no question of its dtype",
            test: ("opgrid-tensor/tests/all/differences/numbers.rs", "random_bits_of_complex_numbers"),
            when: |seen| {
                let is_complex = seen.tensors().iter().any(|(_, tensor)| tensor.dtype.is_complex());
                let refuses =
                    seen.family() == "bernoulli" && seen.torch_refuses("not implemented for 'Complex");
                is_complex && (refuses || seen.family().ends_with("dropout") && !seen.elements.is_empty())
            },
            directed: None,
        },
        Difference {
            id: "masks-of-nothing",
            what: "torch gives the input itself and a mask of its dtype where `native_dropout` gets no elements; here a new tensor \
                   and a mask of bools",
            why: "what a result is must not depend on the number of elements",
            test: ("opgrid-tensor/tests/all/differences/computed.rs", "masks_of_nothing"),
            when: |seen| {
                let is_empty = seen.tensor("input").is_some_and(Operand::is_empty);
                let is_own = matches!(seen.part, Part::Identity | Part::DType | Part::Offset);
                seen.family() == "native_dropout" && is_empty && is_own
            },
            directed: None,
        },
        Difference {
            id: "numbers-of-one-normal",
            what: "torch leaves an output without elements as it is where `normal` gets a mean or deviation of one element, and \
                   refuses it where that has several; here it gets their shape",
            why: "an output is there to hold the result",
            test: ("opgrid-tensor/tests/all/differences/outputs.rs", "outputs_of_any_strides_are_written"),
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
            what: "torch refuses means beyond the range of the dtype in which deviations are given; here numbers around them are infinite, as \
                   those of other sums",
            why: "one rule for all sums",
            test: ("opgrid-tensor/tests/all/differences/computed.rs", "means_beyond_the_range"),
            when: |seen| seen.family() == "normal" && seen.torch_refuses("without overflow"),
            directed: None,
        },
        Difference {
            id: "random-bits-lie-as-their-input",
            what: "torch lays some random bits in rows, and draws them so; here they lie as the input",
            why: "one rule for all operators",
            test: ("opgrid-tensor/tests/all/differences/numbers.rs", "random_numbers_follow_the_memory"),
            when: |seen| {
                let is_apart = seen.tensor("self").is_some_and(|input| !input.geometry.is_contiguous());
                let is_drawn = seen.part == Part::Values && is_apart && seen.out().is_none();
                seen.family() == "bernoulli" && (seen.lies_in_rows_there() || is_drawn)
            },
            directed: None,
        },
    ];
}
