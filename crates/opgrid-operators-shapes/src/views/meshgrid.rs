//! `aten::meshgrid`: vectors stretched to the grid that they span.
//!
//! `out[k][i, j, …] = tensors[k][the k-th of i, j, …]`
//!
//! - Results: one tensor for each vector, of all their lengths; numbers count as vectors of one element. With "xy" indexing the
//!   first two dimensions are exchanged.
//! - Aliasing: views of the tensors; repeated elements have stride 0 and must not be written.
//! - Dispatch: a composite of `view` and `expand`.
//! - Errors: no tensors, tensors of more than one dimension, of several dtypes or devices; another indexing than "ij" and
//!   "xy".
//! - Source: torch.meshgrid, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Expand, View};

pub use opgrid_tensor::ops::views::meshgrid::*;

pub(super) fn register(library: &mut Library) {
    library.define(Meshgrid).kind(&kind::VIEW).column(VariadicTensors).implicit(meshgrid);
    library.define(MeshgridIndexing).kind(&kind::VIEW).column(VariadicTensors).implicit(
        |tensors, indexing| match (indexing, tensors.len()) {
            ("ij", _) | ("xy", 0 | 1) => meshgrid(tensors),
            ("xy", _) => {
                let mut tensors = tensors.to_vec();
                tensors.swap(0, 1);
                let mut grids = meshgrid(&tensors)?;
                grids.swap(0, 1);
                Ok(grids)
            }
            (other, _) => {
                Err(argument(format!("argument `indexing` is \"{other}\", expected \"ij\" or \"xy\"")))
            }
        },
    );
}

fn meshgrid(tensors: &[Tensor]) -> Result<Vec<Tensor>> {
    let Some(first) = tensors.first() else {
        return Err(argument("argument `tensors` is empty, expected a non-empty list of tensors"));
    };
    let like = first.spec()?;
    for (k, tensor) in tensors.iter().enumerate() {
        let spec = tensor.spec()?;
        if spec.sizes().len() > 1 {
            let message =
                format!("tensor {k} of `tensors` has shape {:?}, expected at most 1 dimension", spec.sizes());
            return Err(argument(message));
        }
        if (spec.dtype(), spec.device().real()) != (like.dtype(), like.device().real()) {
            let message = format!(
                "tensor {k} of `tensors` is {} on {}, expected {} on {} as the first one",
                spec.dtype(),
                spec.device(),
                like.dtype(),
                like.device()
            );
            return Err(argument(message));
        }
    }
    let sizes: Vec<i64> = tensors.iter().map(Tensor::numel).collect();
    let grid = |(k, tensor): (usize, &Tensor)| {
        let mut own = vec![1; sizes.len()];
        own[k] = sizes[k];
        Expand.call(&View.call(tensor, &own)?, &sizes, false)
    };
    tensors.iter().enumerate().map(grid).collect()
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2], 0);
        samples
            .operator(Meshgrid, STORED, inputs, |it| reference(it, false))
            .refuses("non-empty", given(Vec::<Plain>::new()))
            .refuses("at most 1 dimension", given(vec![x.clone(), x.with_sizes(&[1, 2])]))
            .refuses("expected float32", given(vec![x.clone(), x.to(DType::F64)]));
        let by_name = |dtype| {
            let named = |name: &'static str| {
                inputs(dtype).into_iter().map(move |sample| sample.named("indexing", name))
            };
            named("ij").chain(named("xy")).collect()
        };
        samples
            .operator(MeshgridIndexing, STORED, by_name, |it| {
                let indexing: String = it.value("indexing")?;
                reference(it, indexing == "xy")
            })
            .refuses("expected \"ij\"", given(vec![x]).named("indexing", "rows"));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [&[&[i64]]; 5] = [&[&[2], &[3]], &[&[4]], &[&[], &[2], &[3]], &[&[0], &[2]], &[&[]]];
        let one = |shapes: &[&[i64]]| {
            let tensors = shapes.iter().zip(0..).map(|(sizes, seed)| generate::numbers(dtype, sizes, seed));
            given(tensors.collect::<Vec<_>>())
        };
        cases.map(one).to_vec()
    }

    fn reference(it: &Inputs, is_exchanged: bool) -> Result<Expected> {
        let tensors = it.tensors("tensors")?;
        let mut dims: Vec<usize> = (0..tensors.len()).collect();
        if is_exchanged && dims.len() > 1 {
            dims.swap(0, 1);
        }
        let sizes: Vec<i64> = dims.iter().map(|&dim| tensors[dim].elements().len() as i64).collect();
        let grid = |(k, x): (usize, &Plain)| {
            Plain::from_fn(x.dtype(), &sizes, |position| x.elements()[position[dims[k]] as usize]).into()
        };
        Ok(Expected::Several(tensors.iter().enumerate().map(grid).collect()))
    }
}
