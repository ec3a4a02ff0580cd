//! `aten::prod`: the product of all elements, or over a dimension.
//!
//! `out[j] = self[0, j] * self[1, j] * …`
//!
//! - Shapes: without the dimension `dim`, or with size 1 for it with `keepdim`.
//! - Dtypes: `dtype` if given, to which each element is converted first; otherwise that of `self`, int64 for integers and
//!   bools. Integers wrap around.
//! - Values: one for no elements.
//! - Aliasing: `prod.out` writes `out`, and `prod.int_out`, in the dtype of `out` that it then multiplies in.
//! - Errors: a dimension out of range; an `out` of another dtype than `dtype`.
//! - Source: torch.prod, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::product;
use opgrid_kinds::derivatives::ReducedDims;
use opgrid_tensor::ops::OnesLike;
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::reductions::prod::*;

/// The family of `aten::prod`: its kind, shape rule and `out` rule.
pub const PROD: Family<Prod> =
    Family::new(Prod, &kind::REDUCTION, |input, dtype| shape(input, &[], false, dtype)).same_dtype_out();

/// The family of `aten::prod.dim_int`: its kind, shape rule and `out` rule.
pub const PROD_DIM_INT: Family<ProdDimInt> =
    Family::new(ProdDimInt, &kind::REDUCTION, |input, dim, keepdim, dtype| {
        shape(input, &[dim], keepdim, dtype)
    })
    .out_shape(|input, dim, keepdim, dtype, out| {
        shape(input, &[dim], keepdim, Some(accumulation::out_dtype(dtype, out)?))
    });

pub(super) fn register(library: &mut Library) {
    library.family(&PROD).cpu(|input, dtype, out| cpu(input, &[], dtype, out)).derivative(|d, (input, _)| {
        let sizes = input.sizes().to_vec();
        d.by(input, [input], move |grad, [x]| {
            let others = of_others(&x.to_dtype(grad.dtype())?.reshape(&[-1])?, 0)?;
            derivatives::chained(grad, &others)?.view(&sizes)
        })
    });
    library.family(&PROD_DIM_INT).cpu(|input, dim, _, dtype, out| cpu(input, &[dim], dtype, out)).derivative(
        |d, (input, dim, keepdim, _)| {
            let kept = ReducedDims::new(input, Some(&[dim]), keepdim)?;
            d.by(input, [input], move |grad, [x]| {
                derivatives::chained(&kept.keep_dims(grad)?, &of_others(&x.to_dtype(grad.dtype())?, dim)?)
            })
        },
    );
}

fn shape(input: &Tensor, dims: &[i64], keepdim: bool, dtype: Option<DType>) -> Result<TensorSpec> {
    let dtype = reduce::sum_dtype(input.dtype(), dtype);
    reduce::shape(input.spec()?, dims, keepdim, dtype)
}

fn cpu(input: &Tensor, dims: &[i64], dtype: Option<DType>, out: &Tensor) -> Result<()> {
    product::product(out, input, dims, dtype.unwrap_or(out.dtype()))
}

