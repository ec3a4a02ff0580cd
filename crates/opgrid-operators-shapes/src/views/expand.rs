//! `aten::expand`, `aten::expand_as`, `aten::broadcast_to`: stretched to other sizes by repeating elements.
//!
//! `out[…, i, …] = self[…, 0, …]` where `self` has size 1
//!
//! - Shapes: `size`, in which -1 keeps a size; new dimensions come first.
//! - Aliasing: a view of `self`; repeated elements have stride 0 and must not be written. `expand_copy`
//!   copies it.
//! - Dispatch: `expand_as` and `broadcast_to` are `expand`.
//! - Errors: fewer dimensions than there are, a size that does not fit.
//! - Source: torch.Tensor.expand, PyTorch 2.15. `implicit` is for tracers and makes no difference.

use crate::prelude::*;
use opgrid_tensor::layers::vmap::DefineBatching;

pub use opgrid_tensor::ops::views::expand::*;

/// The view family of `aten::expand`: its place in the base.
pub const EXPAND: ViewFamily<Expand> =
    ViewFamily::new(Expand, |input, size, _| input.spec()?.geometry().expand(size));

pub(super) fn register(library: &mut Library) {
    library
        .view(Expand, &EXPAND)
        // Summed over what was stretched, as every gradient is.
        .derivative(|d, (input, ..)| d.by(input, [], |grad, []| Ok(grad.clone())))
        .batching(|call| {
            let sizes: Vec<i64> = Vec::from_value(call.args()[1])?;
            let Some(aligned) = call.aligned(0, sizes.len())? else { return call.one_by_one() };
            let sizes = [&[call.size()], sizes.as_slice()].concat();
            call.push(Expand.call(&aligned, &sizes, false)?.into())
        });
    library
        .define(ExpandAs)
        .kind(&kind::VIEW)
        .implicit(|input, other| Expand.call(input, other.spec()?.sizes(), false));
    library.define(BroadcastTo).kind(&kind::VIEW).implicit(|input, size| Expand.call(input, size, false));
    library.copy_of_view(ExpandCopy, Expand);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2], 0);
        samples
            .operator(Expand, STORED, inputs, |it| reference(it, it.value("size")?))
            .view()
            .refuses("", given(x.clone()).and([3].to_vec()))
            .refuses("", given(generate::numbers(DType::F32, &[1, 1], 0)).and([3].to_vec()));
        samples.operator(BroadcastTo, STORED, inputs, |it| reference(it, it.value("size")?)).view();
        let beside_others = |dtype| {
            let cases: [[&[i64]; 2]; 4] = [[&[3], &[2, 3]], [&[2, 1], &[2, 4]], [&[], &[2]], [&[1], &[0]]];
            cases
                .map(|[one, other]| {
                    given(generate::numbers(dtype, one, 0)).and(generate::numbers(dtype, other, 1))
                })
                .to_vec()
        };
        samples
            .operator(ExpandAs, STORED, beside_others, |it| {
                reference(it, it.tensor("other")?.sizes().to_vec())
            })
            .view()
            .refuses("", given(x).and(generate::numbers(DType::F32, &[3], 0)));
        samples.copy_of_view(ExpandCopy, Expand);
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], &[i64]); 6] = [
            (&[3], &[2, 3]),
            (&[2, 1], &[-1, 4]),
            (&[], &[2]),
            (&[1], &[0]),
            (&[2, 3], &[2, 3]),
            (&[0, 1], &[0, 2]),
        ];
        cases.map(|(sizes, size)| given(generate::numbers(dtype, sizes, 0)).and(size.to_vec())).to_vec()
    }

    fn reference(it: &Inputs, mut size: Vec<i64>) -> Result<Expected> {
        let x = it.tensor("self")?;
        let behind = size.len() - x.sizes().len();
        let own = size[behind..].iter_mut().zip(x.sizes());
        own.filter(|(size, _)| **size < 0).for_each(|(size, own)| *size = *own);
        Ok(Plain::from_fn(x.dtype(), &size, |position| x.at(position)).into())
    }
}
