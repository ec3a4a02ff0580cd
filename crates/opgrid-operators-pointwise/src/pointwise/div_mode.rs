//! `aten::div` with a `rounding_mode`: quotient of two tensors, rounded or not.
//!
//! `out[i] = round(self[i] / other[i])`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; without a mode as those of `div`.
//! - Values: a number, or a tensor of one element, keeps its digits beside 16-bit floats.
//! - Rounding: "trunc" towards zero, "floor" downwards; `None` keeps fractions.
//! - Aliasing: `div_` writes `self`, `div.out_mode` writes `out`, and gives it its shape if it has no elements.
//! - Dispatch: `divide` is another name, in all forms.
//! - Errors: another mode; with one, bools, complex numbers, and integers divided by zero or by what becomes zero in their
//!   dtype; `div_` of integers without one.
//! - Source: torch.div, PyTorch 2.15.

use opgrid_tensor::tensor::{bf16, f16};

use crate::pointwise::div;
use crate::prelude::*;
use opgrid_kernels::division::{self, Divide, Rounding};

pub use opgrid_tensor::ops::pointwise::div_mode::*;

/// The family of `aten::div.Tensor_mode`: its kind, shape rule and `out` rule.
pub const DIV_TENSOR_MODE: Family<DivTensorMode> = Family::new(DivTensorMode, &kind::POINTWISE_BINARY, shape);

pub(super) fn register(library: &mut Library) {
    library
        .family(&DIV_TENSOR_MODE)
        .column(NumbersForTensors)
        .cpu(cpu)
        .derivative(|d, (input, other, mode)| {
            if mode.is_none() {
                return div::quotient(d, input, other);
            }
            d.by(input, [], |grad, []| derivatives::zeros(grad))?;
            d.by(other, [], |grad, []| derivatives::zeros(grad))
        })
        .number(DivScalarMode, DivTensorMode)
        .number(DivInplaceScalarMode, DivInplaceTensorMode)
        .number(DivScalarModeOut, DivOutMode);
}

fn shape(input: &Tensor, other: &Tensor, mode: Option<&str>) -> Result<TensorSpec> {
    if Rounding::named(mode)?.is_none() {
        return div::shape(input, other);
    }
    let spec = pointwise::promoted([("self", input), ("other", other)])?;
    pointwise::check_real(spec.dtype())?;
    Ok(spec)
}

fn cpu(input: &Tensor, other: &Tensor, mode: Option<&str>, out: &Tensor) -> Result<()> {
    match Rounding::named(mode)? {
        None => div::cpu(input, other, out),
        Some(Rounding::Trunc) => rounded_cpu::<false>(input, other, out),
        Some(Rounding::Floor) => rounded_cpu::<true>(input, other, out),
    }
}

