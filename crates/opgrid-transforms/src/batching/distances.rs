//! Distances of points, with more points for the examples.

use opgrid_core::{DType, Result};
use opgrid_tensor::layers::vmap::BatchedCall;
use opgrid_tensor::ops::{IndexSelect, LinalgVectorNorm, TriuIndices};

use super::Rule;
use super::arguments::{full, rows};
use super::pointwise::pointwise;

pub(super) const RULES: &[(&[&str], Rule)] =
    &[(&["_cdist_forward"], pointwise), (&["_pdist_forward"], pdist), (&["dist"], dist)];

/// The pairs of points in one order.
fn pdist(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let points = full(call, 0)?;
    let (count, device) = (points.sizes()[1], points.device());
    let pairs = TriuIndices.call(count, count, 1, Some(DType::I64), None, Some(device), None)?;
    let [one, other] = [0, 1].map(|place| IndexSelect.call(&points, 1, &pairs.select(0, place)?));
    let between = one?.sub(&other?)?;
    let p = call.args()[1].as_scalar().unwrap_or(2.into());
    call.push(LinalgVectorNorm.call(&between, p, Some(&[-1]), false, None)?.into())
}

fn dist(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let rank = call.rank() + 1;
    let [one, other] = [0, 1].map(|place| super::arguments::with_dims(&full(call, place)?, rank));
    let between = rows(&one?.sub(&other?)?)?;
    let p = call.args()[2].as_scalar().unwrap_or(2.into());
    call.push(LinalgVectorNorm.call(&between, p, Some(&[1]), false, None)?.into())
}
