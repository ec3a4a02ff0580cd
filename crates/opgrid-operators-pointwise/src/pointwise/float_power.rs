//! `aten::float_power`: elements to the power of others, in double precision.
//!
//! `out[i] = self[i] ^ exponent[i]`
//!
//! - Shapes: `self` and `exponent` broadcast.
//! - Dtypes: float64, or complex128 where one of both is complex.
//! - Aliasing: `float_power_` writes `self`, the `out` overloads write `out`; both have the dtype of the result.
//! - Dispatch: a composite of conversions and `pow`, in all forms.
//! - Errors: an output of another dtype.
//! - Source: torch.float_power, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{
    PowInplaceScalar, PowInplaceTensor, PowScalar, PowScalarOut, PowTensorScalar, PowTensorScalarOut,
    PowTensorTensor, PowTensorTensorOut, ToCopy,
};

pub use opgrid_tensor::ops::pointwise::float_power::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(FloatPowerTensorTensor, &kind::POINTWISE_BINARY).implicit(|input, exponent| {
        let dtype = result_dtype(&[input, exponent])?;
        PowTensorTensor.call(&wide(input, dtype)?, &wide(exponent, dtype)?)
    });
    library.implement(FloatPowerInplaceTensor).implicit(|input, exponent| {
        let dtype = result_dtype(&[input, exponent])?;
        check("self", input, dtype)?;
        PowInplaceTensor.call(input, &wide(exponent, dtype)?)
    });
    library.implement(FloatPowerTensorTensorOut).implicit(|input, exponent, out| {
        let dtype = result_dtype(&[input, exponent])?;
        check("out", out, dtype)?;
        PowTensorTensorOut.call(&wide(input, dtype)?, &wide(exponent, dtype)?, out)
    });
    library.define_with_forms(FloatPowerTensorScalar, &kind::POINTWISE_BINARY).implicit(|input, exponent| {
        let dtype = result_dtype(&[input, &exponent.into()])?;
        PowTensorScalar.call(&wide(input, dtype)?, fractional(exponent))
    });
    library.implement(FloatPowerInplaceScalar).implicit(|input, exponent| {
        check("self", input, result_dtype(&[input, &exponent.into()])?)?;
        PowInplaceScalar.call(input, fractional(exponent))
    });
    library.implement(FloatPowerTensorScalarOut).implicit(|input, exponent, out| {
        let dtype = result_dtype(&[input, &exponent.into()])?;
        check("out", out, dtype)?;
        PowTensorScalarOut.call(&wide(input, dtype)?, fractional(exponent), out)
    });
    library.define_with_forms(FloatPowerScalar, &kind::POINTWISE_BINARY).implicit(|input, exponent| {
        let dtype = result_dtype(&[&input.into(), exponent])?;
        PowScalar.call(fractional(input), &wide(exponent, dtype)?)
    });
    library.implement(FloatPowerScalarOut).implicit(|input, exponent, out| {
        let dtype = result_dtype(&[&input.into(), exponent])?;
        check("out", out, dtype)?;
        PowScalarOut.call(fractional(input), &wide(exponent, dtype)?, out)
    });
}

/// The dtype of the powers.
fn result_dtype(operands: &[&Tensor]) -> Result<DType> {
    for operand in operands {
        if operand.spec()?.dtype().is_complex() {
            return Ok(DType::Complex128);
        }
    }
    Ok(DType::F64)
}

fn wide(input: &Tensor, dtype: DType) -> Result<Tensor> {
    if input.dtype() == dtype {
        Ok(input.clone())
    } else {
        ToCopy.call(input, Some(dtype), None, None, None, false, None)
    }
}

/// The number in double precision.
fn fractional(number: Scalar) -> Scalar {
    match number {
        Scalar::Complex(number) => Scalar::Complex(number),
        real => Scalar::Float(real.to_complex().re),
    }
}

