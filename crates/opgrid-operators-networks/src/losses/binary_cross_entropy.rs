//! `aten::binary_cross_entropy`, `aten::binary_cross_entropy_backward`: how unlikely targets are under probabilities of two classes,
//! and the gradient of the probabilities.
//!
//! `loss[i] = -weight[i] * (target[i] * ln(self[i]) + (1 - target[i]) * ln(1 - self[i]))`, where logarithms are at least -100;
//! reduced to the mean (1) or the sum (2) of all, or not (0), as `reduction` says;
//! `grad_input[i] = weight[i] * grad_output[i] * (self[i] - target[i]) / max(self[i] * (1 - self[i]), 1e-12)`, over the number of
//! elements for a mean
//!
//! - Shapes: that of `self`, to which the others broadcast; none with a reduction.
//! - Dtypes: one for `self` and `target`, a floating-point one, which the losses have whatever `weight` has.
//! - Aliasing: `binary_cross_entropy.out` writes `out`, `binary_cross_entropy_backward.grad_input` writes `grad_input`.
//! - Derivative: the weights have none.
//! - Dispatch: composites of logarithms and arithmetic.
//! - Errors: other dtypes, two dtypes; other shapes; elements of `self` or `target` that are no probabilities, at which the gradient
//!   does not look; another `reduction`.
//! - Source: torch.nn.functional.binary_cross_entropy, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{
    All, ClampMin, GeScalar, LeScalar, LocalScalarDense, Log, Log1p, LogicalAnd, MulInplaceTensor, MulTensor,
    Neg, SubInplaceTensor, SubScalar,
};

pub use opgrid_tensor::ops::losses::binary_cross_entropy::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(BinaryCrossEntropy, &kind::LOSS)
        .on_every_backend(binary_cross_entropy)
        .derivative(|d, (input, target, weight, reduction)| {
            loss::check_constant(d, "weight", weight)?;
            let count = input.numel();
            d.together(
                [Some(input), Some(target)],
                [Some(input), Some(target), weight],
                move |grads, kept, needs| {
                    let (Some(grad), [Some(x), Some(y), weight]) = (grads.for_result(0), kept) else {
                        return Ok([None, None]);
                    };
                    let grad = weighted(loss::of_each(grad, reduction, count)?, weight)?;
                    Ok([
                        needs[0].then(|| slope(&grad, x, y)).transpose()?,
                        needs[1].then(|| slope_of_target(&grad, x)).transpose()?,
                    ])
                },
            )
        });
    library.implement(BinaryCrossEntropyOut).on_every_backend(|input, target, weight, reduction, out| {
        result::converted(&[(out, &binary_cross_entropy(input, target, weight, reduction)?)])
    });
    library.implicit(BinaryCrossEntropyBackward, &kind::LOSS, |grad, input, target, weight, reduction| {
        pointwise::check_float(input.spec()?.dtype())?;
        for (name, other) in [("grad_output", grad), ("target", target)] {
            pointwise::check_one_dtype(("self", input), (name, other))?;
            loss::check_fits(name, other, input)?;
        }
        if let Some(weight) = weight {
            loss::check_fits("weight", weight, input)?;
        }
        let grad = loss::of_each(grad, reduction, input.numel())?;
        slope(&weighted(grad, weight)?, input, target)?.to_dtype(input.dtype())
    });
}

fn binary_cross_entropy(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: i64,
) -> Result<Tensor> {
    const ONE: Scalar = Scalar::Int(1);
    const LEAST: Scalar = Scalar::Int(-100);
    pointwise::check_one_dtype(("self", input), ("target", target))?;
    pointwise::check_float(input.dtype())?;
    loss::Reduction::numbered(reduction)?;
    loss::check_fits("target", target, input)?;
    check_probabilities("self", input, "for logits use `binary_cross_entropy_with_logits`")?;
    check_probabilities("target", target, "clamp them")?;
    let yes = ClampMin.call(&Log.call(input)?, LEAST)?;
    // In place, so that the losses lie as the input.
    let losses = ClampMin.call(&Log1p.call(&Neg.call(input)?)?, LEAST)?;
    MulInplaceTensor.call(&losses, &SubScalar.call(target, ONE, ONE)?)?;
    SubInplaceTensor.call(&losses, &MulTensor.call(target, &yes)?, ONE)?;
    loss::weigh(&losses, weight)?;
    loss::reduced(losses, reduction)
}

/// The gradients of losses times the weights of these, if there are some.
pub(super) fn weighted(grad: Tensor, weight: Option<&Tensor>) -> Result<Tensor> {
    match weight {
        Some(weight) => MulTensor.call(&grad, weight),
        None => Ok(grad),
    }
}

/// # Errors
///
/// An element outside of 0 to 1, or NaN. Meta tensors have none.
fn check_probabilities(name: &str, tensor: &Tensor, remedy: &str) -> Result<()> {
    if tensor.device().is_meta() {
        return Ok(());
    }
    let (zero, one) = (Scalar::Int(0), Scalar::Int(1));
    let inside = LogicalAnd.call(&GeScalar.call(tensor, zero)?, &LeScalar.call(tensor, one)?)?;
    if LocalScalarDense.call(&All.call(&inside)?)?.to_bool() {
        Ok(())
    } else {
        Err(argument(format!(
            "argument `{name}` has elements outside of 0 to 1, expected probabilities; {remedy}"
        )))
    }
}

/// The gradient by the probability; those of zero and of one have a large one.
fn slope(grad: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let spread = (x * (1 - x)?)?.clamp_min(1e-12)?;
    ((x - y)? * grad)? / spread
}

