//! Operators that have no meaning for all examples at once.

use opgrid_core::{Result, Value};
use opgrid_tensor::layers::vmap::{BatchedCall, DEPENDS_ON_DATA};
use opgrid_tensor::ops::IsPinned;

use super::Rule;
use super::arguments::{given, refused};

pub(super) const RULES: &[(&[&str], Rule)] = &[
    (&["_local_scalar_dense", "allclose", "equal"], depends_on_data),
    (&["is_same_size"], |call| {
        let is_same = given(call, 0).map(|it| it.sizes()) == given(call, 1).map(|it| it.sizes());
        call.push_same(Value::from(is_same));
        Ok(())
    }),
    (&["is_pinned"], |call| {
        let (inner, _) = call.tensor(0).ok_or_else(|| refused("argument `self` is no tensor"))?;
        call.push_same(Value::from(IsPinned.call(&inner, None)?));
        Ok(())
    }),
];

/// A number that is another one for each example.
fn depends_on_data(_call: &mut BatchedCall<'_, '_>) -> Result<()> {
    Err(refused(format!(
        "the result {DEPENDS_ON_DATA} in a batch, and is no tensor that could have one for each; compute it outside of `vmap`, or choose \
         between tensors with `where`"
    )))
}

/// Steps of optimizers write many tensors, which are those outside.
pub(super) fn optimizer(_call: &mut BatchedCall<'_, '_>) -> Result<()> {
    Err(refused(
        "a step of an optimizer writes lists of parameters, which cannot be those of single examples; call it outside of \
         `vmap` on parameters with a dimension of examples, or compute new parameters in the function",
    ))
}
