//! `aten::size`, `aten::stride`, `aten::numel` and others: what a tensor is like.
//!
//! - Answers: an integer, or whether something holds; of the elements nothing is asked, so that meta tensors answer too.
//! - Errors: a dimension out of range, any dimension of a tensor without dimensions.
//! - Source: torch.Tensor.size, torch.Tensor.stride, torch.numel, PyTorch 2.15. Sizes are numbers here, so that the
//!   questions for symbols are the same.

use opgrid_core::{BoxedCall, Kernel};

use crate::prelude::*;
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::questions::sizes::*;

/// Whether elements lie in the order of a memory format. Answers of this type have no Rust type, so that the kernel is
/// boxed.
const SYM_IS_CONTIGUOUS: &str =
    "aten::sym_is_contiguous(Tensor self, MemoryFormat memory_format=contiguous_format) -> SymBool";

pub(super) fn register(library: &mut Library) {
    let _ = library
        .define(SYM_IS_CONTIGUOUS)
        .column(kind::QUESTION.clone())
        .add(Kernel::boxed(sym_is_contiguous).at(DispatchKey::CompositeImplicitAutograd));
    let size = |input: &Tensor, dim| of_dim(input.spec()?.sizes(), dim);
    let stride = |input: &Tensor, dim| of_dim(input.spec()?.strides(), dim);
    let numel = |input: &Tensor| Ok(input.spec()?.numel());
    library.define(SizeInt).kind(&kind::QUESTION).implicit(size);
    library.define(SymSizeInt).kind(&kind::QUESTION).implicit(size);
    library.define(StrideInt).kind(&kind::QUESTION).implicit(stride);
    library.define(SymStrideInt).kind(&kind::QUESTION).implicit(stride);
    library.define(Numel).kind(&kind::QUESTION).implicit(numel);
    library.define(SymNumel).kind(&kind::QUESTION).implicit(numel);
    library
        .define(SymStorageOffset)
        .kind(&kind::QUESTION)
        .implicit(|input| Ok(input.spec()?.geometry().offset()));
    library.define(Dim).kind(&kind::QUESTION).implicit(|input| Ok(input.spec()?.sizes().len() as i64));
    library
        .define(IsSameSize)
        .kind(&kind::QUESTION)
        .on_every_backend(|input, other| Ok(input.spec()?.sizes() == other.spec()?.sizes()));
}

fn sym_is_contiguous(call: &mut BoxedCall<'_>) -> Result<()> {
    let (input, format) = (Tensor::from_value(call.args()[0])?, MemoryFormat::from_value(call.args()[1])?);
    // As in torch, any other format than the last ones of channels asks for rows.
    let format = if format == MemoryFormat::Preserve { MemoryFormat::Contiguous } else { format };
    let answer = input.spec()?.geometry().is_in_format(format);
    call.push(answer);
    Ok(())
}

fn of_dim(list: &[i64], dim: i64) -> Result<i64> {
    if list.is_empty() {
        let message = format!("dimension {dim} is out of range for a tensor without dimensions");
        return Err(opgrid_array::error::out_of_range(message));
    }
    Ok(list[normalise_dim(dim, list.len())?])
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let with_dim = |dtype| {
            let cases: [(&[i64], i64); 4] = [(&[2, 3], 0), (&[2, 3], -1), (&[4, 0], 1), (&[5, 1, 2], 1)];
            cases.map(|(sizes, dim)| given(generate::numbers(dtype, sizes, 0)).and(dim)).to_vec()
        };
        let size = |it: &Inputs| -> Result<Expected> {
            let sizes = it.tensor("self")?.sizes();
            Ok(Expected::Value(sizes[naive::dimension(it.value("dim")?, sizes.len())].into()))
        };
        let number = given(Plain::number(DType::F32, 1)).and(0);
        let beyond = given(generate::numbers(DType::F32, &[2], 0)).and(1);
        samples
            .operator(SizeInt, STORED, with_dim, size)
            .refuses("range", beyond.clone())
            .refuses("", number.clone());
        samples
            .operator(SymSizeInt, STORED, with_dim, size)
            .refuses("range", beyond.clone())
            .refuses("", number.clone());
        // The product of the sizes behind, as in rows.
        let stride = |it: &Inputs| -> Result<Expected> {
            let sizes = it.tensor("self")?.sizes();
            let behind = &sizes[naive::dimension(it.value("dim")?, sizes.len()) + 1..];
            Ok(Expected::Value(behind.iter().map(|size| *size.max(&1)).product::<i64>().into()))
        };
        samples
            .operator(StrideInt, STORED, with_dim, stride)
            .needs_contiguous()
            .refuses("range", beyond.clone())
            .refuses("", number.clone());
        samples
            .operator(SymStrideInt, STORED, with_dim, stride)
            .needs_contiguous()
            .refuses("range", beyond)
            .refuses("", number);
        let numel =
            |it: &Inputs| Ok(Expected::Value(it.tensor("self")?.sizes().iter().product::<i64>().into()));
        samples.operator(Numel, STORED, generate::unary, numel);
        samples.operator(SymNumel, STORED, generate::unary, numel);
        samples
            .operator(SymStorageOffset, STORED, generate::unary, |_| Ok(Expected::Value(0i64.into())))
            .needs_contiguous();
        samples.operator(Dim, STORED, generate::unary, |it| {
            Ok(Expected::Value((it.tensor("self")?.sizes().len() as i64).into()))
        });
        samples
            .named("aten::sym_is_contiguous", STORED, generate::unary, |_| Ok(Expected::Value(true.into())))
            .needs_contiguous();
        let two = |dtype| {
            let cases: [[&[i64]; 2]; 4] = [[&[2, 3], &[2, 3]], [&[2, 3], &[3, 2]], [&[], &[1]], [&[0], &[0]]];
            cases
                .map(|[a, b]| given(generate::numbers(dtype, a, 0)).and(generate::numbers(DType::F32, b, 0)))
                .to_vec()
        };
        samples.operator(IsSameSize, STORED, two, |it| {
            Ok(Expected::Value((it.tensor("self")?.sizes() == it.tensor("other")?.sizes()).into()))
        });
    }
}
