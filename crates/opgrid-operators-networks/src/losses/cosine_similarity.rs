//! `aten::cosine_similarity`: the cosine of the angle between vectors along a dimension; and the loss of it.
//!
//! `out[j] = sum over i of (x1[i, j] / |x1[:, j]|) * (x2[i, j] / |x2[:, j]|)`, with lengths of at least `eps`
//!
//! `cosine_embedding_loss[j] = 1 - cos(input1[j], input2[j]) if target[j] = 1, max(0, cos - margin) if target[j] = -1, 0
//! otherwise`, reduced to the mean (1) or the sum (2) of all, or not (0), as `reduction` says
//!
//! - Shapes: `x1` and `x2` broadcast, and `dim` disappears. The loss takes a matrix each and a target for each row, or
//!   vectors and a target without dimensions.
//! - Dtypes: promoted; floating-point ones.
//! - Dispatch: composites of arithmetic, `linalg_vector_norm` and `sum`, whose derivatives they inherit.
//! - Errors: other dtypes; a dimension out of range; targets of other dimensions; another `reduction`.
//! - Source: torch.nn.functional.cosine_similarity and cosine_embedding_loss, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::layers::autograd::no_grad;
use opgrid_tensor::ops::{
    AddScalar, AddTensor, ClampMin, ClampMinInplace, DivTensor, EqScalar, Expand, LinalgVectorNorm,
    MulTensor, RsubScalar, Sqrt, SubScalar, SumDim, WhereScalarOther,
};
use opgrid_tensor::tensor::broadcast;

pub use opgrid_tensor::ops::losses::cosine_similarity::*;

const ONE: Scalar = Scalar::Int(1);

pub(super) fn register(library: &mut Library) {
    library.define(CosineSimilarity).kind(&kind::LOSS).implicit(cosine_similarity);
    library.define(CosineEmbeddingLoss).kind(&kind::LOSS).implicit(cosine_embedding_loss);
}

/// The sum of the products along a dimension.
fn dot(a: &Tensor, b: &Tensor, dim: i64, keepdim: bool) -> Result<Tensor> {
    SumDim.call(&MulTensor.call(a, b)?, Some(&[dim]), keepdim, None)
}

/// Each vector is divided by its length first, which keeps the cosine within its range.
fn cosine_similarity(first: &Tensor, second: &Tensor, dim: i64, eps: f64) -> Result<Tensor> {
    let dtype = result_type(&[first, second])?;
    pointwise::check_float(dtype)?;
    let sizes = broadcast(&[first.sizes(), second.sizes()])?;
    let unit = |x: &Tensor| -> Result<Tensor> {
        let x = Expand.call(&loss::narrow(x.clone(), dtype)?, &sizes, false)?;
        let length = LinalgVectorNorm.call(&loss::wide(&x)?, Scalar::Int(2), Some(&[dim]), true, None)?;
        // Gradients pass lengths below `eps`, too, as if they were not raised to that.
        let length = opgrid_tensor::ops::CloneTensor.call(&loss::narrow(length, dtype)?, None)?;
        no_grad(|| ClampMinInplace.call(&length, Scalar::Float(eps)))?;
        DivTensor.call(&x, &length)
    };
    dot(&unit(first)?, &unit(second)?, dim, false)
}

