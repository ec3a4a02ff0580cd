//! `aten::as_strided`: a view with any sizes and strides.
//!
//! `out[i, j, …] = storage[storage_offset + i * stride[0] + j * stride[1] + …]`
//!
//! - Strides and offset count elements; without `storage_offset` it is that of `self`.
//! - Aliasing: a view of the storage of `self`; `as_strided_` makes `self` that view.
//! - Errors: negative strides, lists of different lengths, elements beyond the storage.
//! - Source: torch.as_strided, PyTorch 2.15.

use crate::layers::autograd::Recorder;
use crate::ops::prelude::*;

operator! {
    home = crate::home_of(register);
    pub AsStrided = "aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)";
    pub AsStridedInplace = "aten::as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a!)";
}

/// Where the view lies, for everybody.
pub const AS_STRIDED: ViewFamily<AsStrided> = ViewFamily::new(AsStrided, geometry).absolute();

pub(super) fn register(library: &mut Library) {
    library.view(AsStrided, &AS_STRIDED).derivative(derivative);
    library.view_in_place(AsStridedInplace, &AS_STRIDED).derivative(derivative);
}

pub(super) fn samples(samples: &mut Samples) {
    let inputs = |dtype| {
        let x = make::numbers(dtype, &[12], 0);
        let cases: [(&[i64], &[i64], i64); 4] =
            [(&[2, 3], &[3, 1], 0), (&[3, 2], &[1, 4], 2), (&[2, 2], &[0, 1], 1), (&[], &[], 5)];
        cases
            .map(|(size, stride, offset)| {
                given(x.clone()).and(size.to_vec()).and(stride.to_vec()).and(offset)
            })
            .to_vec()
    };
    let x = make::numbers(DType::F32, &[4], 0);
    samples
        .of(AsStrided, STORED, inputs, reference)
        .view()
        .needs_contiguous()
        .refuses("", given(x.clone()).and([2].to_vec()).and([4].to_vec()))
        .refuses("", given(x).and([2].to_vec()).and([-1].to_vec()));
    samples.of(AsStridedInplace, STORED, inputs, reference).needs_contiguous();
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

impl Tensor {
    /// A view with any sizes and strides; without an offset it is that of this tensor.
    ///
    /// # Errors
    ///
    /// Those of [`AsStrided`].
    pub fn as_strided(&self, size: &[i64], stride: &[i64], storage_offset: Option<i64>) -> Result<Self> {
        AsStrided.call(self, size, stride, storage_offset)
    }
}

/// The gradient: what the places of the view have, summed, and then what the input has at its own. Several elements of the
/// input in one place share it.
fn slope(grad: &Tensor, base: &Geometry, viewed: &Geometry) -> Result<Tensor> {
    let count = base.end().max(viewed.end());
    let numbers = Tensor::arange(0, count, 1)?;
    let places = |geometry: &Geometry| {
        numbers.as_strided(geometry.sizes(), geometry.strides(), Some(geometry.offset()))?.reshape(&[-1])
    };
    let memory = Tensor::zeros(&[count], grad.dtype(), grad.device())?;
    let mut memory = memory.index_add(0, &places(viewed)?, &grad.reshape(&[-1])?, 1)?;
    let own = places(base)?;
    if base.repeats() {
        let one = Tensor::ones(&[own.numel()], grad.dtype(), grad.device())?;
        let shares = Tensor::zeros(&[count], grad.dtype(), grad.device())?.index_add(0, &own, &one, 1)?;
        memory = (memory / shares.clamp_min(1)?)?;
    }
    memory.index_select(0, &own)?.reshape(base.sizes())
}
