//! `aten::ldexp`: elements times powers of two.
//!
//! `out[i] = self[i] * 2 ^ other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; the default dtype for integers and bools alone. Floats beside integers are multiplied in double precision,
//!   by powers of every size; other powers are computed in the dtype of the result, or the default dtype.
//! - Aliasing: `ldexp_` writes `self`, `ldexp.out` writes `out`.
//! - Dispatch: a composite of `pow` and `mul`, in all forms.
//! - Errors: `ldexp_` of integers and bools.
//! - Source: torch.ldexp, PyTorch 2.15.

use std::f64::consts::LN_2;

use crate::prelude::*;
use opgrid_tensor::ops::{
    Clamp, CopyInplace, MulInplaceTensor, MulOut, MulTensor, PowScalar, SubTensor, ToCopy, Trunc,
};
use opgrid_tensor::tensor::check_beside;
use opgrid_tensor::tensor::promote_types;

pub use opgrid_tensor::ops::pointwise::ldexp::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(LdexpTensor, &kind::POINTWISE_BINARY)
        .on_every_backend(|input, other| {
            if is_by_wholes(input, other)? {
                scaled(input, other)
            } else {
                MulTensor.call(input, &power_beside(input, other)?)
            }
        })
        .derivative(|d, (input, other)| {
            d.by(input, [input, other], |grad, [input, other]| {
                derivatives::chained(grad, &power_beside(input, other)?)
            })?;
            d.by(other, [d.result(0)], |grad, [out]| derivatives::chained(grad, &(out * LN_2)?))
        });
    library.implement(LdexpInplace).on_every_backend(|input, other| {
        if is_by_wholes(input, other)? {
            check_beside(input, &[other])?;
            let wide = ToCopy.call(input, Some(DType::F64), None, None, None, false, None)?;
            powers(other)?.iter().try_for_each(|power| MulInplaceTensor.call(&wide, power))?;
            CopyInplace.call(input, &wide, false)
        } else {
            MulInplaceTensor.call(input, &power_beside(input, other)?)
        }
    });
    library.implement(LdexpOut).on_every_backend(|input, other, out| {
        if is_by_wholes(input, other)? {
            check_beside(out, &[input, other])?;
            result::converted(&[(out, &scaled(input, other)?)])
        } else {
            MulOut.call(input, &power_beside(input, other)?, out)
        }
    });
}

/// Whether floats are multiplied by powers with integers for exponents.
///
/// # Errors
///
/// Those of [`Tensor::spec`].
fn is_by_wholes(input: &Tensor, other: &Tensor) -> Result<bool> {
    let exponent = other.spec()?.dtype();
    Ok(input.spec()?.dtype().is_floating_point() && (exponent.is_integral() || exponent == DType::Bool))
}

/// The product in double precision, in the dtype of the result.
///
/// # Errors
///
/// Those of the product.
fn scaled(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    let mut wide = input.to_dtype(DType::F64)?;
    for power in powers(other)? {
        wide = MulTensor.call(&wide, &power)?;
    }
    wide.to_dtype(result_type(&[input, other])?)
}

/// Three factors whose product is the power, none of which leaves the range: the smallest number of all times two to the power
/// of 2,097 is the largest.
///
/// # Errors
///
/// Those of the operators that it is made of.
fn powers(exponent: &Tensor) -> Result<[Tensor; 3]> {
    let exponent = exponent.to_dtype(DType::F64)?;
    let exponent = Clamp.call(&exponent, Some(Scalar::Float(-2100.0)), Some(Scalar::Float(2100.0)))?;
    let third = Trunc.call(&MulTensor.call(&exponent, &Tensor::number(1.0 / 3.0))?)?;
    let rest = SubTensor.call(&exponent, &third, Scalar::Int(2))?;
    let (third, rest) = (power(&third)?, power(&rest)?);
    Ok([third.clone(), third, rest])
}

/// The power in the dtype of the result, computed in that of its parts or a wider one.
///
/// # Errors
///
/// Those of `pow` and of the conversions.
fn power_beside(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    let dtype = result_type(&[input, other])?;
    if dtype.is_integral() || dtype == DType::Bool {
        return power(other);
    }
    power(&other.to_dtype(power_dtype(dtype, other.dtype())?)?)?.to_dtype(dtype)
}

/// The dtype in which powers are computed for a result of a dtype.
///
/// # Errors
///
/// No dtype holds both.
fn power_dtype(result: DType, exponent: DType) -> Result<DType> {
    if result.is_integral() || result == DType::Bool {
        return Ok(inexact(exponent));
    }
    promote_types(exponent, if exponent.is_complex() { result } else { part_of(result) })
}

