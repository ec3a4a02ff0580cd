//! `aten::broadcast_tensors`: tensors stretched to the sizes that they broadcast to.
//!
//! - Aliasing: views of the tensors; repeated elements have stride 0 and must not be written. A tensor that has the sizes
//!   already is itself.
//! - Dispatch: a composite of `expand`.
//! - Errors: shapes that do not broadcast.
//! - Source: torch.broadcast_tensors, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::Expand;
use opgrid_tensor::tensor::broadcast;

pub use opgrid_tensor::ops::views::broadcast_tensors::*;

pub(super) fn register(library: &mut Library) {
    library.define(BroadcastTensors).kind(&kind::VIEW).column(VariadicTensors).implicit(|tensors| {
        let shapes = tensors.iter().map(|tensor| Ok(tensor.spec()?.sizes())).collect::<Result<Vec<_>>>()?;
        let sizes = broadcast(&shapes)?;
        let stretched = |tensor: &Tensor| {
            if tensor.sizes() == &sizes[..] { Ok(tensor.clone()) } else { Expand.call(tensor, &sizes, false) }
        };
        tensors.iter().map(stretched).collect()
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [&[&[i64]]; 4] = [&[&[2, 1], &[3]], &[&[2, 3]], &[&[], &[4], &[1]], &[&[0], &[1]]];
            let one = |shapes: &[&[i64]]| {
                let tensors =
                    shapes.iter().zip(0..).map(|(sizes, seed)| generate::numbers(dtype, sizes, seed));
                given(tensors.collect::<Vec<_>>())
            };
            cases.map(one).to_vec()
        };
        samples
            .operator(BroadcastTensors, STORED, inputs, |it| {
                let tensors = it.tensors("tensors")?;
                let sizes = naive::broadcast(tensors.iter().map(Plain::sizes))?;
                let stretched =
                    |x: &Plain| Plain::from_fn(x.dtype(), &sizes, |position| x.at(position)).into();
                Ok(Expected::Several(tensors.iter().map(stretched).collect()))
            })
            .refuses(
                "broadcast",
                given(vec![generate::numbers(DType::F32, &[2], 0), generate::numbers(DType::F32, &[3], 0)]),
            );
    }
}
