//! `aten::pow`: elements to the power of others.
//!
//! `out[i] = self[i] ^ exponent[i]`
//!
//! - Shapes: `self` and `exponent` broadcast.
//! - Dtypes: promoted. Integers wrap around; to a negative power they are 0 unless 1 or -1.
//! - Aliasing: `pow_` writes `self`, the `out` overloads write `out`.
//! - Values: a number as the exponent keeps its digits beside float32, and is rounded beside 16-bit floats.
//! - Derivative: an exponent of zero gives none; that of an exponent is zero at a base of zero, unless it is negative.
//! - Errors: integers to the power of a negative integer number; an exponent beyond the range of integers or 16-bit
//!   floats; bools, unless one of both is a number that makes the result a constant or a copy.
//! - Source: torch.pow, PyTorch 2.15.

use num_complex::Complex;

use crate::prelude::*;
use opgrid_kernels::power::{Power, Raise, RaiseTo};
use opgrid_tensor::tensor::Element;

pub use opgrid_tensor::ops::pointwise::pow::*;

/// The family of `aten::pow.Tensor_Tensor`: its kind, shape rule and `out` rule.
pub const POW_TENSOR: Family<PowTensorTensor> = Family::new(PowTensorTensor, &kind::POINTWISE_BINARY, shape);

/// The family of `aten::pow.Tensor_Scalar`: its kind, shape rule and `out` rule.
pub const POW_TENSOR_SCALAR: Family<PowTensorScalar> =
    Family::new(PowTensorScalar, &kind::POINTWISE_BINARY, scalar_shape);

pub(super) fn register(library: &mut Library) {
    library.family(&POW_TENSOR).cpu(cpu).derivative(|d, (input, exponent)| {
        d.by(input, [input, exponent], |grad, [x, exponent]| {
            let slope = (exponent * x.pow(&(exponent - 1)?)?)?;
            derivatives::where_false(&exponent.eq(0)?, &derivatives::chained(grad, &slope)?)
        })?;
        d.by(exponent, [input, exponent, d.result(0)], |grad, [x, exponent, out]| {
            by_exponent(grad, x, exponent, out)
        })
    });
    library
        .family(&POW_TENSOR_SCALAR)
        .cpu(scalar_cpu)
        .derivative(|d, (input, exponent)| d.by(input, [input], move |grad, [x]| by_base(grad, x, exponent)));
    library
        .define_with_forms(PowScalar, &kind::POINTWISE_BINARY)
        .composite(|base, exponent| PowTensorTensor.call(&base.into(), exponent))
        .derivative(|d, (base, exponent)| {
            d.by(exponent, [exponent, d.result(0)], move |grad, [exponent, out]| {
                by_exponent(grad, &base.into(), exponent, out)
            })
        });
    library
        .implement(PowScalarOut)
        .composite(|base, exponent, out| PowTensorTensorOut.call(&base.into(), exponent, out));
}

fn shape(input: &Tensor, exponent: &Tensor) -> Result<TensorSpec> {
    let spec = pointwise::promoted([("self", input), ("exponent", exponent)])?;
    match input.bare_number() {
        Some(base) if gives_ones(base) => Ok(spec),
        _ => pointwise::check_numbers(spec.dtype()).map(|()| spec),
    }
}

fn cpu(input: &Tensor, exponent: &Tensor, out: &Tensor) -> Result<()> {
    if input.bare_number().is_some_and(gives_ones) {
        return elementwise::fill_for(out, exponent, 1);
    }
    let dtype = result_type(&[input, exponent])?;
    let [input, exponent] = &pointwise::operands(dtype, [input, exponent])?;
    with_dtype!(dtype, T: Number by value => elementwise::binary_by::<T, T, T>(out, input, exponent, Raise))
}

fn scalar_shape(input: &Tensor, exponent: Scalar) -> Result<TensorSpec> {
    // The number has a say in the dtype only.
    let spec = pointwise::of_dtype([("self", input)], result_type(&[input, &exponent.into()])?)?;
    let whole = spec.dtype().is_integral() || spec.dtype() == DType::Bool;
    if let Scalar::Int(exponent) = exponent
        && whole
        && exponent < 0
    {
        let message = format!(
            "argument `exponent` is {exponent}, but integers cannot be raised to negative powers; \
             convert `self` to floats"
        );
        return Err(argument(message));
    }
    if is_zero(exponent) || is_one(exponent) {
        return Ok(spec);
    }
    pointwise::check_numbers(spec.dtype())?;
    let is_rounded = whole || matches!(spec.dtype(), DType::F16 | DType::BF16);
    if is_rounded {
        with_dtype!(spec.dtype(), T: Any by itself => arithmetic::element::<T>(exponent).map(drop))?;
    }
    Ok(spec)
}

