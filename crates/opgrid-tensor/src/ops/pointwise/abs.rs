//! `aten::abs`: the distance from zero.
//!
//! `out[i] = |self[i]|`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`; that of the parts for complex numbers. The smallest integer stays what it is.
//! - Aliasing: `abs_` writes `self`, `abs.out` writes `out`.
//! - Derivative: zero at zero.
//! - Dispatch: `absolute` is another name, in all forms.
//! - Errors: `abs_` of complex numbers; bools; an `out` of another dtype.
//! - Source: torch.abs, PyTorch 2.15; there `abs` and `abs_` are made of `abs.out`.

use crate::ops::prelude::*;
use num_complex::Complex;

use crate::kernels::math::Magnitude;
use crate::tensor::choose::unsupported;

operator! {
    home = crate::home_of(register);
    /// The distance from zero.
    pub Abs = "aten::abs(Tensor self) -> Tensor", in_place, out, method, alias("absolute");
}

/// Kind, shape rule and `out` rule, for everybody.
pub const ABS: Family<Abs> =
    Family::new(Abs, &kind::POINTWISE_UNARY, shape).in_place_shape(in_place_shape).out_shape(out_shape);

pub(super) fn register(library: &mut Library) {
    library
        .family(&ABS)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [input], |grad, [x]| grad.mul(&x.sgn()?)));
}

pub(super) fn samples(samples: &mut Samples) {
    let complex = [DType::Complex64, DType::Complex128];
    samples.of(Abs, NUMBERS, make::unary, reference).tolerance(2.0).in_place_refuses(&complex);
    samples.differs(
        Abs,
        Difference {
            id: "distances-of-complex-numbers-lie-in-rows",
            what: "torch gives dimensions of size 1 or 0 other strides where it copies; here distances of \
               complex numbers that lie in rows lie in rows",
            why: "one rule for all operators",
            test: ("opgrid-tensor/tests/differences/layouts.rs", "distances_of_complex_numbers_lie_in_rows"),
            when: |seen| {
                let is_thin = |input: &Operand| {
                    input.dtype.is_complex() && input.geometry.sizes().iter().any(|size| *size < 2)
                };
                seen.part == Part::Strides && seen.tensor("self").is_some_and(is_thin)
            },
            directed: None,
        },
    );
    samples.rounds(Abs, pointwise::COMPLEX_ARITHMETIC);
}

fn reference(it: &Inputs) -> Result<Expected> {
    let x = it.tensor("self")?;
    let dtype = match x.dtype() {
        DType::Complex64 => DType::F32,
        DType::Complex128 => DType::F64,
        other => other,
    };
    let magnitude = |x| match x {
        Scalar::Int(x) => Scalar::Int(x.wrapping_abs()),
        x => Scalar::Float(x.to_complex().norm()),
    };
    Ok(Plain::from_fn(dtype, x.sizes(), |position| magnitude(x.at(position))).into())
}

fn shape(input: &Tensor) -> Result<TensorSpec> {
    let dtype = match input.dtype() {
        DType::Complex64 => DType::F32,
        DType::Complex128 => DType::F64,
        DType::Bool => return Err(unsupported(DType::Bool, "a dtype of numbers")),
        other => other,
    };
    pointwise::of_dtype([("self", input)], dtype)
}

fn in_place_shape(input: &Tensor) -> Result<TensorSpec> {
    if input.dtype().is_complex() {
        let message = format!(
            "argument `self` is {}, whose absolute values are real; take `abs`, which gives a new tensor",
            input.dtype()
        );
        return Err(argument(message));
    }
    shape(input)
}

/// Complex numbers give real ones or, as an exception, numbers of their own dtype; others their own dtype only.
fn out_shape(input: &Tensor, out: &Tensor) -> Result<TensorSpec> {
    if !input.dtype().is_complex() || out.dtype().is_complex() {
        pointwise::check_out_dtype(out, input.dtype())?;
    }
    shape(input)
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    match input.dtype() {
        DType::Complex64 => elementwise::unary::<f32, Complex<f32>>(out, input, Magnitude::magnitude),
        DType::Complex128 => elementwise::unary::<f64, Complex<f64>>(out, input, Magnitude::magnitude),
        dtype => with_dtype!(dtype, T: Real => elementwise::unary::<T, T>(out, input, Magnitude::magnitude)),
    }
}
