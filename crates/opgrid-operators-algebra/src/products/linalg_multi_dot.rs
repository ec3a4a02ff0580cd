//! `aten::linalg_multi_dot`, `aten::chain_matmul`: the product of several matrices, in the cheapest order.
//!
//! `out = tensors[0] @ tensors[1] @ …`
//!
//! - Shapes: matrices that fit each other. The first one of `linalg_multi_dot` may be a vector, which is a row, and the last
//!   one a column; their dimensions are not in the result.
//! - Dtypes: one for all, no bools. Integers wrap around.
//! - Order: the one with the fewest multiplications, of several the one that torch finds.
//! - Dispatch: composites of `mm` and views; `chain_matmul` of a single matrix is that matrix.
//! - Aliasing: `linalg_multi_dot.out` and `chain_matmul.out` write `out`, and give it its shape if it has no elements.
//! - Errors: too few tensors, other shapes; several dtypes or devices; an `out` of another dtype.
//! - Source: torch.linalg.multi_dot, torch.chain_matmul, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::products::cheapest_cuts;
use opgrid_tensor::ops::{Mm, Reshape};

pub use opgrid_tensor::ops::products::linalg_multi_dot::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(LinalgMultiDot, &kind::PRODUCT).implicit(multi_dot);
    library.implement(LinalgMultiDotOut).implicit(|tensors, out| result::copied(out, &multi_dot(tensors)?));
    library.define_with_forms(ChainMatmul, &kind::PRODUCT).column(VariadicTensors).implicit(chain_matmul);
    library.implement(ChainMatmulOut).implicit(|matrices, out| result::copied(out, &chain_matmul(matrices)?));
}

fn multi_dot(tensors: &[Tensor]) -> Result<Tensor> {
    check_count(tensors, 2)?;
    let last = tensors.len() - 1;
    let mut matrices = tensors.to_vec();
    if tensors[0].dim() == 1 {
        matrices[0] = tensors[0].unsqueeze(0)?;
    }
    if tensors[last].dim() == 1 {
        matrices[last] = tensors[last].unsqueeze(1)?;
    }
    let product = product(&matrices)?;
    let ends = [&tensors[0], &tensors[last]].into_iter().zip(product.sizes());
    let sizes: Vec<i64> = ends.filter(|(end, _)| end.dim() != 1).map(|(_, size)| *size).collect();
    if sizes == product.sizes() { Ok(product) } else { Reshape.call(&product, &sizes) }
}

fn chain_matmul(matrices: &[Tensor]) -> Result<Tensor> {
    check_count(matrices, 1)?;
    match matrices {
        [single] if single.spec()?.sizes().len() == 2 => Ok(single.clone()),
        several => product(several),
    }
}

/// # Errors
///
/// Fewer tensors, or undefined ones.
fn check_count(tensors: &[Tensor], least: usize) -> Result<()> {
    if tensors.len() < least {
        return Err(argument(format!("expected at least {least} tensors, found {}", tensors.len())));
    }
    tensors.iter().try_for_each(|tensor| tensor.spec().map(drop))
}

/// The product of matrices, at least one.
///
/// # Errors
///
/// Tensors that are no matrices, or do not fit each other.
fn product(matrices: &[Tensor]) -> Result<Tensor> {
    for (place, tensor) in matrices.iter().enumerate() {
        let &[rows, _] = tensor.sizes() else {
            return Err(argument(format!(
                "tensor {place} has shape {:?}, expected a matrix",
                tensor.sizes()
            )));
        };
        let Some(before) = place.checked_sub(1).map(|before| &matrices[before]) else { continue };
        products::check_factors(&[("tensors", before.spec()?), ("tensors", tensor.spec()?)])?;
        if before.sizes()[1] != rows {
            let message = format!(
                "tensor {place} has shape {:?}, expected {} rows to fit the one before, of shape {:?}",
                tensor.sizes(),
                before.sizes()[1],
                before.sizes()
            );
            return Err(argument(message));
        }
    }
    let sizes: Vec<i64> =
        [matrices[0].sizes()[0]].into_iter().chain(matrices.iter().map(|matrix| matrix.sizes()[1])).collect();
    multiplied(matrices, &cheapest_cuts(&sizes), 0, matrices.len() - 1)
}