/// The gradient by the target: the logarithms have their limits in it too.
fn slope_of_target(grad: &Tensor, x: &Tensor) -> Result<Tensor> {
    let (yes, no) = (x.log()?.clamp_min(-100)?, (-x)?.log1p()?.clamp_min(-100)?);
    grad * (no - yes)?
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype: DType| -> Vec<Sample> {
            let shapes: [&[i64]; 4] = [&[2, 3], &[], &[0], &[2, 37]];
            let pair = |sizes: &[i64]| {
                let probabilities = Plain::from_elements(dtype, sizes, &[0.5, 0.25, 1.0, 0.0, 0.875]);
                given(probabilities).and(Plain::from_elements(dtype, sizes, &[1.0, 0.0, 1.0, 1.0, 0.25]))
            };
            let plain = shapes.map(pair).to_vec();
            let weighted = pair(&[2, 3]).and(Plain::from_elements(dtype, &[3], &[0.5, 2.0, 1.0]));
            loss::samples::all_reductions([plain, vec![weighted]].concat())
        };
        let gradients = |dtype: DType| -> Vec<Sample> {
            // More elements than derivatives of gradients are looked at for: beyond probabilities, where checks go as well, gradients are
            // too steep for differences.
            let shapes: [&[i64]; 4] = [&[3, 7], &[], &[0], &[2, 37]];
            let pair = |sizes: &[i64]| {
                let probabilities = Plain::from_elements(dtype, sizes, &[0.5, 0.25, 0.75, 0.625, 0.875]);
                given(probabilities).and(Plain::from_elements(dtype, sizes, &[1.0, 0.0, 0.5, 1.0, 0.25]))
            };
            let weights = || Plain::from_elements(dtype, &[7], &[0.5, 2.0, 1.0]);
            let none =
                |sizes: &[i64]| loss::samples::with_gradients(dtype, sizes, pair(sizes).and(Value::None));
            let some = loss::samples::with_gradients(dtype, &[3, 7], pair(&[3, 7]).and(weights()));
            shapes.into_iter().flat_map(none).chain(some).collect()
        };
        loss::samples::collect_gradient(samples, BinaryCrossEntropyBackward, gradients, |x, target| {
            (x - target) / (x * (1.0 - x))
        })
        .constant(&["weight"]);
        let x = generate::numbers(DType::F32, &[3], 0);
        let half = Plain::from_elements(DType::F32, &[3], &[0.5]);
        samples
            .operator(BinaryCrossEntropy, FLOATS, inputs, |it| {
                let (x, target, weight) =
                    (it.tensor("self")?, it.tensor("target")?, it.tensor("weight").ok());
                let losses = Plain::from_fn(DType::F64, x.sizes(), |position| {
                    let at = |tensor: &Plain| tensor.at(position).to_complex().re;
                    let (x, target) = (at(x), at(target));
                    let loss = -target * x.ln().max(-100.0) - (1.0 - target) * (-x).ln_1p().max(-100.0);
                    Scalar::Float(weight.map_or(1.0, at) * loss)
                });
                Ok(match loss::samples::reduced_plain(&losses, it.value("reduction")?) {
                    Expected::Tensor(losses) => losses.to(x.dtype()).into(),
                    other => other,
                })
            })
            .tolerance(loss::samples::TOLERANCE)
            .constant(&["weight"])
            .refuses_data(
                "expected probabilities",
                given(Plain::from_elements(DType::F32, &[3], &[0.5, 1.5, 0.0])).and(half.clone()),
            )
            .refuses_data(
                "`target` has elements",
                given(half.clone()).and(Plain::from_elements(DType::F32, &[3], &[2.0, 1.0])),
            )
            .refuses_data(
                "`self` has elements",
                given(Plain::from_elements(DType::F32, &[3], &[f64::NAN])).and(half.clone()),
            )
            .refuses("expected float32 as `self`", given(half.clone()).and(x.to(DType::F64)))
            .refuses(
                "broadcasts to the shape of the losses, [3]",
                given(half.clone()).and(Plain::from_elements(DType::F32, &[2, 3], &[1.0])),
            )
            .refuses(
                "broadcasts to the shape of the losses, [3]",
                given(half.clone()).and(half).and(Plain::from_elements(DType::F32, &[2, 3], &[1.0])),
            );
        samples.rounds(BinaryCrossEntropy, Roundings::all(Rounding::Sum(64)));
        samples.differs_as(BinaryCrossEntropy, loss::samples::OUTPUTS);
        samples.differs_as(BinaryCrossEntropy, &[loss::samples::CHECKED, SQUEEZED]);
    }

    /// Differences for shapes that do not match.
    const SQUEEZED: Difference = Difference {
        id: "targets-of-other-dimensions",
        what: "torch removes the dimensions of size 1 of probabilities and targets before it broadcasts \
             them, so that rows may be combined with columns, and gives the losses the shape of the \
             probabilities even if they do not fit; here targets broadcast to probabilities as in all \
             operators",
        why: "every loss belongs to one pair of elements",
        test: ("opgrid-operators/tests/all/losses.rs", "what_torch_does_not_check_is_refused"),
        when: |seen| {
            let (Some(input), Some(target)) = (seen.tensor("self"), seen.tensor("target")) else {
                return false;
            };
            let [sizes, others] = [input, target].map(|tensor| tensor.geometry.sizes());
            match seen.part {
                Part::Outcome if seen.we_refuse("argument `target` has shape") => true,
                Part::Outcome => sizes != others && seen.torch_refuses("must match the size of tensor b"),
                Part::Values => sizes != others && others.contains(&1),
                _ => false,
            }
        },
        directed: None,
    };
}
