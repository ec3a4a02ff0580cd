//! Tensors put together.

use opgrid_core::{Result, TensorType, ValueView};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::vmap::BatchedCall;
use opgrid_tensor::ops::{Cat, ConstantPadNd};

use super::Rule;
use super::arguments::{behind, int, refused, with_dims};

pub(super) const RULES: &[(&[&str], Rule)] = &[(&["cat"], cat), (&["block_diag"], block_diag)];

/// The tensors of a list, all with the examples along dimension 0.
pub(super) fn list(call: &BatchedCall<'_, '_>, place: usize) -> Result<Vec<Tensor>> {
    let ValueView::Tensors(list) = call.args()[place].view() else {
        return Err(refused(format!("argument number {place} is no list of tensors")));
    };
    list.iter().filter_map(Tensor::from_any_ref).map(|tensor| call.stretched(tensor)).collect()
}

fn cat(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let dim = int(call, 1)?;
    let mut parts = list(call, 0)?;
    // Vectors without elements go with tensors of any sizes.
    let is_ignored = |part: &Tensor| part.sizes()[1..] == [0];
    let dtype = opgrid_tensor::tensor::result_type(&parts.iter().collect::<Vec<_>>())?;
    if !parts.iter().all(is_ignored) {
        parts.retain(|part| !is_ignored(part));
    }
    let rank = parts.first().map_or(0, |part| part.dim() as i64 - 1);
    call.push(Cat.call(&parts, behind(dim, rank))?.to_dtype(dtype)?.into())
}

/// Each block with zeros on both sides, below the one before.
fn block_diag(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let blocks: Vec<Tensor> = list(call, 0)?.iter().map(|it| with_dims(it, 3)).collect::<Result<_>>()?;
    let width: i64 = blocks.iter().map(|block| block.sizes()[2]).sum();
    let mut before = 0;
    let padded = blocks.iter().map(|block| {
        let own = block.sizes()[2];
        let padding = [before, width - before - own];
        before += own;
        ConstantPadNd.call(block, &padding, 0.into())
    });
    call.push(Cat.call(&padded.collect::<Result<Vec<_>>>()?, 1)?.into())
}
