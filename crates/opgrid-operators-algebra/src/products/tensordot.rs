//! `aten::tensordot`: sums of products over some dimensions of two tensors.
//!
//! `out[…, …] = Σ self[…, k] * other[k, …]`, where `k` stands for the dimensions that are summed over
//!
//! - Shapes: the other dimensions of `self`, then those of `other`. Dimension `dims_self[i]` belongs to
//!   `dims_other[i]`; where one of them has size 1, the other is summed.
//! - Dtypes: one for both, no bools. Integers wrap around.
//! - Dispatch: a composite of `mm`, `sum` and views.
//! - Aliasing: `tensordot.out` writes `out`, and gives it its shape if it has no elements.
//! - Errors: lists of different lengths, sizes that differ, a dimension out of range or named twice; two dtypes or devices.
//! - Source: torch.tensordot, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Mm, Permute, Reshape, SumDim};
use opgrid_tensor::tensor::Dims;

pub use opgrid_tensor::ops::products::tensordot::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Tensordot, &kind::PRODUCT).implicit(tensordot);
    library.implement(TensordotOut).implicit(|input, other, dims_self, dims_other, out| {
        result::copied(out, &tensordot(input, other, dims_self, dims_other)?)
    });
}

fn tensordot(input: &Tensor, other: &Tensor, dims_self: &[i64], dims_other: &[i64]) -> Result<Tensor> {
    let (a, b) = (input.spec()?, other.spec()?);
    if dims_self.len() != dims_other.len() {
        let message = format!(
            "argument `dims_other` has {} dimensions, expected as many dimensions as `dims_self`: {}",
            dims_other.len(),
            dims_self.len()
        );
        return Err(argument(message));
    }
    products::check_factors(&[("self", a), ("other", b)])?;
    let (dims_a, dims_b) = (named(dims_self, a.sizes().len())?, named(dims_other, b.sizes().len())?);
    let (mut left, mut right) = (input.clone(), other.clone());
    for (&one, &two) in dims_a.iter().zip(&dims_b) {
        match (a.sizes()[one], b.sizes()[two]) {
            (size, found) if size == found => {}
            (1, _) => right = SumDim.call(&right, Some(&[two as i64]), true, Some(b.dtype()))?,
            (_, 1) => left = SumDim.call(&left, Some(&[one as i64]), true, Some(a.dtype()))?,
            (size, found) => {
                let message = format!(
                    "dimension {one} of `self` and dimension {two} of `other` have sizes {size} and {found}, expected equal ones"
                );
                return Err(argument(message));
            }
        }
    }
    let kept_a: Vec<usize> = (0..a.sizes().len()).filter(|dim| !dims_a.contains(dim)).collect();
    let kept_b: Vec<usize> = (0..b.sizes().len()).filter(|dim| !dims_b.contains(dim)).collect();
    let sizes: Dims =
        kept_a.iter().map(|dim| a.sizes()[*dim]).chain(kept_b.iter().map(|dim| b.sizes()[*dim])).collect();
    let product = Mm.call(&matrix(&left, &kept_a, &dims_a)?, &matrix(&right, &dims_b, &kept_b)?)?;
    Reshape.call(&product, &sizes)
}

/// The dimensions that are meant, in the order in which they are named.
fn named(dims: &[i64], count: usize) -> Result<Vec<usize>> {
    let mut named = Vec::with_capacity(dims.len());
    for &dim in dims {
        let at = opgrid_tensor::tensor::views::normalise_dim(dim, count)?;
        if named.contains(&at) || at >= count {
            return Err(argument(format!("dim {at} appears multiple times in the list of dims {dims:?}")));
        }
        named.push(at);
    }
    Ok(named)
}

