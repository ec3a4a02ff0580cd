//! `aten::renorm`: slices of a tensor along a dimension, shortened where their norm is larger than a bound.
//!
//! `out[…, i, …] = self[…, i, …] * maxnorm / (norm[i] + 1e-7)` for each slice `i` whose norm of order `p` is larger than `maxnorm`; other
//! slices stay as they are
//!
//! - Shapes: that of `self`, which has at least two dimensions.
//! - Dtypes: floating-point and complex ones; 16-bit floats are computed in single precision.
//! - Aliasing: `renorm_` writes `self`, `renorm.out` writes `out`, of the dtype of `self`.
//! - Dispatch: a composite of `linalg_vector_norm` and arithmetic.
//! - Errors: integers and bools; fewer than two dimensions; a dimension out of range; a `p` that is not above zero; a negative `maxnorm`;
//!   complex ones.
//! - Source: torch.renorm, PyTorch 2.15.

use super::linalg_vector_norm;
use crate::prelude::*;
use opgrid_kinds::derivatives::ReducedDims;
use opgrid_tensor::ops::{CopyInplace, LinalgVectorNorm, Real, WhereScalarOther, WhereSelf};
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::reductions::renorm::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(Renorm, &kind::NORMALISATION)
        .on_every_backend(|input, p, dim, maxnorm| Slices::new(input, p, dim, maxnorm)?.shortened(input))
        .derivative(|d, (input, p, dim, maxnorm)| {
            let slices = Slices::new(input, p, dim, maxnorm)?;
            d.by(input, [input], move |grad, [x]| slices.gradient(grad, x))
        });
    library.implement(RenormInplace).on_every_backend(|input, p, dim, maxnorm| {
        CopyInplace.call(input, &Slices::new(input, p, dim, maxnorm)?.shortened(input)?, false)
    });
    library.implement(RenormOut).on_every_backend(|input, p, dim, maxnorm, out| {
        result::copied(out, &Slices::new(input, p, dim, maxnorm)?.shortened(input)?)
    });
}

/// What keeps lengths from being divided by zero.
const EPSILON: f64 = 1e-7;

/// Slices, the order of their norms and its bound.
struct Slices {
    order: Scalar,
    most: f64,
    /// The dimensions of a slice.
    dims: Vec<i64>,
}

impl Slices {
    /// # Errors
    ///
    /// Other dtypes and dimensions; numbers that are no order of a norm or no bound.
    fn new(input: &Tensor, p: Scalar, dim: i64, maxnorm: Scalar) -> Result<Self> {
        let spec = input.spec()?;
        let sizes = spec.sizes();
        pointwise::check_inexact(spec.dtype())?;
        for (name, number) in [("p", p), ("maxnorm", maxnorm)] {
            if let Scalar::Complex(number) = number {
                return Err(argument(format!("argument `{name}` is {number}, expected a real number")));
            }
        }
        let (order, most) = (p.to_f64()?, maxnorm.to_f64()?);
        if order.is_nan() || order <= 0.0 {
            return Err(argument(format!("argument `p` is {order}, expected a number above zero")));
        }
        if most.is_nan() || most < 0.0 {
            return Err(argument(format!("argument `maxnorm` is {most}, expected zero or more")));
        }
        if sizes.len() < 2 {
            return Err(argument(format!(
                "argument `self` has shape {sizes:?}, expected at least two dimensions"
            )));
        }
        let own = normalise_dim(dim, sizes.len())? as i64;
        let dims = (0..sizes.len() as i64).filter(|dim| *dim != own).collect();
        Ok(Self { order: Scalar::Float(order), most, dims })
    }

    /// The norm of each slice.
    fn norms(&self, x: &Tensor) -> Result<Tensor> {
        LinalgVectorNorm.call(x, self.order, Some(&self.dims), true, None)
    }

    fn shortened(&self, input: &Tensor) -> Result<Tensor> {
        let x = wide(input)?;
        let norms = self.norms(&x)?;
        let factors = ((norms.add(EPSILON)?).reciprocal()? * self.most)?;
        let factors = WhereScalarOther.call(&norms.gt(self.most)?, &factors, Scalar::Int(1))?;
        (x * factors)?.to_dtype(input.dtype())
    }

