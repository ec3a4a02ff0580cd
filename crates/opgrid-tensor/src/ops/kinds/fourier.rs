//! What Fourier transforms share: dimensions, norms, strides, and plain sums for samples.

use num_complex::Complex64;
use opgrid_core::{DType, Result, Scalar};

use crate::error::argument;
use crate::kernels::fourier::Direction;
use crate::samples::Plain;
use crate::tensor::views::normalise_dim;
use crate::tensor::{Dims, Geometry};

/// What results are divided by, as transforms take it: nothing, the root of the number of elements, or that number.
pub(crate) const NOT: i64 = 0;
pub(crate) const BY_ROOT: i64 = 1;
pub(crate) const BY_NUMBER: i64 = 2;

/// The factor of a normalisation, for so many elements.
///
/// # Errors
///
/// A number that means none.
pub(crate) fn scale(normalisation: i64, sizes: impl Iterator<Item = i64>) -> Result<f64> {
    let count: f64 = sizes.map(|size| size as f64).product();
    match normalisation {
        NOT => Ok(1.0),
        BY_ROOT => Ok(1.0 / count.sqrt()),
        BY_NUMBER => Ok(1.0 / count),
        _ => Err(argument(format!(
            "argument `normalization` is {normalisation}, expected 0 for none, 1 for the root of the number of elements, or 2 for \
             that number"
        ))),
    }
}

/// The dimensions that are meant, each once.
///
/// # Errors
///
/// One out of range, or named twice.
pub(crate) fn dimensions(dims: &[i64], rank: usize) -> Result<Vec<usize>> {
    if rank == 0 && !dims.is_empty() {
        return Err(argument(format!(
            "argument `dim` is {dims:?}, expected [] for a tensor without dimensions"
        )));
    }
    let named = dims.iter().map(|dim| normalise_dim(*dim, rank)).collect::<Result<Vec<_>>>()?;
    match (0..named.len()).find(|&at| named[..at].contains(&named[at])) {
        Some(at) => {
            Err(argument(format!("argument `dim` is {dims:?}, which names dimension {} twice", named[at])))
        }
        None => Ok(named),
    }
}

/// Where results lie, as torch has it with MKL: the dimensions that are transformed lie innermost, in their order, the others
/// as they lie in `like`. Those in `sorted`, of the first ones, are put in the order of `like` before.
pub(crate) fn geometry(sizes: &[i64], like: &Geometry, dims: &[usize], sorted: usize) -> Result<Geometry> {
    if sizes.contains(&0) || dims.is_empty() {
        return Geometry::contiguous(sizes);
    }
    let by_stride = |list: &mut [usize]| list.sort_by(|a, b| like.strides()[*b].cmp(&like.strides()[*a]));
    let mut order: Vec<usize> = (0..sizes.len()).filter(|dim| !dims.contains(dim)).collect();
    by_stride(&mut order);
    let mut inner = dims.to_vec();
    by_stride(&mut inner[..sorted]);
    order.extend(inner);
    // So that the product of the sizes is counted.
    Geometry::contiguous(sizes)?;
    let (mut strides, mut step) = (Dims::from_elem(0, sizes.len()), 1);
    for dim in order.into_iter().rev() {
        strides[dim] = step;
        step *= sizes[dim];
    }
    Geometry::strided(sizes, &strides, 0)
}

/// A transform along one dimension, as sums: to `n` results of as many elements, zeros behind those that are there.
pub(crate) fn naive(input: &Plain, dim: usize, n: i64, direction: Direction, scale: f64) -> Plain {
    let mut sizes = input.sizes().to_vec();
    let found = sizes[dim].min(n);
    sizes[dim] = n;
    let sign = if direction == Direction::Forward { -1.0 } else { 1.0 };
    Plain::from_fn(DType::Complex128, &sizes, |position| {
        let mut at = position.to_vec();
        let sum: Complex64 = (0..found)
            .map(|k| {
                at[dim] = k;
                // Of equal angles the smaller one, which is more exact.
                let turns =
                    (i128::from(k) * i128::from(position[dim])).rem_euclid(i128::from(n)) as f64 / n as f64;
                input.at(&at).to_complex() * Complex64::from_polar(1.0, sign * std::f64::consts::TAU * turns)
            })
            .sum();
        Scalar::Complex(sum * scale)
    })
}

/// The numbers at the first positions of a dimension.
pub(crate) fn first(input: &Plain, dim: usize, count: i64) -> Plain {
    let mut sizes = input.sizes().to_vec();
    sizes[dim] = count;
    Plain::from_fn(input.dtype(), &sizes, |position| input.at(position))
}

/// The numbers of which these are the first half, where they are those of real numbers: conjugates follow.
pub(crate) fn mirrored(input: &Plain, dims: &[usize], n: i64) -> Plain {
    let last = dims[dims.len() - 1];
    let mut sizes = input.sizes().to_vec();
    sizes[last] = n;
    Plain::from_fn(DType::Complex128, &sizes, |position| {
        let mut at = position.to_vec();
        if position[last] <= n / 2 {
            let element =
                if at[last] < input.sizes()[last] { input.at(&at).to_complex() } else { Complex64::ZERO };
            return Scalar::Complex(element);
        }
        for &dim in dims {
            at[dim] = (sizes[dim] - position[dim]) % sizes[dim];
        }
        let element =
            if at[last] < input.sizes()[last] { input.at(&at).to_complex().conj() } else { Complex64::ZERO };
        Scalar::Complex(element)
    })
}

/// All real parts.
pub(crate) fn real(input: &Plain) -> Plain {
    let parts: Vec<Scalar> = input.elements().iter().map(|x| Scalar::Float(x.to_complex().re)).collect();
    Plain::of(DType::F64, input.sizes(), &parts)
}
