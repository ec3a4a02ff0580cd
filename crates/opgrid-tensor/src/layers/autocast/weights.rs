//! Weights that were cast in a region: a leaf that requires a gradient is cast once, however often it is used.
//!
//! A cast is good as long as the weight is what it was: written weights are cast anew, and so is one that was cast where nothing
//! was recorded, when something is. The casts go when the thread leaves the outermost region.

use std::cell::RefCell;
use std::collections::BTreeMap;

use opgrid_core::{DType, Result, TensorType, WeakTensor};

use super::{cast::plain_cast, region};
use crate::layers::autograd::is_grad_enabled;
use crate::tensor::{Array, Tensor};

/// A weight that was cast.
pub(super) struct Cast {
    /// Keeps the place of the weight's record, though not the weight.
    _weight: WeakTensor,
    /// The memory that it had, which stays until the region ends, so that no other one is taken for it.
    memory: Array,
    version: u64,
    is_recorded: bool,
    cast: Tensor,
}

/// Casts by the address of the weight's record, which the weak handle keeps from being another tensor's, and by dtype.
pub(super) type Casts = BTreeMap<(usize, DType), Cast>;

thread_local! {
    static CASTS: RefCell<Casts> = const { RefCell::new(BTreeMap::new()) };
}

/// Gives the thread other casts; those that it had. A thread that ends has none and keeps none.
pub(super) fn replace(casts: Casts) -> Casts {
    CASTS.try_with(|own| std::mem::replace(&mut *own.borrow_mut(), casts)).unwrap_or_default()
}

/// Forgets all weights that this thread has cast.
pub fn clear() {
    // Dropped when nothing is borrowed.
    let _casts = replace(BTreeMap::new());
}

/// The weight in another dtype.
pub(super) fn cast(weight: &Tensor, target: DType) -> Result<Tensor> {
    // What stands for another tensor is not told by its memory.
    let Ok(memory) = weight.array() else { return plain_cast(weight, target) };
    if region::nesting() == 0 {
        return plain_cast(weight, target);
    }
    let (key, version) = ((weight.as_any().as_raw().addr().get(), target), weight.version());
    let known = CASTS.try_with(|casts| {
        let casts = casts.borrow();
        let known = casts.get(&key)?;
        let is_written = known.version != version || !known.memory.storage().is_same(memory.storage());
        let is_good = known.is_recorded == is_grad_enabled() && !is_written;
        is_good.then(|| known.cast.clone())
    });
    if let Ok(Some(known)) = known {
        return Ok(known);
    }
    let cast = plain_cast(weight, target)?;
    let is_recorded = cast.requires_grad();
    let made = Cast {
        _weight: weight.downgrade(),
        memory: memory.clone(),
        version,
        is_recorded,
        cast: cast.clone(),
    };
    let _before = CASTS.try_with(|casts| casts.borrow_mut().insert(key, made));
    Ok(cast)
}
