//! Functions of one example on batches of them.

use opgrid_core::{Error, ErrorKind, Result};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::vmap::{Batch, Randomness, batched, unbatched};
use opgrid_tensor::ops::MovedimInt;

/// Runs a function of one example on a batch along dimension 0; results have their examples along dimension 0.
///
/// # Errors
///
/// A tensor without dimensions; those of the function; a dispatcher without the layer ([`install`](crate::install)).
///
/// # Examples
///
/// ```
/// use opgrid::prelude::*;
///
/// let _transforms = opgrid_transforms::install(opgrid::dispatcher()?)?;
/// let rows = tensor![[1.0, 2.0], [3.0, 4.0]]?;
/// let sums = opgrid_transforms::vmap(&rows, |row| row.sum())?;
/// assert_eq!(sums.to_vec::<f32>()?, [3.0, 7.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[track_caller]
pub fn vmap(batch: &Tensor, function: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let options = VmapOptions::default();
    Ok(vmap_with(&[batch], &options, |examples| Ok(vec![function(&examples[0])?]))?.remove(0))
}

/// Where batches have their examples.
#[derive(Clone, Debug, Default)]
pub struct VmapOptions {
    /// The dimension of each input along which its examples lie; `None` where it is the same for all examples. Without any, all are
    /// batches along dimension 0.
    pub in_dims: Vec<Option<i64>>,
    /// The dimension of each result along which its examples are put. Without any, dimension 0.
    pub out_dims: Vec<i64>,
    /// What operators that draw random numbers do.
    pub randomness: Randomness,
}

/// As [`vmap`], with several inputs and results, and batches along any dimension.
///
/// # Errors
///
/// No batch, batches of different sizes, a dimension that a tensor does not have, another number of dimensions than of tensors;
/// those of the function.
///
/// # Examples
///
/// ```
/// use opgrid::prelude::*;
/// use opgrid_transforms::{VmapOptions, vmap_with};
///
/// let _transforms = opgrid_transforms::install(opgrid::dispatcher()?)?;
/// let (matrix, columns) = (tensor![[1.0, 2.0], [3.0, 4.0]]?, tensor![[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]?);
/// let options = VmapOptions { in_dims: vec![None, Some(1)], out_dims: vec![1], ..Default::default() };
/// let product = vmap_with(&[&matrix, &columns], &options, |x| Ok(vec![x[0].mv(&x[1])?]))?;
/// assert_eq!(product[0].to_vec::<f32>()?, matrix.mm(&columns)?.to_vec::<f32>()?);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[track_caller]
pub fn vmap_with(
    inputs: &[&Tensor],
    options: &VmapOptions,
    function: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>>,
) -> Result<Vec<Tensor>> {
    let VmapOptions { in_dims, out_dims, randomness } = options;
    check_count("inputs", inputs.len(), "in_dims", in_dims.len())?;
    let dim = |place: usize| in_dims.get(place).copied().unwrap_or(Some(0));
    let mut moved = Vec::with_capacity(inputs.len());
    for (place, input) in inputs.iter().enumerate() {
        moved.push(match dim(place) {
            Some(dim) => MovedimInt.call(input, dim, 0).map_err(|error| error.within("vmap"))?,
            None => (*input).clone(),
        });
    }
    let sizes = || moved.iter().enumerate().filter(|(place, _)| dim(*place).is_some());
    let mut of_batches = sizes().map(|(_, batch)| batch.sizes().first().copied());
    let Some(Some(size)) = of_batches.next() else {
        return Err(refused("vmap: expected at least one input with a dimension of examples".into()));
    };
    if of_batches.any(|other| other != Some(size)) {
        let found: Vec<_> = sizes().map(|(_, batch)| batch.sizes().first().copied().unwrap_or(1)).collect();
        return Err(refused(format!("vmap: found batches of {found:?} examples, expected one size for all")));
    }
    let entered = Batch::enter_with(size, *randomness)?;
    let level = entered.level().clone();
    for (place, input) in moved.iter_mut().enumerate().filter(|(place, _)| dim(*place).is_some()) {
        let _ = place;
        *input = batched(input.clone(), &level)?;
    }
    let results = function(&moved)?;
    drop(entered);
    check_count("results", results.len(), "out_dims", out_dims.len())?;
    let each = results.iter().enumerate().map(|(place, result)| {
        let result = unbatched(result, &level)?;
        match out_dims.get(place).copied().unwrap_or(0) {
            0 => Ok(result),
            dim => MovedimInt.call(&result, 0, dim).map_err(|error| error.within("vmap: out_dims")),
        }
    });
    each.collect()
}

fn check_count(what: &str, expected: usize, of_dims: &str, found: usize) -> Result<()> {
    if found == 0 || found == expected {
        return Ok(());
    }
    Err(refused(format!("vmap: found {found} {of_dims} for {expected} {what}, expected one for each")))
}

fn refused(message: String) -> Error {
    Error::new(ErrorKind::Argument, message)
}