/// The product of the other elements along a dimension, for each element: zeros leave it right.
fn of_others(x: &Tensor, dim: i64) -> Result<Tensor> {
    if x.dim() == 0 || x.numel() == 0 {
        return OnesLike.call(x, None, None, None, None, None);
    }
    let size = x.sizes()[normalise_dim(dim, x.dim())?];
    let one = OnesLike.call(&x.narrow(dim, 0, 1)?, None, None, None, None, None)?;
    let before = Tensor::cat(&[one.clone(), x.narrow(dim, 0, size - 1)?], dim)?.cumprod(dim)?;
    let after = Tensor::cat(&[one, x.flip(&[dim])?.narrow(dim, 0, size - 1)?], dim)?.cumprod(dim)?;
    before * after.flip(&[dim])?
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let of_all = |dtype| generate::and_named(generate::unary_numbers(dtype), "dtype", DType::F64);
        let over = |dtype| generate::and_named(generate::over_dim(dtype), "dtype", DType::F64);
        samples.operator(Prod, ANY, of_all, reference).tolerance(64.0);
        samples
            .operator(ProdDimInt, ANY, over, reference)
            .tolerance(64.0)
            .output_decides()
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and(2));
        samples.differs_as(Prod, &[departures::reduce::NOT_FINITE, READ_AFTER_WRITTEN]);
        samples.differs(
            Prod,
            Difference {
                id: "products-beyond-the-range",
                what: "torch multiplies in an order of its own and rounds every product to the dtype; a \
                     product that overflows on the way stays infinite, or zero, or becomes NaN with a \
                     later zero, while it is finite here, or the reverse",
                why: "no order is right, and more precision is better than less",
                test: ("opgrid-operators/tests/all/differences/numbers.rs", "results_that_are_not_finite"),
                when: |seen| {
                    let Some(input) = seen.tensor("self") else { return false };
                    let is_real = seen.elements.iter().all(|(dtype, ..)| !dtype.is_complex());
                    let lines = factors(input, seen.number("dim"), is_real);
                    let leaves = |dtype: DType, has_nan: bool| {
                        let (largest, smallest) = opgrid_tensor::tensor::finfo(dtype)
                            .map_or((f64::MAX, f64::MIN_POSITIVE), |limits| {
                                (limits.max, limits.smallest_normal)
                            });
                        // Of real numbers only infinity times zero is NaN.
                        let is_zero = |least: f64| least < smallest || dtype.is_complex();
                        lines.iter().any(|(most, least)| *most > largest && (!has_nan || is_zero(*least)))
                    };
                    // Below the smallest ordinary number digits are lost, of 16 bits soon; and rounding after each factor can hold a
                    // product at the smallest number.
                    let vanishes = |dtype: DType, result: f64| {
                        let smallest =
                            opgrid_tensor::tensor::finfo(dtype).map_or(0.0, |limits| limits.smallest_normal);
                        let is_there = matches!(dtype, DType::F16 | DType::BF16) || result < smallest;
                        is_there && lines.iter().any(|(_, least)| *least < smallest)
                    };
                    seen.each(|(dtype, ours, torch)| {
                        if ours.is_finite() && torch.is_finite() {
                            vanishes(*dtype, ours.norm().max(torch.norm()))
                        } else {
                            leaves(*dtype, ours.is_nan() || torch.is_nan())
                        }
                    })
                },
                directed: Some(Directed {
                    operator: "aten::prod",
                    arguments: || {
                        vec![("self", Operand::rows(0, DType::F16, &[3], &[256.0, 256.0, 0.0]).into())]
                    },
                    needs: None,
                }),
            },
        );
        samples.rounds(Prod, Roundings::all(Rounding::Result(64)));
    }

    /// Computes, for each product or for the one of all elements, the largest and the smallest number that some of
    /// its factors give. For a real product of complex numbers, only the first parts count.
    fn factors(input: &Operand, dim: Option<Scalar>, is_real: bool) -> Vec<(f64, f64)> {
        let sizes = input.geometry.sizes();
        let dim = dim
            .and_then(|dim| normalise_dim(dim.to_i64().ok()?, sizes.len()).ok())
            .filter(|_| !sizes.is_empty());
        let inner = dim.map_or(1, |dim| sizes[dim + 1..].iter().product::<i64>() as usize).max(1);
        let length = dim.map_or(input.elements.len(), |dim| sizes[dim] as usize).max(1);
        let mut lines = vec![(1.0, 1.0); input.elements.len() / length];
        for (at, element) in input.elements.iter().enumerate() {
            let size = if is_real { element.re.abs() } else { element.norm() };
            let (most, least) = &mut lines[at / (length * inner) * inner + at % inner];
            *most *= size.max(1.0);
            *least *= size.min(1.0);
        }
        lines
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let x = it.tensor("self")?;
        let dtype = accumulation::samples::expected_dtype(it, x)?;
        let dim: Option<i64> = it.option("dim")?;
        let keepdim = it.option("keepdim")?.unwrap_or(false);
        let one = Plain::number(dtype, 1).at(&[]);
        let product = |elements: &[Scalar]| {
            elements.iter().fold(one, |product, element| number::times(product, *element))
        };
        Ok(x.to(dtype).reduced(dim.as_ref().map(std::slice::from_ref), keepdim, dtype, product).into())
    }
}
