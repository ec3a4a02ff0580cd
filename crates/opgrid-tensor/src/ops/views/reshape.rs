//! `aten::reshape`, `aten::reshape_as`: the same elements in the same order under other sizes, copied where no view has them.
//!
//! - Shapes: `shape`, of which one may be -1; as many elements as `self`.
//! - Aliasing: a view of `self` where strides can express it, otherwise a copy.
//! - Dispatch: a composite of `view` and, where needed, `clone`.
//! - Errors: sizes that do not fit.
//! - Source: torch.reshape, PyTorch 2.15.

use crate::ops::View;
use crate::ops::prelude::*;
use crate::tensor::views::infer_sizes;

operator! {
    home = crate::home_of(register);
    pub Reshape = "aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)";
    pub ReshapeAs = "aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)";
}

pub(super) fn register(library: &mut Library) {
    library.define(Reshape).kind(&kind::VIEW).implicit(reshape);
    library
        .define(ReshapeAs)
        .kind(&kind::VIEW)
        .implicit(|input, other| reshape(input, other.spec()?.sizes()));
}

fn reshape(input: &Tensor, shape: &[i64]) -> Result<Tensor> {
    let geometry = input.spec()?.geometry();
    let sizes = infer_sizes(shape, geometry.numel())?;
    if geometry.view(&sizes).is_ok() {
        return View.call(input, &sizes);
    }
    View.call(&crate::ops::Clone.call(input, Some(MemoryFormat::Contiguous))?, &sizes)
}

impl Tensor {
    /// The same elements under other sizes: a view where there is one, otherwise a copy.
    ///
    /// # Errors
    ///
    /// Those of [`Reshape`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_tensor::Tensor;
    ///
    /// let x = Tensor::arange(0, 6, 1)?.view(&[2, 3])?;
    /// assert_eq!(x.t()?.reshape(&[-1])?.to_vec::<i64>()?, [0, 3, 1, 4, 2, 5]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn reshape(&self, shape: &[i64]) -> Result<Self> {
        Reshape.call(self, shape)
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .of(Reshape, STORED, make::other_sizes, |it| make::same_elements(it, "shape"))
            .refuses("", given(make::numbers(DType::F32, &[2, 3], 0)).and([4].to_vec()))
            .refuses("", given(make::numbers(DType::F32, &[2, 3], 0)).and([-1, -1].to_vec()));
        samples.of(ReshapeAs, STORED, make::beside_as_many, make::as_the_other);
    }
}
