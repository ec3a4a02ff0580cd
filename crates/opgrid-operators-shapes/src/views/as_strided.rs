//! `aten::as_strided`: a view with any sizes and strides.
//!
//! `out[i, j, …] = storage[storage_offset + i * stride[0] + j * stride[1] + …]`
//!
//! - Strides and offset count elements; without `storage_offset` it is that of `self`.
//! - Aliasing: a view of the storage of `self`; `as_strided_` makes `self` that view, `as_strided_copy` copies it.
//! - Errors: negative strides, lists of different lengths, elements beyond the storage.
//! - Source: torch.as_strided, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::layers::autograd::Recorder;
use opgrid_tensor::ops::{AsStridedScatter, NewZeros, SliceTensor, SumDim};

pub use opgrid_tensor::ops::views::as_strided::*;

/// The view family of `aten::as_strided`: its place in the base.
pub const AS_STRIDED: ViewFamily<AsStrided> = ViewFamily::new(AsStrided, geometry).absolute();

pub(super) fn register(library: &mut Library) {
    library.view(AsStrided, &AS_STRIDED).derivative(derivative);
    library.view_in_place(AsStridedInplace, &AS_STRIDED).derivative(derivative);
    library.copy_of_view(AsStridedCopy, AsStrided);
}

fn derivative(
    d: &Recorder<'_>,
    (input, size, stride, offset): (&Tensor, &[i64], &[i64], Option<i64>),
) -> Result<()> {
    let viewed = geometry(input, size, stride, offset)?;
    let base = input.geometry().clone();
    d.by(input, [], move |grad, []| slope(grad, &base, &viewed))
}

fn geometry(input: &Tensor, size: &[i64], stride: &[i64], storage_offset: Option<i64>) -> Result<Geometry> {
    let offset = match storage_offset {
        Some(offset) => offset,
        None => input.spec()?.geometry().offset(),
    };
    Geometry::strided(size, stride, offset)
}

/// The gradient: what the places of the view have, summed, and then what the input has at its own. Several elements of the
/// input in one place share it.
fn slope(grad: &Tensor, base: &Geometry, viewed: &Geometry) -> Result<Tensor> {
    let own = |memory: &Tensor| AsStrided.call(memory, base.sizes(), base.strides(), Some(base.offset()));
    let count = base.end().max(viewed.end());
    let slope = own(&placed(grad, viewed, count)?)?;
    if !base.repeats() {
        return slope.contiguous();
    }
    let one = Tensor::ones(base.sizes(), grad.dtype(), grad.device())?;
    slope / own(&placed(&one, base, count)?)?
}

/// Memory of so many places with the sum of those numbers at each that lie there by a geometry.
///
/// No operator that adds at indices is needed, which a program without another use for it would have to carry for this.
pub(crate) fn placed(numbers: &Tensor, geometry: &Geometry, count: i64) -> Result<Tensor> {
    let (sizes, strides, offset) = (geometry.sizes(), geometry.strides(), geometry.offset());
    let memory = NewZeros.call(numbers, &[count], None, None, None, None)?;
    if geometry.numel() == 0 {
        return Ok(memory);
    }
    if geometry.overlaps_itself() == Some(false) {
        return AsStridedScatter.call(&memory, numbers, sizes, strides, Some(offset));
    }
    let span = geometry.end() - offset;
    AsStridedScatter.call(&memory, &summed(numbers, strides, span)?, &[span], &[1], Some(offset))
}

/// The sums of numbers whose places are shared, in the memory from the first place to the last one.
///
/// They are parted along a dimension into so many that those of a part lie apart in it: every third one for windows that are three
/// steps wide.
fn summed(numbers: &Tensor, strides: &[i64], span: i64) -> Result<Tensor> {
    let sizes = numbers.sizes();
    let parts_along = |dim: usize| {
        if strides[dim] == 0 {
            return 0;
        }
        let beside = span - (sizes[dim] - 1) * strides[dim];
        let parts = (beside - 1) / strides[dim] + 1;
        // One part is all of them: what shares places does so in other dimensions.
        if parts == 1 { sizes[dim] } else { parts.min(sizes[dim]) }
    };
    let long = (0..sizes.len()).filter(|dim| sizes[*dim] > 1);
    let dim = long.min_by_key(|dim| parts_along(*dim)).unwrap_or_default();
    let parts = parts_along(dim);
    if parts == 0 {
        let sum = SumDim.call(numbers, Some(&[dim as i64]), true, Some(numbers.dtype()))?;
        return placed(&sum, &Geometry::strided(sum.sizes(), strides, 0)?, span);
    }
    let none = Tensor::zeros(&[span], numbers.dtype(), numbers.device())?;
    (0..parts).try_fold(none, |memory, part| {
        let numbers = SliceTensor.call(numbers, dim as i64, Some(part), None, parts)?;
        let mut apart = strides.to_vec();
        apart[dim] = apart[dim].saturating_mul(parts);
        let geometry = Geometry::strided(numbers.sizes(), &apart, part * strides[dim])?;
        memory.add(&placed(&numbers, &geometry, span)?)
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(AsStrided, complex::samples::IN_MEMORY);
        let inputs = |dtype| {
            let x = generate::numbers(dtype, &[12], 0);
            let cases: [(&[i64], &[i64], i64); 4] =
                [(&[2, 3], &[3, 1], 0), (&[3, 2], &[1, 4], 2), (&[2, 2], &[0, 1], 1), (&[], &[], 5)];
            cases
                .map(|(size, stride, offset)| {
                    given(x.clone()).and(size.to_vec()).and(stride.to_vec()).and(offset)
                })
                .to_vec()
        };
        let x = generate::numbers(DType::F32, &[4], 0);
        samples
            .operator(AsStrided, STORED, inputs, reference)
            .view()
            .needs_contiguous()
            .refuses("", given(x.clone()).and([2].to_vec()).and([4].to_vec()))
            .refuses("", given(x).and([2].to_vec()).and([-1].to_vec()));
        samples.operator(AsStridedInplace, STORED, inputs, reference).needs_contiguous();
        samples.copy_of_view(AsStridedCopy, AsStrided);
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, size, stride) =
            (it.tensor("self")?, it.value::<Vec<i64>>("size")?, it.value::<Vec<i64>>("stride")?);
        let offset: i64 = it.value("storage_offset")?;
        Ok(Plain::from_fn(x.dtype(), &size, |position| {
            x.at(&[position.iter().zip(&stride).fold(offset, |sum, (index, stride)| sum + index * stride)])
        })
        .into())
    }
}
