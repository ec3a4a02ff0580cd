//! `aten::resize_`, `aten::resize_as_`, `aten::resize`: other sizes, with more memory where they need it.
//!
//! - Shapes: `size`, or that of `the_template`, row-major or in the order of `memory_format`, from the same offset. Sizes
//!   that a tensor has already keep their strides.
//! - Elements: those that lie in the memory, of `resize` in that of a copy, which has the order of `self` and no gaps; where it had
//!   to grow, the new ones read as zero.
//! - Aliasing: `resize_` and `resize_as_` write `self`, which keeps its memory where that is large enough. Otherwise it gets
//!   memory of its own, and other tensors on the old one keep that.
//! - Errors: negative sizes, the preserving memory format, a tensor whose memory the CPU cannot address.
//! - Source: torch.Tensor.resize_, PyTorch 2.15; there the memory itself grows, under all tensors that it has.

use opgrid_core::DeviceType;

use crate::prelude::*;
use opgrid_tensor::tensor::{Array, Storage};

pub use opgrid_tensor::ops::views::resize::*;

pub(super) fn register(library: &mut Library) {
    library.define(ResizeInplace).kind(&kind::VIEW).on_cpu_and_meta(resize);
    library.define(ResizeAsInplace).kind(&kind::VIEW).on_every_backend(resize_as);
    library.define_with_forms(Resize, &kind::COPY).on_every_backend(resized);
    library
        .implement(ResizeOut)
        .on_every_backend(|input, size, format, out| result::copied(out, &resized(input, size, format)?));
}

fn resize(input: &Tensor, size: &[i64], memory_format: Option<MemoryFormat>) -> Result<()> {
    let array = input.array()?;
    let format = memory_format.unwrap_or(MemoryFormat::Contiguous);
    if format == MemoryFormat::Preserve {
        return Err(argument("argument `memory_format` is preserve_format, expected a definite format"));
    }
    let keeps = array.sizes() == size && (memory_format.is_none() || array.geometry().is_in_format(format));
    if keeps {
        return Ok(());
    }
    let geometry = Geometry::in_format(size, format)?.at_offset(array.geometry().offset())?;
    let spec = array.spec().with_geometry(geometry);
    let storage = if spec.bytes()? <= array.storage().bytes() {
        array.storage().clone()
    } else {
        grown(array, spec.bytes()?)?
    };
    input.become_array(Array::new(spec, storage)?)
}

/// A storage of `bytes` bytes with those of an array in front. It has twice as many as that had, if that is more:
/// tensors that grow step by step keep the storages before, and together they take no more than the last one.
fn grown(array: &Array, bytes: usize) -> Result<Storage> {
    if array.device().kind() == DeviceType::Meta {
        return Storage::meta(bytes);
    }
    let old = array.storage();
    let storage = Storage::cpu(bytes.max(old.bytes().saturating_mul(2))).or_else(|_| Storage::cpu(bytes))?;
    storage.write()?.bytes()[..old.bytes()].copy_from_slice(old.read()?.bytes());
    Ok(storage)
}

fn resize_as(input: &Tensor, the_template: &Tensor, memory_format: Option<MemoryFormat>) -> Result<()> {
    let template = the_template.spec()?;
    let format = match memory_format {
        Some(MemoryFormat::Preserve) => Some(template.geometry().suggested_format()),
        other => other,
    };
    ResizeInplace.call(input, template.sizes(), format)
}

fn resized(input: &Tensor, size: &[i64], memory_format: Option<MemoryFormat>) -> Result<Tensor> {
    let copy = opgrid_tensor::ops::CloneTensor.call(input, Some(MemoryFormat::Preserve))?;
    ResizeInplace.call(&copy, size, memory_format)?;
    Ok(copy)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2], 0);
        samples
            .operator(ResizeInplace, STORED, inputs, |it| reference(it, it.value("size")?))
            .needs_contiguous()
            .needs_cpu()
            .refuses("", given(x.clone()).and([-1].to_vec()))
            .refuses(
                "preserve_format",
                given(x).and([2].to_vec()).named("memory_format", MemoryFormat::Preserve),
            );
        samples
            .operator(Resize, STORED, inputs, |it| reference(it, it.value("size")?))
            .needs_contiguous()
            .needs_cpu();
        let beside = |dtype| {
            let cases: [[&[i64]; 2]; 4] = [[&[2, 3], &[3, 2]], [&[4], &[2, 1]], [&[0], &[2]], [&[], &[]]];
            cases
                .map(|[one, other]| {
                    given(generate::numbers(dtype, one, 0)).and(generate::numbers(dtype, other, 1))
                })
                .to_vec()
        };
        // Elements that memory had to grow for are anything there.
        samples.rounds(ResizeInplace, Roundings::all(Rounding::Unset));
        samples.rounds(ResizeAsInplace, Roundings::all(Rounding::Unset));
        samples
            .operator(ResizeAsInplace, STORED, beside, |it| {
                reference(it, it.tensor("the_template")?.sizes().to_vec())
            })
            .needs_contiguous()
            .needs_cpu();
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], &[i64]); 7] = [
            (&[2, 3], &[3, 2]),
            (&[2, 3], &[4]),
            (&[2, 3], &[2, 3]),
            (&[2, 3], &[0, 5]),
            (&[], &[1, 1]),
            (&[2], &[3, 4]),
            (&[0], &[2, 2]),
        ];
        cases.map(|(sizes, size)| given(generate::numbers(dtype, sizes, 0)).and(size.to_vec())).to_vec()
    }

    /// The elements in their order, with zeros behind them.
    fn reference(it: &Inputs, size: Vec<i64>) -> Result<Expected> {
        let x = it.tensor("self")?;
        let count = size.iter().product::<i64>() as usize;
        let zero = naive::convert(Scalar::Int(0), x.dtype());
        let elements: Vec<Scalar> =
            x.elements().iter().copied().chain(std::iter::repeat(zero)).take(count).collect();
        Ok(Plain::from_elements(x.dtype(), &size, &elements).into())
    }
}
