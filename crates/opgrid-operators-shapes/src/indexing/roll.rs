//! `aten::roll`: elements moved along dimensions, and from the end back to the start.
//!
//! `out[…, i, …] = self[…, (i - shift) mod size, …]`
//!
//! - Shapes: that of `self`, row-major; in the format of `self` where both parts of a cut dimension show it. Without `dims`
//!   the elements are rolled as one list in row-major order.
//! - Aliasing: `roll.out` writes `out`, of the dtype of `self`, and gives it its shape if it has no elements.
//! - Errors: no shifts, another number of them than of dimensions, a dimension out of range, dimensions of a tensor
//!   without any.
//! - Source: torch.roll, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::copy;
use opgrid_kernels::runs::{self, Run, Runs};
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::indexing::roll::*;

/// The family of `aten::roll`: its kind, shape rule and `out` rule.
pub const ROLL: Family<Roll> = Family::new(Roll, &kind::INDEXING, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&ROLL).cpu(cpu).derivative(|d, (input, shifts, dims)| {
        let dims = dims.to_vec();
        let size = |at: usize| match dims.get(at) {
            Some(dim) => normalise_dim(*dim, input.dim()).map(|dim| input.sizes()[dim]),
            None => Ok(input.numel()),
        };
        let back = |(at, shift): (usize, &i64)| size(at).map(|size| size - shift.rem_euclid(size.max(1)));
        let shifts = shifts.iter().enumerate().map(back).collect::<Result<Vec<i64>>>()?;
        d.by(input, [], move |grad, []| Roll.call(grad, &shifts, &dims))
    });
}

fn shape(input: &Tensor, shifts: &[i64], dims: &[i64]) -> Result<TensorSpec> {
    let spec = input.spec()?;
    if shifts.is_empty() {
        return Err(argument("argument `shifts` is empty, expected at least one"));
    }
    if shifts.len() != dims.len() && !(dims.is_empty() && shifts.len() == 1) {
        let message = format!("argument `shifts` is {shifts:?}, expected as many as in `dims`, {dims:?}");
        return Err(argument(message));
    }
    if !dims.is_empty() && spec.sizes().is_empty() && spec.numel() > 0 {
        let message = format!("dimension {} is out of range for a tensor without dimensions", dims[0]);
        return Err(opgrid_array::error::out_of_range(message));
    }
    for &dim in dims {
        normalise_dim(dim, spec.sizes().len())?;
    }
    let mut layout = spec.geometry().row_major();
    if !dims.is_empty() && spec.numel() > 0 {
        layout = spec.geometry().clone();
        for (&shift, &dim) in shifts.iter().zip(dims) {
            layout = rolled_layout(&layout, shift, dim)?;
        }
    }
    Ok(TensorSpec::new(layout, spec.dtype(), spec.device()))
}

/// How torch lays out the result: it cuts the dimension in two and joins the parts the other way round.
fn rolled_layout(layout: &Geometry, shift: i64, dim: i64) -> Result<Geometry> {
    let size = layout.sizes()[normalise_dim(dim, layout.dims())?];
    let cut = (size - shift.rem_euclid(size)) % size;
    let parts = [layout.slice(dim, cut, size, 1)?, layout.slice(dim, 0, cut, 1)?];
    Geometry::in_format(layout.sizes(), Geometry::common_format(&parts))
}

