//! `aten::cartesian_prod`: all tuples with an element of each vector.
//!
//! - Shapes: a row for each tuple, the last vector the fastest; of one vector that vector itself.
//! - Dispatch: a composite of `meshgrid`, `flatten` and `stack`.
//! - Errors: no tensors, tensors that are no vectors, of several dtypes or devices.
//! - Source: torch.cartesian_prod, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{FlattenUsingInts, Meshgrid, Stack};

pub use opgrid_tensor::ops::joining::cartesian_prod::*;

pub(super) fn register(library: &mut Library) {
    library.define(CartesianProd).kind(&kind::JOINING).column(VariadicTensors).implicit(cartesian_prod);
}

fn cartesian_prod(tensors: &[Tensor]) -> Result<Tensor> {
    for (k, tensor) in tensors.iter().enumerate() {
        let sizes = tensor.spec()?.sizes();
        if sizes.len() != 1 {
            return Err(argument(format!("tensor {k} of `tensors` has shape {sizes:?}, expected a vector")));
        }
    }
    if let [only] = tensors {
        return Ok(only.clone());
    }
    let grids = Meshgrid.call(tensors)?;
    let columns = grids.iter().map(|grid| FlattenUsingInts.call(grid, 0, -1)).collect::<Result<Vec<_>>>()?;
    Stack.call(&columns, 1)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [&[i64]; 4] = [&[2, 3], &[4], &[0, 2], &[2, 1, 3]];
            let one = |lengths: &[i64]| {
                let tensors =
                    lengths.iter().zip(0..).map(|(length, seed)| generate::numbers(dtype, &[*length], seed));
                given(tensors.collect::<Vec<_>>())
            };
            cases.map(one).to_vec()
        };
        samples
            .operator(CartesianProd, STORED, inputs, |it| {
                let tensors = it.tensors("tensors")?;
                if let [only] = tensors {
                    return Ok(only.clone().into());
                }
                let sizes: Vec<i64> = tensors.iter().map(|tensor| tensor.sizes()[0]).collect();
                let tuples: Vec<Vec<i64>> = naive::positions(&sizes).collect();
                let count = [tuples.len() as i64, sizes.len() as i64];
                Ok(Plain::from_fn(tensors[0].dtype(), &count, |at| {
                    let which = at[1] as usize;
                    tensors[which].at(&[tuples[at[0] as usize][which]])
                })
                .into())
            })
            .refuses("non-empty", given(Vec::<Plain>::new()))
            .refuses("a vector", given(vec![generate::numbers(DType::F32, &[1, 2], 0)]));
    }
}