fn multiplied(matrices: &[Tensor], cuts: &[Vec<usize>], first: usize, last: usize) -> Result<Tensor> {
    if first == last {
        return Ok(matrices[first].clone());
    }
    let cut = cuts[first][last];
    Mm.call(&multiplied(matrices, cuts, first, cut)?, &multiplied(matrices, cuts, cut + 1, last)?)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        let vector = generate::numbers(DType::F32, &[3], 0);
        samples
            .operator(
                LinalgMultiDot,
                NUMBERS,
                |dtype| [with_vectors(dtype), matrices(dtype)].concat(),
                |it| reference(it, "tensors"),
            )
            .tolerance(4096.0)
            .refuses("at least 2 tensors", given(vec![x.clone()]))
            .refuses("expected a matrix", given(vec![x.clone(), vector.clone(), vector]))
            .refuses("expected 3 rows", given(vec![x.clone(), x.clone()]))
            .refuses(
                "convert one of them",
                given(vec![x.clone(), generate::numbers(DType::F64, &[3, 2], 0)]),
            );
        samples
            .operator(ChainMatmul, NUMBERS, matrices, |it| reference(it, "matrices"))
            .tolerance(4096.0)
            .refuses("at least 1 tensors", given(Vec::<Plain>::new()))
            .refuses(
                "expected a matrix",
                given(vec![
                    generate::numbers(DType::F32, &[3], 0),
                    generate::numbers(DType::F32, &[3, 2], 0),
                ]),
            );
        for difference in products::samples::DIFFERENCES {
            samples.differs(LinalgMultiDot, *difference);
            samples.differs(ChainMatmul, *difference);
        }
        samples.rounds(LinalgMultiDot, Roundings::all(Rounding::Sum(8)));
        samples.rounds(ChainMatmul, Roundings::all(Rounding::Sum(8)));
    }

    fn matrices(dtype: DType) -> Vec<Sample> {
        lists(
            dtype,
            &[
                &[&[2, 3], &[3, 2]],
                &[&[2, 3], &[3, 1], &[1, 4]],
                &[&[2, 1], &[1, 3], &[3, 2], &[2, 2]],
                &[&[2, 0], &[0, 3]],
            ],
        )
    }

    fn with_vectors(dtype: DType) -> Vec<Sample> {
        lists(dtype, &[&[&[3], &[3, 2]], &[&[2, 3], &[3]], &[&[3], &[3]], &[&[2], &[2, 2], &[2]]])
    }

    fn lists(dtype: DType, shapes: &[&[&[i64]]]) -> Vec<Sample> {
        // Halves and integers of one digit, so that products of several keep all digits in most dtypes.
        let small = |sizes: &[i64], seed: i64| {
            let count: i64 = sizes.iter().product();
            let elements: Vec<i64> = (0..count).map(|at| (at * 5 + seed * 3).rem_euclid(7) - 3).collect();
            Plain::from_elements(dtype, sizes, &elements)
        };
        let shapes = shapes.iter().filter(|shapes| products::samples::is_sample(dtype, &shapes.concat()));
        let list = |shapes: &&[&[i64]]| {
            given(shapes.iter().zip(1..).map(|(sizes, seed)| small(sizes, seed)).collect::<Vec<_>>())
        };
        shapes.map(list).collect()
    }

    fn reference(it: &Inputs, name: &str) -> Result<Expected> {
        let tensors = it.tensors(name)?;
        let mut product = tensors[0].clone();
        if product.sizes().len() == 1 {
            product = product.with_sizes(&[1, product.sizes()[0]]);
        }
        for tensor in &tensors[1..] {
            let rows = [tensor.sizes()[0], 1];
            product = product.product(&if tensor.sizes().len() == 1 {
                tensor.with_sizes(&rows)
            } else {
                tensor.clone()
            })?;
        }
        let ends = [&tensors[0], &tensors[tensors.len() - 1]];
        let kept = ends.into_iter().zip(product.sizes().to_vec()).filter(|(end, _)| end.sizes().len() != 1);
        let sizes: Vec<i64> = kept.map(|(_, size)| size).collect();
        Ok(product.with_sizes(&sizes).into())
    }
}