fn cpu(input: &Tensor, shifts: &[i64], dims: &[i64], out: &Tensor) -> Result<()> {
    if out.numel() == 0 {
        return Ok(());
    }
    let (from, to) = (input.array()?, out.array()?);
    if dims.is_empty() {
        // One list; a copy where it has no strides of its own.
        let list = [from.spec().numel()];
        let flat = match from.geometry().view(&list) {
            Ok(geometry) => from.view(geometry)?,
            Err(_) => {
                let rows = copy::contiguous(from)?;
                rows.view(rows.geometry().view(&list)?)?
            }
        };
        return match to.geometry().view(&list) {
            Ok(geometry) => runs::read(&to.view(geometry)?, &flat, &[rolled(list[0], shifts[0])]),
            Err(_) => {
                let rows = opgrid_tensor::tensor::Array::empty(TensorSpec::contiguous(
                    &list,
                    to.dtype(),
                    to.device(),
                )?)?;
                runs::read(&rows, &flat, &[rolled(list[0], shifts[0])])?;
                copy::copy(to, &rows.view(rows.geometry().view(to.sizes())?)?)
            }
        };
    }
    let mut total = vec![0i64; from.sizes().len()];
    for (&shift, &dim) in shifts.iter().zip(dims) {
        let dim = normalise_dim(dim, total.len())?;
        let size = from.sizes()[dim].max(1);
        total[dim] = (total[dim] + shift.rem_euclid(size)) % size;
    }
    let along: Vec<Runs> =
        from.sizes().iter().zip(&total).map(|(&size, &shift)| rolled(size, shift)).collect();
    runs::read(to, from, &along)
}

/// The end of a dimension, and then its start.
fn rolled(size: i64, shift: i64) -> Runs {
    match shift.rem_euclid(size.max(1)) {
        0 => Runs::from_iter([Run::forwards(0, size)]),
        shift => Runs::from_iter([Run::forwards(size - shift, shift), Run::forwards(0, size - shift)]),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [(&[i64], &[i64], &[i64]); 9] = [
                (&[4], &[1], &[0]),
                (&[2, 3], &[-1], &[1]),
                (&[2, 3], &[4], &[]),
                (&[2, 3], &[1, -2], &[0, -1]),
                (&[3, 2], &[1, 1], &[0, 0]),
                (&[], &[1], &[]),
                (&[0, 2], &[1], &[0]),
                (&[3], &[i64::MIN], &[0]),
                (&[2, 37], &[5], &[1]),
            ];
            let one = |(sizes, shifts, dims): (&[i64], &[i64], &[i64])| {
                given(generate::numbers(dtype, sizes, 0)).and(shifts.to_vec()).and(dims.to_vec())
            };
            cases.map(one).to_vec()
        };
        samples.differs(
            Roll,
            Difference {
                id: "shifts-of-any-size",
                what: "torch cannot parse shifts that need all 64 bits; here they shift like all others",
                why: "all numbers behave alike",
                test: (
                    "opgrid-operators/tests/all/differences/computed.rs",
                    "numbers_at_the_ends_of_the_range",
                ),
                when: |seen| seen.torch_refuses("SymIntArrayRef expected to contain only concrete integers"),
                directed: None,
            },
        );
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(Roll, STORED, inputs, reference)
            .refuses("as many", given(x.clone()).and([1, 2].to_vec()).and([0].to_vec()))
            .refuses("empty", given(x.clone()).and(Vec::<i64>::new()))
            .refuses("range", given(x).and([1].to_vec()).and([2].to_vec()))
            .refuses("", given(Plain::number(DType::F32, 1)).and([1].to_vec()).and([0].to_vec()));
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, shifts, dims): (_, Vec<i64>, Vec<i64>) =
            (it.tensor("self")?, it.value("shifts")?, it.value("dims")?);
        if dims.is_empty() {
            let (all, count) = (x.elements(), x.elements().len() as i128);
            let moved =
                |at: usize| all[(at as i128 - i128::from(shifts[0])).rem_euclid(count.max(1)) as usize];
            let elements: Vec<Scalar> = (0..all.len()).map(moved).collect();
            return Ok(Plain::from_elements(x.dtype(), x.sizes(), &elements).into());
        }
        Ok(Plain::from_fn(x.dtype(), x.sizes(), |position| {
            let mut source = position.to_vec();
            for (shift, &dim) in shifts.iter().zip(&dims) {
                let dim = naive::dimension(dim, x.sizes().len());
                let moved = i128::from(source[dim]) - i128::from(*shift);
                source[dim] = moved.rem_euclid(i128::from(x.sizes()[dim])) as i64;
            }
            x.at(&source)
        })
        .into())
    }
}