fn power(exponent: &Tensor) -> Result<Tensor> {
    PowScalar.call(Scalar::Float(2.0), exponent)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;
    use opgrid_tensor::tensor::{FloatLimits, finfo};

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| generate::pairs_to_divide(dtype);
        samples
            .operator(LdexpTensor, ANY, inputs, |it| {
                let (x, other) = (it.tensor("self")?, it.tensor("other")?);
                let common = it.common_dtype(&["self", "other"])?;
                let dtype = power_dtype(common, other.dtype())?;
                let two = naive::convert(Scalar::Int(2), dtype);
                let one = |position: &[i64]| number::power(two, naive::convert(other.at(position), dtype));
                let powers = Plain::from_fn(dtype, other.sizes(), one);
                let is_inexact = common.is_floating_point() || common.is_complex();
                let powers = if is_inexact { powers.to(common) } else { powers };
                let product = [("self".to_owned(), x.clone().into()), ("other".to_owned(), powers.into())];
                Inputs::new(product.into()).binary(DTypeRule::Promoted, number::times)
            })
            .tolerance(32.0);
        samples.differs(LdexpTensor, departures::math::NOT_FINITE);
        samples.differs(
            LdexpTensor,
            Difference {
                id: "products-with-powers-lie-as-both",
                what: "torch decides the memory format of the result by powers that it computes first; \
                     here both arguments decide",
                why: "all operators behave alike",
                test: (
                    "opgrid-operators/tests/all/differences/layouts.rs",
                    "results_do_not_depend_on_the_layout",
                ),
                when: |seen| {
                    let is_apart = |input: &&Operand| {
                        let rows = Geometry::contiguous(input.geometry.sizes());
                        rows.is_ok_and(|rows| rows.strides() != input.geometry.strides())
                    };
                    seen.part == Part::Strides && seen.inputs().iter().any(is_apart)
                },
                directed: None,
            },
        );
        samples.differs(
            LdexpTensor,
            Difference {
                id: "exponents-of-any-integers",
                what: "torch rejects bool exponents for floats only, truncates integers to 32 bits, and \
                     multiplies by an infinite power if dtypes differ; here bools are accepted, large \
                     integers overflow, and zero stays zero",
                why: "all dtypes behave alike, and 2 to the power of 2^32 is neither 1 nor infinite",
                test: ("opgrid-operators/tests/all/ends_of_ranges.rs", "exponents_of_every_size"),
                when: |seen| {
                    let is_far = |x: &Complex64| x.re.abs() > f64::from(i32::MAX);
                    let has_far =
                        || seen.tensor("other").is_some_and(|other| other.elements.iter().any(is_far));
                    let is_end = |x: f64| x == 0.0 || !x.is_finite();
                    seen.torch_refuses("\"ldexp_cpu_exp\" not implemented")
                        || seen.each(|(_, ours, _)| is_end(ours.re)) && has_far()
                        || seen.each(|(_, ours, torch)| is_end(ours.re) && torch.re.is_nan())
                },
                directed: None,
            },
        );
        samples.differs(
            LdexpTensor,
            Difference {
                id: "powers-in-the-dtype-of-the-result",
                what: "torch computes some powers in the dtype of the exponent, where they may be zero \
                     or infinite; here in the dtype of the result",
                why: "the result is representable",
                test: ("opgrid-operators/tests/all/ends_of_ranges.rs", "exponents_of_every_size"),
                when: |seen| {
                    let (Some(input), Some(exponent)) = (seen.tensor("self"), seen.tensor("other")) else {
                        return false;
                    };
                    let limits = |tensor: &Operand| finfo(part_of(tensor.dtype));
                    let Ok(FloatLimits { eps, smallest_normal, .. }) = limits(exponent).or(limits(input))
                    else {
                        return false;
                    };
                    // The smallest powers have few digits.
                    let sizes = input.elements.iter().map(|x| x.norm());
                    let step =
                        eps * smallest_normal * sizes.filter(|size| size.is_finite()).fold(0.0, f64::max);
                    let is_beyond = |torch: &Complex64| torch.norm() == 0.0 || !torch.is_finite();
                    let is_such = seen.each(|(_, ours, torch)| {
                        is_beyond(torch) || (ours - torch).norm() <= (4.0 * eps * ours.norm()).max(step)
                    });
                    input.dtype != exponent.dtype && is_such
                },
                directed: Some(Directed {
                    operator: "aten::ldexp.Tensor",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::F64, &[1], &[3e6]).into()),
                            ("other", Operand::rows(1, DType::F16, &[1], &[-30.0]).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        samples.rounds(LdexpTensor, pointwise::samples::ELEMENTARY.complex(Rounding::Power(8)));
    }
}