/// # Errors
///
/// What is written has another dtype than the powers.
fn check(name: &str, written: &Tensor, dtype: DType) -> Result<()> {
    if written.spec()?.dtype() == dtype {
        Ok(())
    } else {
        Err(argument(format!(
            "argument `{name}` has dtype {}, expected {dtype}, which powers are computed in; convert it first",
            written.dtype()
        )))
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(
            FloatPowerTensorTensor,
            Difference {
                id: "float-powers-lie-as-the-exponents",
                what: "torch returns the float powers of a number in row-major order; here they have \
                     the memory format of the exponents",
                why: "all operators behave alike",
                test: (
                    "opgrid-operators/tests/all/differences/layouts.rs",
                    "powers_of_a_number_lie_as_the_exponents",
                ),
                when: |seen| {
                    seen.part == Part::Strides && seen.operator.starts_with("aten::float_power.Scalar")
                },
                directed: None,
            },
        );
        samples.differs_as(
            FloatPowerTensorTensor,
            &[departures::math::NOT_FINITE, departures::math::FAR_POWERS],
        );
        let reference = |it: &Inputs| {
            let [a, b] = [it.operand("self")?, it.operand("exponent")?];
            let dtype =
                if a.dtype().is_complex() || b.dtype().is_complex() { DType::Complex128 } else { DType::F64 };
            let sizes = naive::broadcast([a.sizes(), b.sizes()].into_iter())?;
            Ok(Plain::from_fn(dtype, &sizes, |position| {
                number::power(naive::convert(a.at(position), dtype), naive::convert(b.at(position), dtype))
            })
            .into())
        };
        let pairs = |dtype| -> Vec<Sample> {
            let shapes: [(&[i64], &[i64]); 4] =
                [(&[2, 3], &[3]), (&[], &[]), (&[0], &[1]), (&[2, 37], &[2, 37])];
            let mixed = given(bases_of(dtype, &[3])).and(exponents(DType::I32, &[2, 1]));
            shapes
                .map(|(a, b)| given(bases_of(dtype, a)).and(exponents(dtype, b)))
                .into_iter()
                .chain([mixed])
                .collect()
        };
        let doubles = [DType::F64, DType::Complex128];
        let others: Vec<DType> = ANY.iter().copied().filter(|dtype| !doubles.contains(dtype)).collect();
        samples
            .operator(FloatPowerTensorTensor, ANY, pairs, reference)
            .tolerance(16.0)
            .in_place_refuses(&others);
        let numbers = |dtype| -> Vec<Sample> {
            let one = |exponent: Scalar| given(bases_of(dtype, &[2, 3])).and(exponent);
            let edges = [given(bases_of(dtype, &[])).and(2), given(bases_of(dtype, &[0])).and(2)];
            [Scalar::Int(2), Scalar::Float(0.5), Scalar::Float(-1.5)]
                .map(one)
                .into_iter()
                .chain(edges)
                .collect()
        };
        samples
            .operator(FloatPowerTensorScalar, ANY, numbers, reference)
            .tolerance(16.0)
            .in_place_refuses(&others);
        let bases = |dtype| -> Vec<Sample> {
            let one = |base: Scalar| given(base).and(exponents(dtype, &[4]));
            let edges = [given(2).and(exponents(dtype, &[])), given(2).and(exponents(dtype, &[0]))];
            [Scalar::Int(2), Scalar::Float(1.5)].map(one).into_iter().chain(edges).collect()
        };
        samples.operator(FloatPowerScalar, ANY, bases, reference).tolerance(16.0);
        samples.rounds(FloatPowerTensorTensor, Roundings::all(Rounding::Power(4)));
    }

    fn bases_of(dtype: DType, sizes: &[i64]) -> Plain {
        generate::nonzero(dtype, sizes, 1)
    }

    fn exponents(dtype: DType, sizes: &[i64]) -> Plain {
        Plain::from_elements(dtype, sizes, &[2, 0, 3, 1])
    }
}