fn scalar_cpu(input: &Tensor, exponent: Scalar, out: &Tensor) -> Result<()> {
    if is_zero(exponent) {
        return elementwise::fill_for(out, input, 1);
    }
    if is_one(exponent) {
        return elementwise::copy(out, input);
    }
    let number = exponent.into();
    let dtype = result_type(&[input, &number])?;
    // As in torch, where roots of 16 bits are powers: that of minus infinity is infinite, and not NaN.
    let is_root = dtype != DType::F16;
    if is_root && exponent == Scalar::Float(0.5) {
        return with_dtype!(dtype, T: Inexact => elementwise::square_root::<T>(out, input));
    }
    if is_root && exponent == Scalar::Float(-0.5) {
        return with_dtype!(dtype, T: Inexact => {
            elementwise::unary_by::<T, T>(out, input, math::ReciprocalRoot)
        });
    }
    if matches!(exponent, Scalar::Int(2) | Scalar::Float(2.0)) {
        return with_dtype!(dtype, T: Number by bits => elementwise::unary::<T, T>(out, input, |a| a.times(a)));
    }
    if matches!(exponent, Scalar::Int(3) | Scalar::Float(3.0)) {
        return with_dtype!(dtype, T: Number by bits => {
            elementwise::unary::<T, T>(out, input, |a| a.times(a).times(a))
        });
    }
    match dtype {
        DType::F32 => elementwise::unary_by::<f32, f32>(out, input, RaiseTo(exponent.to_complex().re)),
        DType::Complex64 => {
            let exponent = exponent.to_complex();
            elementwise::unary::<Complex<f32>, Complex<f32>>(out, input, move |a| {
                Complex64::new(a.re.into(), a.im.into()).power(exponent).cast()
            })
        }
        _ => {
            with_dtype!(dtype, T: Number by value => elementwise::binary_by::<T, T, T>(out, input, &number, Raise))
        }
    }
}

/// Whether all powers of a number are one, in any dtype but bool, which has none.
fn gives_ones(base: &Scalar) -> bool {
    is_one(*base) && *base != Scalar::Bool(true)
}

fn is_zero(value: Scalar) -> bool {
    value.to_complex() == Complex64::ZERO
}

fn is_one(value: Scalar) -> bool {
    value.to_complex() == Complex64::ONE
}

/// The gradient of an exponent. Powers of zero do not depend on it as far as it is no negative number.
fn by_exponent(grad: &Tensor, base: &Tensor, exponent: &Tensor, out: &Tensor) -> Result<Tensor> {
    let is_constant = if exponent.dtype().is_complex() {
        exponent.imag()?.eq(0)?.logical_and(&exponent.real()?.ge(0)?)?
    } else {
        exponent.ge(0)?
    };
    let is_constant = is_constant.logical_and(&base.eq(0)?)?;
    // A number counts as little as in the power itself.
    let log = base.to_dtype(out.dtype())?.log()?;
    grad.mul(&derivatives::where_false(&is_constant, &derivatives::conjugate(&(out * log)?)?)?)
}

