//! `aten::angle`: the angles of complex numbers.
//!
//! `out[i] = atan2(imag(self[i]), real(self[i]))`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of the parts; real numbers stay what they are, and have the angle pi if they are negative, 0 otherwise;
//!   integers and bools give the default dtype. NaN stays NaN.
//! - Aliasing: `angle.out` writes `out`.
//! - Source: torch.angle, PyTorch 2.15.

use num_complex::Complex;

use crate::ops::prelude::*;

operator! {
    home = crate::home_of(register);
    /// The angles of complex numbers.
    pub Angle = "aten::angle(Tensor self) -> Tensor", out, method;
}

/// Kind, shape rule and `out` rule, for everybody.
pub const ANGLE: Family<Angle> = Family::new(Angle, &kind::POINTWISE_UNARY, shape);

pub(super) fn register(library: &mut Library) {
    library.family(&ANGLE).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [input], |grad, [x]| {
            if !x.dtype().is_complex() {
                return derivatives::zeros(grad);
            }
            let distance = x.abs()?;
            let turned = ((grad * (x * Complex64::I)?)? / (&distance * &distance)?)?;
            derivatives::where_false(&distance.eq_scalar(0)?, &turned)
        })
    });
}

pub(super) fn samples(samples: &mut Samples) {
    samples
        .of(Angle, ANY, make::unary, |it| {
            let x = it.tensor("self")?;
            let angle = |x: Scalar| match x {
                Scalar::Complex(x) => x.im.atan2(x.re),
                x if number::is_nan(x) => f64::NAN,
                x if x.to_complex().re < 0.0 => std::f64::consts::PI,
                _ => 0.0,
            };
            let dtype = part_of(inexact(x.dtype()));
            Ok(Plain::from_fn(dtype, x.sizes(), |position| Scalar::Float(angle(x.at(position)))).into())
        })
        .tolerance(4.0);
    samples.rounds(Angle, pointwise::ELEMENTARY);
    samples.differs(
        Angle,
        Difference {
            id: "angles-of-real-numbers-lie-as-they-do",
            what: "torch lays the angles of real numbers in rows; here they lie as the numbers",
            why: "one rule for all operators",
            test: ("opgrid-tensor/tests/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
            when: |seen| seen.lies_in_rows_there(),
            directed: None,
        },
    );
}

fn shape(input: &Tensor) -> Result<TensorSpec> {
    pointwise::of_dtype([("self", input)], part_of(inexact(input.spec()?.dtype())))
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    match input.dtype() {
        DType::Complex64 => elementwise::unary::<f32, Complex<f32>>(out, input, |z| z.im.atan2(z.re)),
        DType::Complex128 => elementwise::unary::<f64, Complex<f64>>(out, input, |z| z.im.atan2(z.re)),
        dtype => with_dtype!(inexact(dtype), T: Float => {
            let pi = std::f64::consts::PI as Math<T>;
            elementwise::unary::<T, T>(out, input, move |x| {
                let angle = if x < 0.0 { pi } else { 0.0 };
                if x.is_nan() { x } else { angle }
            })
        }),
    }
}