    /// The gradient: of slices that are shortened, by their elements and by the norm that these make up.
    fn gradient(&self, grad: &Tensor, input: &Tensor) -> Result<Tensor> {
        let (grad, x) = (wide(grad)?, wide(input)?);
        let norms = self.norms(&x)?;
        let inverse = norms.add(EPSILON)?.reciprocal()?;
        let products = (&grad * derivatives::conjugate(&x)?)?;
        let products = if products.dtype().is_complex() { Real.call(&products)? } else { products };
        let kept = ReducedDims::new(&x, Some(&self.dims), true)?;
        let by_norm = products.sum_dim(&self.dims, true)?;
        let by_norm = linalg_vector_norm::slope(self.order.to_f64()?, &by_norm, &x, &norms, &kept)?;
        let shortened = ((&grad - (by_norm * &inverse)?)? * (&inverse * self.most)?)?;
        WhereSelf.call(&norms.gt(self.most)?, &shortened, &grad)
    }
}

/// Floats of 16 bits in single precision; others as they are.
fn wide(x: &Tensor) -> Result<Tensor> {
    if matches!(x.dtype(), DType::F16 | DType::BF16) { x.to_dtype(DType::F32) } else { Ok(x.clone()) }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = || given(generate::numbers(DType::F32, &[2, 3], 0));
        samples
            .operator(Renorm, INEXACT, inputs, reference)
            .tolerance(16.0)
            .refuses("`p` is 0", x().and(0).and(0).and(1))
            .refuses("`p` is NaN", x().and(f64::NAN).and(0).and(1))
            .refuses("`maxnorm` is -1", x().and(2).and(0).and(-1))
            .refuses("expected a real number", x().and(Scalar::Complex(Complex64::I)).and(0).and(1))
            .refuses("range", x().and(2).and(2).and(1))
            .refuses(
                "at least two dimensions",
                given(generate::numbers(DType::F32, &[3], 0)).and(2).and(0).and(1),
            );
        samples.rounds(Renorm, Roundings::all(Rounding::Result(32)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], f64, i64, f64); 8] = [
            (&[3, 4], 2.0, 0, 1.0),
            (&[3, 4], 1.0, -1, 0.5),
            (&[2, 3, 2], f64::INFINITY, 1, 0.75),
            (&[2, 3], 3.0, 0, 1.5),
            (&[2, 3], 0.5, 1, 1.0),
            (&[2, 3], 2.0, 0, 100.0),
            (&[0, 3], 2.0, 1, 1.0),
            (&[2, 37], 2.0, 0, 0.0),
        ];
        let one = |(sizes, p, dim, most): (&[i64], f64, i64, f64)| {
            given(generate::nonzero(dtype, sizes, 1)).and(Scalar::Float(p)).and(dim).and(Scalar::Float(most))
        };
        cases.map(one).to_vec()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let x = it.tensor("self")?;
        let [order, most] =
            [it.value::<Scalar>("p")?, it.value::<Scalar>("maxnorm")?].map(|it| it.to_complex().re);
        let dim = it.value::<i64>("dim")?.rem_euclid(x.sizes().len() as i64) as usize;
        let norm = |slice: i64| {
            let own = naive::positions(x.sizes()).filter(|at| at[dim] == slice);
            let lengths = own.map(|at| x.at(&at).to_complex().norm());
            match order {
                f64::INFINITY => lengths.fold(0.0, f64::max),
                order => lengths.map(|length| length.powf(order)).sum::<f64>().powf(1.0 / order),
            }
        };
        let norms: Vec<f64> = (0..x.sizes()[dim]).map(norm).collect();
        Ok(Plain::from_fn(x.dtype(), x.sizes(), |at| {
            let norm = norms[at[dim] as usize];
            let factor = if norm > most { most / (norm + 1e-7) } else { 1.0 };
            number::times(x.at(at), Scalar::Float(factor))
        })
        .into())
    }
}
