//! `aten::huber_loss`, `aten::huber_loss_backward`: squares of small differences, sizes of large ones, and the gradient of the input.
//!
//! `loss[i] = d^2 / 2 if d <= delta, delta * (d - delta / 2) otherwise, with d = |self[i] - target[i]|`, reduced to the mean (1) or the sum (2) of all, or not (0), as `reduction` says;
//! `grad_input[i] = min(max(self[i] - target[i], -delta), delta) * grad_output[i]`, over the number of elements of `self` for a mean
//!
//! - Shapes: `self` and `target` broadcast, and `grad_output` to them; none with a reduction.
//! - Dtypes: that of `self`, a floating-point one, whatever floats, integers or bools `target` has; computed in what they promote to,
//!   which `huber_loss.out` writes. The gradient has one dtype for all.
//! - Aliasing: `huber_loss.out` writes `out`, `huber_loss_backward.out` writes `grad_input`.
//! - Dispatch: a composite of arithmetic and `where`, in single precision for 16-bit floats; the gradient of `sub`, `clamp` and `mul`.
//! - Errors: other dtypes; a `delta` that is not positive; another `reduction`.
//! - Source: torch.nn.functional.huber_loss, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Abs, LeScalar, MulScalar, MulTensor, SubScalar, SubTensor, WhereSelf};

pub use opgrid_tensor::ops::losses::huber_loss::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(HuberLoss, &kind::LOSS)
        .on_every_backend(|input, target, reduction, delta| {
            huber_loss(input, target, reduction, delta, input.spec()?.dtype())
        })
        .derivative(|d, (input, target, reduction, delta)| {
            loss::of_difference(d, [input, target], reduction, move |x| slope(x, delta))
        });
    library.implement(HuberLossOut).on_every_backend(|input, target, reduction, delta, out| {
        let loss = huber_loss(input, target, reduction, delta, result_type(&[input, target])?)?;
        result::converted(&[(out, &loss)])
    });
    library.implicit(HuberLossBackward, &kind::LOSS, |grad, input, target, reduction, delta| {
        check_delta(delta)?;
        pointwise::check_float(input.spec()?.dtype())?;
        pointwise::check_one_dtype(("self", input), ("target", target))?;
        pointwise::check_one_dtype(("self", input), ("grad_output", grad))?;
        loss::by_difference(grad, [input, target], (reduction, input.numel()), |x| slope(x, delta))
    });
}

/// # Errors
///
/// A number that is not positive.
fn check_delta(delta: f64) -> Result<()> {
    if delta > 0.0 {
        Ok(())
    } else {
        Err(argument(format!("argument `delta` is {delta}, expected a positive number")))
    }
}

fn slope(difference: &Tensor, delta: f64) -> Result<Tensor> {
    difference.clamp(Some((-delta).into()), Some(delta.into()))
}

fn huber_loss(input: &Tensor, target: &Tensor, reduction: i64, delta: f64, dtype: DType) -> Result<Tensor> {
    check_delta(delta)?;
    pointwise::check_float(dtype)?;
    let [input, target] = loss::promoted([input, target])?;
    // One conversion is enough in most cases, and the losses lie as the other of the two does.
    let target = loss::wide(&target)?;
    let input = match result_type(&[&input, &target])? {
        DType::F16 | DType::BF16 => loss::wide(&input)?,
        _ => input,
    };
    let distance = Abs.call(&SubTensor.call(&input, &target, Scalar::Int(1))?)?;
    let square = MulScalar.call(&MulTensor.call(&distance, &distance)?, Scalar::Float(0.5))?;
    let line = SubScalar.call(&distance, Scalar::Float(0.5 * delta), Scalar::Int(1))?;
    let line = MulScalar.call(&line, Scalar::Float(delta))?;
    let is_small = LeScalar.call(&distance, Scalar::Float(delta))?;
    loss::reduced(loss::narrow(WhereSelf.call(&is_small, &square, &line)?, dtype)?, reduction)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2], 0);
        let inputs = |dtype| generate::and_named(loss::samples::pairs(dtype), "delta", 0.5);
        samples
            .operator(HuberLoss, FLOATS, inputs, |it| {
                let delta: f64 = it.value("delta")?;
                loss::samples::of_two(it, ["self", "target"], |a, b| match (a - b).abs() {
                    d if d <= delta => 0.5 * d * d,
                    d => delta * (d - 0.5 * delta),
                })
            })
            .tolerance(loss::samples::TOLERANCE)
            .refuses("`delta` is 0", given(x.clone()).and(x.clone()).named("delta", 0.0))
            .refuses("not implemented for 'Long'", given(x.to(DType::I64)).and(x.clone()));
        loss::samples::collect_gradient(
            samples,
            HuberLossBackward,
            |dtype| loss::samples::gradients(dtype, &[0.5]),
            |a, b| (a - b).clamp(-0.5, 0.5),
        )
        .refuses("`delta` is 0", given(x.clone()).and(x.clone()).and(x.clone()).and(0).and(0.0))
        .refuses("expected float32 as `self`", given(x.to(DType::F64)).and(x.clone()).and(x).and(0).and(1.0));
        samples.rounds(HuberLoss, Roundings::all(Rounding::Sum(64)));
        samples.differs_as(HuberLoss, loss::samples::OUTPUTS);
        samples.differs_as(HuberLoss, &[loss::samples::CHECKED, departures::math::NOT_FINITE]);
    }
}
