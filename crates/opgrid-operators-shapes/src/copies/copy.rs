//! `aten::copy_`, `aten::copy`: the elements of one tensor written to another.
//!
//! `self[i] = src[i]`
//!
//! - Shapes: `src` is stretched to the shape of `self`.
//! - Dtypes: any to any; a fraction is cut off for integers, anything but zero is true.
//! - Aliasing: `copy_` writes `self`; copying a tensor to itself does nothing. `copy` gives a tensor like `self`,
//!   `copy.out` writes `out`.
//! - Errors: a shape that does not broadcast to that of `self`, overlap in part, a `src` without data.
//! - `non_blocking`: a backend may queue the copy on the current stream of its device; between CPU tensors it makes no
//!   difference.
//! - Source: torch.Tensor.copy_, PyTorch 2.15.

use opgrid_core::DeviceType;

use crate::prelude::*;
use opgrid_tensor::ops::EmptyLike;

pub use opgrid_tensor::ops::copies::copy::*;

pub(super) fn register(library: &mut Library) {
    library.define(CopyInplace).column(NumbersForTensors).kind(&kind::COPY).in_place(shape, cpu).derivative(
        |d, (input, src, _)| {
            d.by(input, [], |grad, []| derivatives::zeros(grad))?;
            d.by(src, [], |grad, []| Ok(grad.clone()))
        },
    );
    library
        .define_with_forms(Copy, &kind::COPY)
        .on_every_backend(|input, src, non_blocking| {
            let out = EmptyLike.call(input, None, None, None, None, None)?;
            CopyInplace.call(&out, src, non_blocking).map(|()| out)
        })
        .derivative(|d, (input, src, _)| {
            d.by(input, [], |grad, []| derivatives::zeros(grad))?;
            d.by(src, [], |grad, []| Ok(grad.clone()))
        });
    library.implement(CopyOut).on_every_backend(|input, src, non_blocking, out| {
        result::copied(out, &Copy.call(input, src, non_blocking)?)
    });
}

fn shape(input: &Tensor, src: &Tensor, _non_blocking: bool) -> Result<TensorSpec> {
    let (to, from) = (input.spec()?, src.spec()?);
    if from.geometry().expand(to.sizes()).is_err() {
        let message = format!(
            "argument `src` has shape {:?}, which does not broadcast to `self` of shape {:?}",
            from.sizes(),
            to.sizes()
        );
        return Err(argument(message));
    }
    if from.device().kind() == DeviceType::Meta && to.device().kind() != DeviceType::Meta {
        let found = without_data(from.device());
        return Err(argument(format!("argument `src` is {found}, which has no data to copy")));
    }
    Ok(to.clone())
}

fn cpu(_input: &Tensor, src: &Tensor, _non_blocking: bool, out: &Tensor) -> Result<()> {
    elementwise::copy(out, src)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(
            CopyInplace,
            Difference {
                id: "copies-have-no-gaps",
                what: "torch's functional `copy` keeps the gaps and the offset of `self`; here the \
                     result is dense",
                why: "no element is in the gaps",
                test: (
                    "opgrid-operators/tests/all/differences/layouts.rs",
                    "results_do_not_depend_on_the_layout",
                ),
                when: |seen| {
                    seen.operator.starts_with("aten::copy")
                        && !seen.operator.starts_with("aten::copy_")
                        && (seen.part == Part::Strides || seen.begins_memory_here())
                },
                directed: None,
            },
        );
        samples
            .operator(CopyInplace, STORED, inputs, reference)
            .refuses("does not broadcast", generate::misfits());
        samples.operator(Copy, STORED, inputs, reference).refuses("does not broadcast", generate::misfits());
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (to, from) = (it.tensor("self")?, it.tensor("src")?);
        Ok(Plain::from_fn(to.dtype(), to.sizes(), |position| from.at(position)).into())
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let shapes: [[&[i64]; 2]; 5] =
            [[&[2, 3], &[2, 3]], [&[2, 3], &[3]], [&[2, 37], &[]], [&[], &[]], [&[0], &[1]]];
        let same = shapes
            .map(|[to, from]| given(generate::numbers(dtype, to, 0)).and(generate::numbers(dtype, from, 1)));
        let converted = STORED.iter().map(|other| {
            given(generate::numbers(dtype, &[2, 3], 0)).and(generate::numbers(*other, &[2, 3], 1))
        });
        same.into_iter().chain(converted).collect()
    }
}