fn rounded_cpu<const DOWNWARDS: bool>(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    let [input, other] = &pointwise::operands(dtype, [input, other])?;
    if !dtype.is_floating_point() {
        division::check_no_zero(other.source()?, other.spec()?, dtype)?;
    }
    let divide = Divide::<DOWNWARDS>;
    match dtype {
        DType::F16 if pointwise::keeps_digits(other, dtype) => {
            elementwise::binary_by::<f16, f16, f32>(out, input, other, divide)
        }
        DType::BF16 if pointwise::keeps_digits(other, dtype) => {
            elementwise::binary_by::<bf16, bf16, f32>(out, input, other, divide)
        }
        _ => {
            with_dtype!(dtype, T: Real by value => elementwise::binary_by::<T, T, T>(out, input, other, divide))
        }
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::nonzero(DType::I32, &[2], 0);
        let no_mode = given(x.clone()).and(x.clone()).named("rounding_mode", "up");
        let by_zero = given(x).and(Plain::number(DType::I32, 0)).named("rounding_mode", "floor");
        samples
            .operator(DivTensorMode, REAL, rounded_pairs, rounded_reference)
            .refuses("rounding_mode", no_mode)
            .refuses_data("zero", by_zero);
        samples.operator(
            DivScalarMode,
            ORDERED,
            |dtype| rounded(generate::with_number(dtype)),
            rounded_reference,
        );
        samples.differs(
            DivTensorMode,
            Difference {
                id: "smallest-integer-by-minus-one",
                what: "torch crashes with a signal; here the quotient wraps around to the smallest integer, \
                 as sums and products do",
                why: "data must not crash the process",
                test: (
                    "opgrid-operators/tests/all/differences/numbers.rs",
                    "the_smallest_integer_divided_by_minus_one_wraps",
                ),
                when: |seen| {
                    let has = |name: &str, is_such: &dyn Fn(f64) -> bool| {
                        let of_tensor = seen
                            .tensor(name)
                            .is_some_and(|tensor| tensor.elements.iter().any(|x| is_such(x.re)));
                        of_tensor || seen.number(name).is_some_and(|number| is_such(number.to_complex().re))
                    };
                    let dies =
                        seen.argument("rounding_mode").is_some() && seen.torch_refuses(differences::DIED);
                    // A number beyond the range wraps around, to -1 among others.
                    let is_minus_one = |x: f64| x == -1.0 || x.abs() > f64::from(i32::MAX);
                    dies && has("self", &|x| x <= f64::from(i32::MIN)) && has("other", &is_minus_one)
                },
                directed: Some(Directed {
                    operator: "aten::div.Tensor_mode",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::I64, &[1], &[i64::MIN as f64]).into()),
                            ("other", Operand::rows(1, DType::I64, &[1], &[-1.0]).into()),
                            ("rounding_mode", Argument::Text("trunc".to_owned())),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        samples.differs(
            DivTensorMode,
            Difference {
                id: "quotients-of-16-bit-floats-are-cut-once",
                what: "torch rounds quotients of 16-bit floats to 16 bits before it truncates them, in \
                     some code paths; here the quotient is truncated first",
                why: "rounding first turns a quotient just below an integer into that integer",
                test: (
                    "opgrid-operators/tests/all/differences/numbers.rs",
                    "quotients_are_cut_before_they_are_rounded",
                ),
                when: |seen| {
                    let step = |torch: &Complex64| {
                        if seen.meets_dtype(&[DType::BF16]) {
                            torch.norm() / 128.0
                        } else {
                            torch.norm() / 1024.0
                        }
                    };
                    let is_next = |(_, ours, torch): &(DType, Complex64, Complex64)| {
                        (ours - torch).norm() <= step(torch).max(1.0)
                    };
                    let is_rounded = seen.argument("rounding_mode").is_some();
                    is_rounded && seen.meets_dtype(&[DType::F16, DType::BF16]) && seen.each(is_next)
                },
                directed: Some(Directed {
                    operator: "aten::div.Tensor_mode",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::BF16, &[16], &[3.0; 16]).into()),
                            ("other", Operand::rows(1, DType::BF16, &[16], &[0.30078125; 16]).into()),
                            ("rounding_mode", Argument::Text("trunc".to_owned())),
                        ]
                    },
                    needs: None,
                }),
            },
        );
    }

    /// Pairs with both ways of rounding. With another dtype beside them bools are numbers.
    fn rounded_pairs(dtype: DType) -> Vec<Sample> {
        let mut pairs = generate::pairs_to_divide(dtype);
        if dtype == DType::Bool {
            let is_bool = |argument: &Given| argument.tensors().iter().all(|tensor| tensor.dtype() == dtype);
            pairs.retain(|sample| sample.arguments().all(is_bool));
        }
        rounded(pairs)
    }

    /// Each sample with both ways of rounding.
    fn rounded(samples: Vec<Sample>) -> Vec<Sample> {
        let both =
            |sample: Sample| ["trunc", "floor"].map(|mode| sample.clone().named("rounding_mode", mode));
        samples.into_iter().flat_map(both).collect()
    }

    fn rounded_reference(it: &Inputs) -> Result<Expected> {
        let floor = it.value::<String>("rounding_mode")? == "floor";
        it.binary(DTypeRule::Promoted, |a, b| match (number::exact(a), number::exact(b)) {
            _ if floor => number::floored(a, b),
            (Some(a), Some(b)) => number::integer(a / b),
            _ => number::inexact(number::over(a, b), f64::trunc, |quotient| quotient),
        })
    }
}