fn cosine_embedding_loss(
    first: &Tensor,
    second: &Tensor,
    target: &Tensor,
    margin: f64,
    reduction: i64,
) -> Result<Tensor> {
    const EPSILON: Scalar = Scalar::Float(1e-12);
    const ZERO: Scalar = Scalar::Int(0);
    let dim = target.spec()?.sizes().len();
    let fits = |x: &Tensor| Ok::<_, opgrid_core::Error>(x.spec()?.sizes().len() == dim + 1);
    if dim > 1 || !fits(first)? || !fits(second)? {
        let message = format!(
            "argument `target` has shape {:?} for inputs of shapes {:?} and {:?}, expected one \
             dimension for matrices, or none for vectors",
            target.sizes(),
            first.sizes(),
            second.sizes()
        );
        return Err(argument(message));
    }
    let dim = dim as i64;
    let square = |x: &Tensor| AddScalar.call(&dot(x, x, dim, false)?, EPSILON, ONE);
    let lengths = Sqrt.call(&MulTensor.call(&square(first)?, &square(second)?)?)?;
    let cosine = DivTensor.call(&dot(first, second, dim, false)?, &lengths)?;
    let alike = RsubScalar.call(&cosine, ONE, ONE)?;
    let other = ClampMin.call(&SubScalar.call(&cosine, Scalar::Float(margin), ONE)?, ZERO)?;
    let alike = WhereScalarOther.call(&EqScalar.call(target, ONE)?, &alike, ZERO)?;
    let other = WhereScalarOther.call(&EqScalar.call(target, Scalar::Int(-1))?, &other, ZERO)?;
    loss::reduced(AddTensor.call(&alike, &other, ONE)?, reduction)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype: DType| -> Vec<Sample> {
            let cases: [(&[i64], &[i64], i64); 6] = [
                (&[2, 3], &[2, 3], 1),
                (&[2, 3], &[3], -1),
                (&[3, 4], &[3, 4], 0),
                (&[2, 1, 3], &[1, 4, 3], 2),
                (&[4], &[4], 0),
                (&[0, 3], &[0, 3], 1),
            ];
            let one = |(a, b, dim): (&[i64], &[i64], i64)| {
                given(generate::nonzero(dtype, a, 1)).and(generate::nonzero(dtype, b, 2)).and(dim)
            };
            cases.map(one).to_vec()
        };
        samples
            .operator(CosineSimilarity, FLOATS, inputs, |it| {
                let (a, b, dim): (_, _, i64) = (it.tensor("x1")?, it.tensor("x2")?, it.value("dim")?);
                let sizes = naive::broadcast([a.sizes(), b.sizes()].into_iter())?;
                let wide = |x: &Plain| Plain::from_fn(DType::F64, &sizes, |position| x.at(position));
                let (a, b) = (wide(a), wide(b));
                let product = Plain::from_fn(DType::F64, &sizes, |position| {
                    number::times(a.at(position), b.at(position))
                });
                let sum =
                    |elements: &[Scalar]| Scalar::Float(elements.iter().map(|x| x.to_complex().re).sum());
                let length = |elements: &[Scalar]| {
                    Scalar::Float(elements.iter().map(|x| x.to_complex().re.powi(2)).sum::<f64>().sqrt())
                };
                let over = |x: &Plain, function: &dyn Fn(&[Scalar]) -> Scalar| {
                    x.reduced(Some(&[dim]), false, DType::F64, function)
                };
                let (product, a, b) = (over(&product, &sum), over(&a, &length), over(&b, &length));
                let one = |position: &[i64]| {
                    let [product, a, b] = [&product, &a, &b].map(|x| x.at(position).to_complex().re);
                    Scalar::Float(product / (a * b))
                };
                Ok(Plain::from_fn(it.tensor("x1")?.dtype(), product.sizes(), one).into())
            })
            .tolerance(32.0);
        let pairs = |dtype: DType| -> Vec<Sample> {
            if !dtype.is_floating_point() {
                return Vec::new();
            }
            let of = |rows: &[i64]| {
                let x = |seed| generate::nonzero(dtype, &[rows, &[3]].concat(), seed);
                given(x(1)).and(x(2)).and(Plain::from_elements(DType::I64, rows, &[1, -1]))
            };
            generate::and_named(
                loss::samples::all_reductions(vec![of(&[4]), of(&[]), of(&[0])]),
                "margin",
                0.25,
            )
        };
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(CosineEmbeddingLoss, FLOATS, pairs, |it| {
                let (a, b, target) = (it.tensor("input1")?, it.tensor("input2")?, it.tensor("target")?);
                let margin: f64 = it.value("margin")?;
                let losses = Plain::from_fn(DType::F64, target.sizes(), |position| {
                    let row = |x: &Plain| -> Vec<f64> {
                        (0..3).map(|at| x.at(&[position, &[at]].concat()).to_complex().re).collect()
                    };
                    let (a, b) = (row(a), row(b));
                    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                    let cosine = dot(&a, &b) / ((dot(&a, &a) + 1e-12) * (dot(&b, &b) + 1e-12)).sqrt();
                    let is_alike = target.at(position) == Scalar::Int(1);
                    Scalar::Float(if is_alike { 1.0 - cosine } else { (cosine - margin).max(0.0) })
                });
                Ok(match loss::samples::reduced_plain(&losses, it.value("reduction")?) {
                    Expected::Tensor(losses) => losses.to(a.dtype()).into(),
                    other => other,
                })
            })
            .tolerance(loss::samples::TOLERANCE)
            .refuses("`target`", given(x.clone()).and(x.clone()).and(x));
        samples.rounds(CosineSimilarity, Roundings::all(Rounding::Sum(64)));
        samples.rounds(CosineEmbeddingLoss, Roundings::all(Rounding::Sum(64)));
        samples.differs(CosineEmbeddingLoss, loss::samples::CHECKED);
        samples.differs(
            CosineSimilarity,
            Difference {
                id: "lengths-in-the-promoted-dtype",
                what: "torch divides each vector by its norm in its own dtype, where `eps` may be zero \
                     and a vector of zeros becomes NaN; here in the promoted dtype",
                why: "`eps` exists for such vectors",
                test: ("opgrid-operators/tests/all/differences/numbers.rs", "cosines_of_zeros_are_zero"),
                when: |seen| {
                    let of = |name| seen.tensor(name).map(|x: &Operand| x.dtype);
                    of("x1") != of("x2") && seen.each(|(_, ours, torch)| ours.re == 0.0 && torch.re.is_nan())
                },
                directed: Some(Directed {
                    operator: "aten::cosine_similarity",
                    arguments: || {
                        vec![
                            ("x1", Operand::rows(0, DType::F16, &[1, 2], &[0.0, 0.0]).into()),
                            ("x2", Operand::rows(1, DType::F32, &[1, 2], &[1.0, 2.0]).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
    }
}
