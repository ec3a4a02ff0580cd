//! `aten::flip`, `aten::fliplr`, `aten::flipud`: dimensions in reverse order.
//!
//! `out[…, i, …] = self[…, size - 1 - i, …]`
//!
//! - Shapes: that of `self`, whose dimensions keep their order in memory.
//! - Aliasing: `flip.out` writes `out`, of the dtype of `self`, and gives it its shape if it has no elements.
//! - Dispatch: `fliplr` and `flipud` are `flip` of dimension 1 and 0.
//! - Errors: a dimension out of range or named twice; less than 2 dimensions for `fliplr`, less than 1 for `flipud`.
//! - Source: torch.flip, torch.fliplr, torch.flipud, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::runs::{self, Run, Runs};

pub use opgrid_tensor::ops::indexing::flip::*;

/// The family of `aten::flip`: its kind, shape rule and `out` rule.
pub const FLIP: Family<Flip> = Family::new(Flip, &kind::INDEXING, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&FLIP).cpu(cpu).derivative(|d, (input, dims)| {
        let dims = dims.to_vec();
        d.by(input, [], move |grad, []| Flip.call(grad, &dims))
    });
    library.define(Fliplr).kind(&kind::INDEXING).implicit(|input| {
        check_dims(input, 2)?;
        Flip.call(input, &[1])
    });
    library.define(Flipud).kind(&kind::INDEXING).implicit(|input| {
        check_dims(input, 1)?;
        Flip.call(input, &[0])
    });
}

fn shape(input: &Tensor, dims: &[i64]) -> Result<TensorSpec> {
    let spec = input.spec()?;
    if !dims.is_empty() {
        reduce::normalise_dims(dims, spec.sizes().len())?;
    }
    TensorSpec::elementwise(&[spec.geometry()], spec.dtype(), spec.device())
}

fn cpu(input: &Tensor, dims: &[i64], out: &Tensor) -> Result<()> {
    let sizes = input.sizes();
    let mut along: Vec<Runs> = sizes.iter().map(|&size| Runs::from_iter([Run::forwards(0, size)])).collect();
    if !dims.is_empty() && !sizes.is_empty() {
        for dim in reduce::normalise_dims(dims, sizes.len())? {
            along[dim] = Runs::from_iter([Run::backwards(sizes[dim] - 1, sizes[dim])]);
        }
    }
    runs::read(out.array()?, input.array()?, &along)
}

/// # Errors
///
/// Fewer dimensions.
fn check_dims(input: &Tensor, least: usize) -> Result<()> {
    let sizes = input.spec()?.sizes();
    if sizes.len() < least {
        let noun = if least == 1 { "dimension" } else { "dimensions" };
        return Err(argument(format!(
            "argument `self` has shape {sizes:?}, expected {least} {noun} or more"
        )));
    }
    Ok(())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [(&[i64], &[i64]); 8] = [
                (&[2, 3], &[0]),
                (&[2, 3], &[-1]),
                (&[2, 3, 4], &[2, 0]),
                (&[2, 3], &[]),
                (&[], &[0]),
                (&[0, 2], &[1]),
                (&[2, 37], &[1]),
                (&[2, 3, 2, 2], &[1, 3]),
            ];
            cases.map(|(sizes, dims)| given(generate::numbers(dtype, sizes, 0)).and(dims.to_vec())).to_vec()
        };
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(Flip, STORED, inputs, |it| reference(it, &it.value::<Vec<i64>>("dims")?))
            .refuses("range", given(x.clone()).and([2].to_vec()))
            .refuses("", given(x).and([0, -2].to_vec()));
        let matrices = |dtype| {
            [vec![2, 3], vec![0, 2], vec![2, 3, 2]]
                .map(|sizes| given(generate::numbers(dtype, &sizes, 0)))
                .to_vec()
        };
        samples
            .operator(Fliplr, STORED, matrices, |it| reference(it, &[1]))
            .refuses("2 dimensions", given(generate::numbers(DType::F32, &[3], 0)));
        samples
            .operator(Flipud, STORED, matrices, |it| reference(it, &[0]))
            .refuses("1 dimension", given(Plain::number(DType::F32, 1)));
    }

    fn reference(it: &Inputs, dims: &[i64]) -> Result<Expected> {
        let x = it.tensor("self")?;
        let dims: Vec<usize> = dims.iter().map(|&dim| naive::dimension(dim, x.sizes().len())).collect();
        Ok(Plain::from_fn(x.dtype(), x.sizes(), |position| {
            let turned =
                |(dim, &at): (usize, &i64)| if dims.contains(&dim) { x.sizes()[dim] - 1 - at } else { at };
            x.at(&position.iter().enumerate().map(turned).collect::<Vec<_>>())
        })
        .into())
    }
}