fn by_base(grad: &Tensor, base: &Tensor, exponent: Scalar) -> Result<Tensor> {
    let slope = match exponent {
        Scalar::Int(0) | Scalar::Bool(false) => return derivatives::zeros(grad),
        Scalar::Float(0.0) => return derivatives::zeros(grad),
        Scalar::Int(1) | Scalar::Bool(true) => return Ok(grad.clone()),
        Scalar::Int(2) => base.mul(2)?,
        Scalar::Int(exponent) => base.pow(exponent - 1)?.mul(exponent)?,
        Scalar::UInt(exponent) => base.pow(exponent - 1)?.mul(exponent)?,
        Scalar::Float(exponent) => base.pow(exponent - 1.0)?.mul(exponent)?,
        Scalar::Complex(exponent) => base.pow(exponent - 1.0)?.mul(exponent)?,
    };
    derivatives::chained(grad, &slope)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let reference = |it: &Inputs| it.binary(DTypeRule::Promoted, number::power);
        let minus = given(generate::numbers(DType::I32, &[2], 0)).and(-1);
        samples.operator(PowTensorTensor, NUMBERS, powers, reference).tolerance(16.0);
        samples
            .operator(PowTensorScalar, ANY, powers_of_number, reference)
            .tolerance(16.0)
            .refuses("integers cannot be raised", minus);
        let bases = |dtype| {
            let exponents = |sizes: &[i64]| Plain::from_elements(dtype, sizes, &[0, 1, 2, 3]);
            let bases = [Scalar::Int(2), Scalar::Int(1), Scalar::Float(1.5)];
            let edges = [given(2).and(exponents(&[])), given(2).and(exponents(&[0]))];
            bases.map(|base| given(base).and(exponents(&[4]))).into_iter().chain(edges).collect()
        };
        samples.operator(PowScalar, ANY, bases, reference).tolerance(16.0);
        samples.differs(
            PowScalar,
            Difference {
                id: "powers-of-a-number-lie-as-the-exponents",
                what: "torch returns the powers of some numbers in row-major order; here they have the \
                     memory format of the exponents",
                why: "all operators behave alike",
                test: (
                    "opgrid-operators/tests/all/differences/layouts.rs",
                    "powers_of_a_number_lie_as_the_exponents",
                ),
                when: |seen| seen.part == Part::Strides && seen.operator.starts_with("aten::pow.Scalar"),
                directed: None,
            },
        );
        samples.differs(
            PowScalar,
            Difference {
                id: "powers-of-one-are-checked",
                what: "torch fills an output of any dtype with the powers of one; here its dtype is \
                     checked as for all others",
                why: "all operators behave alike",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "powers_of_one_are_checked_as_all_others",
                ),
                when: |seen| {
                    seen.operator == "aten::pow.Scalar_out"
                        && seen.number("self").is_some_and(is_one)
                        && seen.we_refuse("can't be cast")
                },
                directed: Some(Directed {
                    operator: "aten::pow.Scalar_out",
                    arguments: || {
                        vec![
                            ("self", Scalar::Int(1).into()),
                            ("exponent", Operand::rows(0, DType::I64, &[2], &[1.0, 2.0]).into()),
                            ("out", Operand::rows(1, DType::Bool, &[2], &[0.0, 0.0]).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        samples.differs(PowTensorTensor, departures::math::FAR_POWERS);
        // A logarithm and an exponential, of other digits.
        samples.rounds(PowTensorTensor, Roundings::all(Rounding::Power(4)));
    }

    fn powers(dtype: DType) -> Vec<Sample> {
        let shapes: [[&[i64]; 2]; 5] =
            [[&[2, 3], &[2, 3]], [&[2, 1], &[3]], [&[], &[3]], [&[0], &[1]], [&[2, 37], &[]]];
        let one = |[base, exponent]: [&[i64]; 2]| {
            given(generate::nonzero(dtype, base, 1)).and(Plain::from_elements(dtype, exponent, &[2, 0, 3, 1]))
        };
        let negative = given(Plain::from_elements(dtype, &[4], &[1, -1, 2, -2])).and(Plain::from_elements(
            dtype,
            &[2, 1],
            &[-1, -2],
        ));
        let negative = Some(negative).filter(|_| dtype.is_signed());
        shapes.into_iter().map(one).chain(negative).collect()
    }

    fn powers_of_number(dtype: DType) -> Vec<Sample> {
        let x = generate::nonzero(dtype, &[2, 3], 1);
        let exponents = [
            Scalar::Int(2),
            Scalar::Int(3),
            Scalar::Float(0.5),
            Scalar::Float(2.0),
            Scalar::Float(-0.5),
            Scalar::Float(-1.5),
        ];
        let edges =
            [given(generate::nonzero(dtype, &[], 1)).and(2), given(generate::nonzero(dtype, &[0], 1)).and(2)];
        let constant = [given(x.clone()).and(0), given(x.clone()).and(1)].into_iter().chain(edges);
        exponents.map(|exponent| given(x.clone()).and(exponent)).into_iter().chain(constant).collect()
    }
}
