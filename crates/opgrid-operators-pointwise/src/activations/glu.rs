//! `aten::glu`, `aten::glu_backward`, `aten::glu_jvp`, `aten::glu_backward_jvp`: the first half of a dimension times the logistic
//! function of the second one, its gradient, and the tangents of both.
//!
//! `out = a * sigmoid(b)`, where `a` and `b` are the halves of `self` along `dim`; the halves of the gradient are
//! `grad_output * sigmoid(b)` and `grad_output * out * (1 - sigmoid(b))`
//!
//! - Shapes: that of `self` with half the size in `dim`, which must be even; the gradient has that of `self`.
//! - Dtypes: floating-point ones.
//! - Aliasing: the `out` forms write `out`, that of `glu_backward` `grad_input`.
//! - Dispatch: the gradient and the tangents are composites of `sigmoid`, arithmetic and `cat`.
//! - Errors: other dtypes; no dimensions; a dimension out of range or of an odd size.
//! - Source: torch.nn.functional.glu, PyTorch 2.15; Y. N. Dauphin et al., Language Modeling with Gated Convolutional
//!   Networks (2016).

use crate::prelude::*;
use opgrid_tensor::ops::Cat;
use opgrid_tensor::tensor::broadcast;
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::activations::glu::*;

/// The family of `aten::glu`: its kind, shape rule and `out` rule.
pub const GLU: Family<Glu> = Family::new(Glu, &kind::GATE, shape);

pub(super) fn register(library: &mut Library) {
    library
        .family(&GLU)
        .cpu(cpu)
        .derivative(|d, (input, dim)| d.by(input, [input], move |grad, [x]| gradient(grad, x, dim)));
    library.implicit(GluBackward, &kind::GATE, gradient);
    library.implicit(GluJvp, &kind::GATE, tangent);
    library.implicit(GluBackwardJvp, &kind::GATE, tangent_of_gradient);
}

fn gradient(grad: &Tensor, input: &Tensor, dim: i64) -> Result<Tensor> {
    let [a, b] = parts("self", input, dim)?;
    check_half("grad_output", grad, &a)?;
    let gate = b.sigmoid()?;
    let first = (grad * &gate)?;
    let second = ((&first * a)? * (1 - gate)?)?;
    Cat.call(&[first, second], dim)
}

fn tangent(glu: &Tensor, x: &Tensor, dx: &Tensor, dim: i64) -> Result<Tensor> {
    let ([a, b], [da, db]) = (parts("x", x, dim)?, parts("dx", dx, dim)?);
    check_half("glu", glu, &a)?;
    let gate = b.sigmoid()?;
    (da * &gate)? + (glu * (db * (1 - gate)?)?)?
}

fn tangent_of_gradient(
    grad_x: &Tensor,
    grad_glu: &Tensor,
    x: &Tensor,
    dgrad_glu: &Tensor,
    dx: &Tensor,
    dim: i64,
) -> Result<Tensor> {
    let ([a, b], [da, db]) = (parts("x", x, dim)?, parts("dx", dx, dim)?);
    // The gradient of the second half follows from that of the first one.
    let [grad_a, _] = parts("grad_x", grad_x, dim)?;
    check_half("grad_x", &grad_a, &a)?;
    check_half("grad_glu", grad_glu, &a)?;
    check_half("dgrad_glu", dgrad_glu, &a)?;
    let gate = b.sigmoid()?;
    // The gate moves by itself times this.
    let step = (db * (1 - &gate)?)?;
    let first = ((dgrad_glu * &gate)? + (&grad_a * &step)?)?;
    let rest = (1 - &gate)?;
    let moved = ((&first * &a)? + (&grad_a * da)?)?;
    let second = ((moved * rest)? - ((grad_a * a)? * (gate * step)?)?)?;
    Cat.call(&[first, second], dim)
}

/// The halves of a tensor of floats.
fn parts(name: &str, input: &Tensor, dim: i64) -> Result<[Tensor; 2]> {
    pointwise::check_float(input.spec()?.dtype())?;
    let [half, _] = halves(name, input, dim)?;
    let size = half.sizes()[normalise_dim(dim, half.dims())?];
    Ok([input.narrow(dim, 0, size)?, input.narrow(dim, size, size)?])
}

/// # Errors
///
/// A tensor that does not broadcast to the shape of a half, or has another dtype.
fn check_half(name: &str, tensor: &Tensor, half: &Tensor) -> Result<()> {
    let (spec, half) = (tensor.spec()?, half.spec()?);
    let fits = broadcast(&[spec.sizes(), half.sizes()]).is_ok_and(|sizes| sizes.as_slice() == half.sizes());
    if fits && spec.dtype() == half.dtype() {
        return Ok(());
    }
    let message = format!(
        "argument `{name}` has shape {:?} and dtype {}, expected one that broadcasts to {:?} and {}, as half of the input",
        spec.sizes(),
        spec.dtype(),
        half.sizes(),
        half.dtype()
    );
    Err(argument(message))
}

/// Where the halves lie.
fn halves(name: &str, input: &Tensor, dim: i64) -> Result<[Geometry; 2]> {
    let geometry = input.spec()?.geometry();
    if geometry.dims() == 0 {
        let message = format!("argument `{name}` has no dimensions, expected one to split in halves");
        return Err(argument(message));
    }
    let dim = normalise_dim(dim, geometry.dims())?;
    let size = geometry.sizes()[dim];
    if size % 2 != 0 {
        let message = format!("argument `{name}` has size {size} in dimension {dim}, expected an even size");
        return Err(argument(message));
    }
    let half = |start: i64| geometry.slice(dim as i64, start, start + size / 2, 1);
    Ok([half(0)?, half(size / 2)?])
}

