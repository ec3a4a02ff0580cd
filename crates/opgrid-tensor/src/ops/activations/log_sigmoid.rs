//! `aten::log_sigmoid`: the logarithm of the logistic function.
//!
//! `out[i] = min(self[i], 0) - ln(1 + e ^ -|self[i]|)`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones.
//! - Aliasing: the `out` overloads write `out`, or `output` and `buffer`, which have the dtype of `self`.
//! - Derivative: the buffer is constant.
//! - Dispatch: `log_sigmoid` is a composite of `log_sigmoid_forward`, whose second result is `e ^ -|self[i]|`, which its slope
//!   needs.
//! - Errors: other dtypes.
//! - Source: torch.nn.functional.logsigmoid, PyTorch 2.15.

use crate::ops::prelude::*;

operator! {
    home = crate::home_of(register);
    /// The logarithm of the logistic function.
    pub LogSigmoid = "aten::log_sigmoid(Tensor self) -> Tensor", out, method;
    pub LogSigmoidForward = "aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)";
    pub LogSigmoidForwardOutput = "aten::log_sigmoid_forward.output(Tensor self, *, Tensor(a!) output, Tensor(b!) buffer) -> (Tensor(a!), Tensor(b!))";
}

/// Kind, shape rule and `out` rule, for everybody.
pub const LOG_SIGMOID_FORWARD: Family<LogSigmoidForward> =
    Family::new(LogSigmoidForward, &kind::POINTWISE_UNARY, |input| {
        let spec = pointwise::float_unary(input)?;
        Ok((spec.clone(), spec))
    });

pub(super) fn register(library: &mut Library) {
    library.family(&LOG_SIGMOID_FORWARD).cpu(cpu).derivative(|d, (input,)| {
        d.differentiable(1);
        d.by(input, [input], |grad, [x]| grad * (-x)?.sigmoid()?)
    });
    library
        .define_with_forms(LogSigmoid, &kind::POINTWISE_UNARY)
        .implicit(|input| Ok(LogSigmoidForward.call(input)?.0));
    library.implement(LogSigmoidOut).implicit(|input, out| {
        let made = LogSigmoidForward.call(input)?.0;
        result::same_dtype(out, made.spec()?)?;
        result::converted(&[(out, &made)])
    });
    library.define(LogSigmoidForwardOutput).kind(&kind::POINTWISE_UNARY).on_every_backend(
        |input, out, buffer| {
            let (made, power) = LogSigmoidForward.call(input)?;
            result::same_dtype(out, made.spec()?)?;
            result::same_dtype(buffer, power.spec()?)?;
            result::converted(&[(out, &made), (buffer, &power)])
        },
    );
}

pub(super) fn samples(samples: &mut Samples) {
    let in_rows = Difference {
        id: "logarithms-of-sigmoids-lie-as-their-inputs",
        what: "torch lays the logarithms of sigmoids in rows; here they lie as the input",
        why: "one rule for all operators",
        test: ("opgrid-tensor/tests/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
        when: |seen| seen.lies_in_rows_there(),
        directed: None,
    };
    samples.differs(LogSigmoid, in_rows);
    samples.differs(LogSigmoidForward, in_rows);
    activation::samples(samples, LogSigmoid, log_sigmoid).tolerance(8.0);
    let both = |it: &Inputs| {
        let of = |function: fn(f64) -> f64| it.unary(DTypeRule::Promoted, |x| number::float_by(x, function));
        Ok([of(log_sigmoid)?, of(|x| (-x.abs()).exp())?].into())
    };
    samples.of(LogSigmoidForward, FLOATS, make::unary, both).tolerance(8.0).constant(&["buffer"]);
    let with_outputs = |dtype| -> Vec<Sample> {
        let shapes: [&[i64]; 3] = [&[2, 3], &[], &[0]];
        let x = |sizes: &[i64], seed| make::numbers(dtype, sizes, seed);
        let one =
            |sizes: &[i64]| given(x(sizes, 1)).named("output", x(sizes, 2)).named("buffer", x(sizes, 3));
        shapes.map(one).to_vec()
    };
    samples.of(LogSigmoidForwardOutput, FLOATS, with_outputs, both).tolerance(8.0);
    samples.rounds(LogSigmoid, pointwise::ELEMENTARY);
    samples.rounds(LogSigmoidForward, pointwise::ELEMENTARY);
}

fn log_sigmoid(x: f64) -> f64 {
    let below = if x > 0.0 { 0.0 } else { x };
    below - (-x.abs()).exp().ln_1p()
}

/// The buffer first: `self` may lie where the result does.
fn cpu(input: &Tensor, out: &Tensor, buffer: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => {
        elementwise::unary::<T, T>(buffer, input, |x| Inexact::exp(-x.abs()))?;
        elementwise::binary::<T, T, T>(out, input, buffer, |x, power| {
            let below = if x > 0.0 { 0.0 } else { x };
            below - Functions::ln_1p(power)
        })
    })
}
