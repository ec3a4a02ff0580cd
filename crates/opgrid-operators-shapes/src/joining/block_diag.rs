//! `aten::block_diag`: matrices along the diagonal of a larger one, zeros elsewhere.
//!
//! - Shapes: the sums of the rows and of the columns. Vectors are rows, numbers have one of each; of no tensors comes
//!   one row without elements.
//! - Dtypes: promoted over all tensors.
//! - Aliasing: `block_diag.out` writes `out`, of the dtype of the result.
//! - Dispatch: a composite of `zeros`, `slice` and `copy_`.
//! - Errors: more than two dimensions, several devices.
//! - Source: torch.block_diag, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Atleast2d, CopyInplace, SliceTensor, Zeros};

pub use opgrid_tensor::ops::joining::block_diag::*;

pub(super) fn register(library: &mut Library) {
    let builder = library.define_with_forms(BlockDiag, &kind::JOINING).column(VariadicTensors);
    builder.on_every_backend(block_diag).derivative(|d, (tensors,)| {
        let sizes: Vec<Vec<i64>> = tensors.iter().map(|tensor| tensor.sizes().to_vec()).collect();
        d.by_each(tensors, move |grad, index| {
            let blocks = sizes.iter().map(|sizes| match sizes.as_slice() {
                [] => [1, 1],
                [columns] => [1, *columns],
                [rows, columns, ..] => [*rows, *columns],
            });
            let [rows, columns] =
                blocks.clone().take(index).fold([0, 0], |[a, b], [rows, columns]| [a + rows, b + columns]);
            let [height, width] = blocks.clone().nth(index).unwrap_or([0, 0]);
            grad.narrow(0, rows, height)?.narrow(1, columns, width)?.reshape(&sizes[index])
        })
    });
    library
        .implement(BlockDiagOut)
        .on_every_backend(|tensors, out| result::copied(out, &block_diag(tensors)?));
}

fn block_diag(tensors: &[Tensor]) -> Result<Tensor> {
    let Some(first) = tensors.first() else {
        return Zeros.call(&[1, 0], None, None, None, None);
    };
    let device = first.spec()?.device();
    for (k, tensor) in tensors.iter().enumerate() {
        let spec = tensor.spec()?;
        if spec.sizes().len() > 2 {
            let message = format!(
                "tensor {k} of `tensors` has shape {:?}, expected at most 2 dimensions",
                spec.sizes()
            );
            return Err(argument(message));
        }
        if spec.device().real() != device.real() {
            let message = format!(
                "tensor {k} of `tensors` is on {}, expected {device} as the first one",
                spec.device()
            );
            return Err(argument(message));
        }
    }
    let dtype = result_type(&tensors.iter().collect::<Vec<_>>())?;
    let blocks = tensors.iter().map(|tensor| Atleast2d.call(tensor)).collect::<Result<Vec<_>>>()?;
    let sum = |dim: usize| {
        let total = blocks.iter().try_fold(0i64, |sum, block| sum.checked_add(block.sizes()[dim]));
        total.ok_or_else(|| argument(format!("the size of dimension {dim} overflows 64 bits")))
    };
    let result = Zeros.call(&[sum(0)?, sum(1)?], Some(dtype), None, Some(device), None)?;
    let mut start = [0, 0];
    for block in &blocks {
        let end = [start[0] + block.sizes()[0], start[1] + block.sizes()[1]];
        let rows = SliceTensor.call(&result, 0, Some(start[0]), Some(end[0]), 1)?;
        let place = SliceTensor.call(&rows, 1, Some(start[1]), Some(end[1]), 1)?;
        CopyInplace.call(&place, block, false)?;
        start = end;
    }
    Ok(result)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [&[&[i64]]; 5] =
                [&[&[2, 3], &[1, 2]], &[&[], &[2]], &[&[0, 2], &[2, 1]], &[&[3]], &[&[1, 1], &[0], &[2, 2]]];
            let one = |shapes: &[&[i64]]| {
                let tensors =
                    shapes.iter().zip(0..).map(|(sizes, seed)| generate::numbers(dtype, sizes, seed));
                given(tensors.collect::<Vec<_>>())
            };
            let mixed = [&[1, 1], &[][..]].map(|sizes| {
                let other = generate::numbers(generate::beside(dtype, DType::F32), sizes, 1);
                given(vec![generate::numbers(dtype, &[2], 0), other])
            });
            cases.map(one).into_iter().chain(mixed).collect()
        };
        samples
            .operator(BlockDiag, STORED, inputs, reference)
            .refuses("at most 2 dimensions", given(vec![generate::numbers(DType::F32, &[1, 1, 1], 0)]));
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let rows = |x: &Plain| x.with_sizes(&[&vec![1; 2 - x.sizes().len()], x.sizes()].concat());
        let blocks: Vec<Plain> = it.tensors("tensors")?.iter().map(rows).collect();
        let dtype = it.common_dtype(&["tensors"])?;
        let sum = |dim: usize| blocks.iter().map(|block| block.sizes()[dim]).sum();
        let mut result = Plain::from_elements::<i64>(dtype, &[sum(0), sum(1)], &[]);
        let mut start = [0, 0];
        for block in &blocks {
            for at in naive::positions(block.sizes()) {
                result.set(&[start[0] + at[0], start[1] + at[1]], block.at(&at));
            }
            start = [start[0] + block.sizes()[0], start[1] + block.sizes()[1]];
        }
        Ok(result.into())
    }
}
