//! `aten::copy_`: writes the elements of one tensor to another.
//!
//! `self[i] = src[i]`
//!
//! - Shapes: `src` is stretched to the shape of `self`.
//! - Dtypes: any to any; a fraction is cut off for integers, anything but zero is true.
//! - Aliasing: writes `self`; copying a tensor to itself does nothing.
//! - Errors: a shape that does not broadcast to that of `self`, overlap in part, a `src` without data.
//! - Source: torch.Tensor.copy_, PyTorch 2.15. `non_blocking` makes no difference between CPU tensors.

use opgrid_core::DeviceType;

use super::prelude::*;

operator! {
    home = crate::home;
    pub CopyInplace = "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)";
}

pub(super) fn register(library: &mut Library) {
    library.define(CopyInplace).in_place(shape, cpu);
}

fn shape(input: &Tensor, src: &Tensor, _non_blocking: bool) -> Result<TensorSpec> {
    let (to, from) = (input.spec()?, src.spec()?);
    if from.geometry().expand(to.sizes()).is_err() {
        let message = format!(
            "argument `src` has shape {:?}, which does not broadcast to `self` of shape {:?}",
            from.sizes(),
            to.sizes()
        );
        return Err(argument(message));
    }
    if from.device().kind() == DeviceType::Meta && to.device().kind() != DeviceType::Meta {
        return Err(argument("argument `src` is a meta tensor, which has no data to copy"));
    }
    Ok(to.clone())
}

fn cpu(_input: &Tensor, src: &Tensor, _non_blocking: bool, out: &Tensor) -> Result<()> {
    elementwise::copy(out, src)
}