fn shape(input: &Tensor, dim: i64) -> Result<TensorSpec> {
    let spec = input.spec()?;
    pointwise::check_float(spec.dtype())?;
    let [first, second] = halves("self", input, dim)?;
    TensorSpec::elementwise(&[&first, &second], spec.dtype(), spec.device())
}

fn cpu(input: &Tensor, dim: i64, out: &Tensor) -> Result<()> {
    let [first, second] = halves("self", input, dim)?;
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
        let x = |sizes: &[i64], seed| generate::numbers(DType::F32, sizes, seed);
        samples
            .operator(
                GluBackward,
                FLOATS,
                |dtype| with_dims(dtype, &[1, 2]),
                |it| {
                    let grad = it.tensor("grad_output")?;
                    of_halves(it, "self", [], |position, [a, gate], [], is_first| {
                        let grad = grad.at(position).to_complex().re;
                        if is_first { grad * gate } else { grad * gate * a * (1.0 - gate) }
                    })
                },
            )
            .tolerance(16.0)
            .refuses("broadcasts to [2, 2]", given(x(&[2, 3], 1)).and(x(&[2, 4], 2)).and(1))
            .refuses("expected an even size", given(x(&[2, 1], 1)).and(x(&[2, 3], 2)).and(1));
        samples
            .operator(
                GluJvp,
                FLOATS,
                |dtype| with_dims(dtype, &[1, 2, 2]),
                |it| {
                    let glu = it.tensor("glu")?;
                    let both = of_halves(it, "x", ["dx"], |position, [_, gate], [[da, db]], _| {
                        gate * da + glu.at(position).to_complex().re * db * (1.0 - gate)
                    })?;
                    Ok(first_half(both, it.value("dim")?))
                },
            )
            .tolerance(16.0)
            .refuses("`dx` has size 3", given(x(&[2], 1)).and(x(&[4], 2)).and(x(&[3], 2)).and(0));
        samples
            .operator(
                GluBackwardJvp,
                FLOATS,
                |dtype| with_dims(dtype, &[2, 1, 2, 1, 2]),
                |it| {
                    let dgrad = it.tensor("dgrad_glu")?;
                    // The gradient of the first half says that of the result, where the gate is not zero.
                    let names = ["dx", "grad_x"];
                    of_halves(it, "x", names, |position, [a, gate], [[da, db], [grad, _]], is_first| {
                        let (slope, dgate) = (1.0 - gate, gate * (1.0 - gate) * db);
                        let first = dgrad.at(position).to_complex().re * gate + grad * slope * db;
                        if is_first { first } else { (first * a + grad * da) * slope - grad * a * dgate }
                    })
                },
            )
            .tolerance(64.0);
        samples.rounds(GluBackward, Roundings::all(Rounding::Sum(16)));
        samples.rounds(GluJvp, Roundings::all(Rounding::Sum(16)));
        samples.rounds(GluBackwardJvp, Roundings::all(Rounding::Sum(64)));
    }

    /// Tensors of the sizes of a half (1) or of the whole (2), and the dimension that is cut.
    fn with_dims(dtype: DType, parts: &[i64]) -> Vec<Sample> {
        let cases: [(&[i64], usize); 5] =
            [(&[2, 2], 1), (&[2, 3], 0), (&[2, 2, 3], 1), (&[0, 1], 1), (&[3, 17], 1)];
        let one = |(half, dim): (&[i64], usize)| {
            let tensors = parts.iter().zip(1..).fold(Sample::default(), |sample, (part, seed)| {
                let mut sizes = half.to_vec();
                sizes[dim] *= part;
                sample.and(generate::numbers(dtype, &sizes, seed))
            });
            tensors.and(dim as i64)
        };
        cases.map(one).to_vec()
    }

    /// What a function gives for each element of a tensor that is cut in halves: of its position in a half, the element of the first half
    /// there and the logistic function of that of the second one, the elements of both halves of other tensors, and whether it is in
    /// the first half.
    fn of_halves<const N: usize>(
        it: &Inputs,
        name: &str,
        others: [&str; N],
        function: impl Fn(&[i64], [f64; 2], [[f64; 2]; N], bool) -> f64,
    ) -> Result<Expected> {
        let (x, dim): (_, i64) = (it.tensor(name)?, it.value("dim")?);
        let others: Vec<&Plain> = others.into_iter().map(|name| it.tensor(name)).collect::<Result<_>>()?;
        let dim = naive::dimension(dim, x.sizes().len());
        let half = x.sizes()[dim] / 2;
        Ok(Plain::from_fn(x.dtype(), x.sizes(), |position| {
            let is_first = position[dim] < half;
            let (mut first, mut second) = (position.to_vec(), position.to_vec());
            first[dim] %= half;
            second[dim] = first[dim] + half;
            let both = |x: &Plain| [&first, &second].map(|position| x.at(position).to_complex().re);
            let [a, b] = both(x);
            let others = std::array::from_fn(|at| both(others[at]));
            Scalar::Float(function(&first, [a, 1.0 / (1.0 + (-b).exp())], others, is_first))
        })
        .into())
    }

    fn first_half(both: Expected, dim: i64) -> Expected {
        let Expected::Tensor(both) = both else { return both };
        let mut sizes = both.sizes().to_vec();
        sizes[naive::dimension(dim, both.sizes().len())] /= 2;
        Plain::from_fn(both.dtype(), &sizes, |position| both.at(position)).into()
    }
}