/// A tensor as a matrix: some dimensions are its rows, the others its columns.
fn matrix(tensor: &Tensor, rows: &[usize], columns: &[usize]) -> Result<Tensor> {
    let order: Vec<i64> = rows.iter().chain(columns).map(|dim| *dim as i64).collect();
    let size = |dims: &[usize]| {
        let mut sizes = dims.iter().map(|dim| tensor.sizes()[*dim]);
        let size = sizes.try_fold(1i64, i64::checked_mul);
        size.ok_or_else(|| argument(format!("the sizes {:?} overflow 64 bits", tensor.sizes())))
    };
    Reshape.call(&Permute.call(tensor, &order)?, &[size(rows)?, size(columns)?])
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        let over = |a: &Plain, b: &Plain, dims: [&[i64]; 2]| {
            given(a.clone()).and(b.clone()).and(dims[0].to_vec()).and(dims[1].to_vec())
        };
        samples
            .operator(Tensordot, NUMBERS, inputs, reference)
            .tolerance(64.0)
            .refuses("as many dimensions", over(&x, &x, [&[0], &[]]))
            .refuses("sizes 2 and 3", over(&x, &x, [&[0], &[1]]))
            .refuses("multiple times", over(&x, &x, [&[0, 0], &[0, 0]]))
            .refuses("range", over(&x, &x, [&[2], &[0]]))
            .refuses("convert one of them", over(&x, &x.to(DType::F64), [&[0], &[0]]));
        samples.differs_as(Tensordot, products::samples::DIFFERENCES);
        samples.differs(
            Tensordot,
            Difference {
                id: "products-of-bools-are-refused",
                what: "torch multiplies bools if all dimensions are summed in an order other than their \
                     memory order; here bools are rejected, as in all other products",
                why: "all products behave alike",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "what_torch_does_not_check_is_refused",
                ),
                when: |seen| seen.we_refuse("not implemented for 'Bool'"),
                directed: Some(Directed {
                    operator: "aten::tensordot",
                    arguments: || {
                        let flags = |memory| {
                            Operand::rows(memory, DType::Bool, &[2, 2], &[1.0, 0.0, 1.0, 1.0]).into()
                        };
                        let dims = || Argument::Ints(vec![1, 0]);
                        vec![
                            ("self", flags(0)),
                            ("other", flags(1)),
                            ("dims_self", dims()),
                            ("dims_other", dims()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        samples.rounds(Tensordot, Roundings::all(Rounding::Sum(2)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        /// Two shapes, and the dimensions of each that are summed over.
        pub type Case = [&'static [i64]; 4];
        let cases: [Case; 8] = [
            [&[2, 3], &[3, 4], &[1], &[0]],
            [&[2, 3, 4], &[4, 5, 2], &[2, 0], &[0, -1]],
            [&[2, 3], &[2, 3], &[0, 1], &[0, 1]],
            [&[2], &[3], &[], &[]],
            [&[2, 1], &[3, 2], &[1], &[0]],
            [&[2, 3], &[1, 2], &[-1], &[0]],
            [&[2, 0], &[0, 3], &[1], &[0]],
            [&[], &[3], &[], &[]],
        ];
        let cases =
            cases.into_iter().filter(|[a, b, ..]| products::samples::is_sample(dtype, &[*a, *b].concat()));
        cases
            .map(|[a, b, dims, others]| {
                let factors = given(generate::numbers(dtype, a, 1)).and(generate::numbers(dtype, b, 2));
                factors.and(dims.to_vec()).and(others.to_vec())
            })
            .collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (a, b) = (it.tensor("self")?, it.tensor("other")?);
        let dims = |name, of: &Plain| -> Result<Vec<usize>> {
            let dims: Vec<i64> = it.value(name)?;
            Ok(dims.iter().map(|dim| naive::dimension(*dim, of.sizes().len())).collect())
        };
        let (dims_a, dims_b) = (dims("dims_self", a)?, dims("dims_other", b)?);
        let kept = |of: &Plain, dims: &[usize]| -> Vec<usize> {
            (0..of.sizes().len()).filter(|dim| !dims.contains(dim)).collect()
        };
        let (kept_a, kept_b) = (kept(a, &dims_a), kept(b, &dims_b));
        let sizes =
            |of: &Plain, dims: &[usize]| -> Vec<i64> { dims.iter().map(|dim| of.sizes()[*dim]).collect() };
        let inner: Vec<i64> = sizes(a, &dims_a)
            .iter()
            .zip(sizes(b, &dims_b))
            .map(|(a, b)| if *a == 1 { b } else { *a })
            .collect();
        let product =
            Plain::from_fn(a.dtype(), &[sizes(a, &kept_a), sizes(b, &kept_b)].concat(), |position| {
                let (left, right) = position.split_at(kept_a.len());
                let element = |of: &Plain, kept: &[usize], outer: &[i64], dims: &[usize], inner: &[i64]| {
                    let mut at = vec![0; of.sizes().len()];
                    kept.iter()
                        .zip(outer)
                        .chain(dims.iter().zip(inner))
                        .for_each(|(dim, index)| at[*dim] = *index);
                    of.at(&at)
                };
                let terms = naive::positions(&inner).map(|inner| {
                    number::times(
                        element(a, &kept_a, left, &dims_a, &inner),
                        element(b, &kept_b, right, &dims_b, &inner),
                    )
                });
                terms.reduce(number::plus).unwrap_or(Scalar::Int(0))
            });
        Ok(product.into())
    }
}
