//! `aten::glu`: the first half of a dimension times the logistic function of the second one.
//!
//! `out = a * sigmoid(b)`, where `a` and `b` are the halves of `self` along `dim`
//!
//! - Shapes: that of `self` with half the size in `dim`, which must be even.
//! - Dtypes: floating-point ones.
//! - Aliasing: `glu.out` writes `out`.
//! - Errors: other dtypes; no dimensions; a dimension out of range or of an odd size.
//! - Source: torch.nn.functional.glu, PyTorch 2.15; Y. N. Dauphin et al., Language Modeling with Gated Convolutional
//!   Networks (2016).

use crate::prelude::*;
use opgrid_tensor::ops::Cat;
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::activations::glu::*;

/// The family of `aten::glu`: its kind, shape rule and `out` rule.
pub const GLU: Family<Glu> = Family::new(Glu, &kind::GATE, shape);

pub(super) fn register(library: &mut Library) {
    library.family(&GLU).cpu(cpu).derivative(|d, (input, dim)| {
        d.by(input, [input], move |grad, [x]| {
            let halves = x.chunk(2, dim)?;
            let gate = halves[1].sigmoid()?;
            let first = (grad * &gate)?;
            let second = ((&first * &halves[0])? * (1 - gate)?)?;
            Cat.call(&[first, second], dim)
        })
    });
}

/// Where the halves lie.
fn halves(input: &Tensor, dim: i64) -> Result<[Geometry; 2]> {
    let geometry = input.spec()?.geometry();
    if geometry.dims() == 0 {
        return Err(argument("argument `self` has no dimensions, expected one to split in halves"));
    }
    let dim = normalise_dim(dim, geometry.dims())?;
    let size = geometry.sizes()[dim];
    if size % 2 != 0 {
        let message = format!("argument `self` has size {size} in dimension {dim}, expected an even size");
        return Err(argument(message));
    }
    let half = |start: i64| geometry.slice(dim as i64, start, start + size / 2, 1);
    Ok([half(0)?, half(size / 2)?])
}

fn shape(input: &Tensor, dim: i64) -> Result<TensorSpec> {
    let spec = input.spec()?;
    pointwise::check_float(spec.dtype())?;
    let [first, second] = halves(input, dim)?;
    TensorSpec::elementwise(&[&first, &second], spec.dtype(), spec.device())
}

fn cpu(input: &Tensor, dim: i64, out: &Tensor) -> Result<()> {
    let [first, second] = halves(input, dim)?;
    let (first, second) = (input.array()?.view(first)?, input.array()?.view(second)?);
    with_dtype!(input.dtype(), T: Float => {
        elementwise::binary::<T, T, T>(out, &first, &second, |a, b| a * Inexact::sigmoid(b))
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [(&[i64], i64); 6] =
                [(&[2, 4], -1), (&[4, 3], 0), (&[2, 4, 3], 1), (&[6], 0), (&[0, 2], 1), (&[3, 74], 1)];
            cases.map(|(sizes, dim)| given(generate::numbers(dtype, sizes, 1)).and(dim)).to_vec()
        };
        samples
            .operator(Glu, FLOATS, inputs, |it| {
                let (x, dim): (_, i64) = (it.tensor("self")?, it.value("dim")?);
                let dim = naive::dimension(dim, x.sizes().len());
                let mut sizes = x.sizes().to_vec();
                sizes[dim] /= 2;
                let half = sizes[dim];
                Ok(Plain::from_fn(x.dtype(), &sizes, |position| {
                    let mut second = position.to_vec();
                    second[dim] += half;
                    let [a, b] = [position, &second].map(|position| x.at(position).to_complex().re);
                    Scalar::Float(a / (1.0 + (-b).exp()))
                })
                .into())
            })
            .tolerance(8.0)
            .refuses("expected an even size", given(generate::numbers(DType::F32, &[2, 3], 0)))
            .refuses("dimensions", given(Plain::number(DType::F32, 1)))
            .refuses("range", given(generate::numbers(DType::F32, &[2, 4], 0)).and(2));
        samples.rounds(Glu, pointwise::samples::ELEMENTARY);
    }
}
