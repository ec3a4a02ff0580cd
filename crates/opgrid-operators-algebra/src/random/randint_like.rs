//! `aten::randint_like`: a new tensor of random integers of a range, like another tensor.
//!
//! `out[i]` is drawn from `low, low + 1, …, high - 1`, all equally likely; `low` is 0 where none is given
//!
//! - Shapes: that of `self`, laid out by `memory_format`, as `self` is if none is given. A tensor `high` has one element.
//! - Dtypes: `dtype`, that of `self` if none is given; bools, integers and floats.
//! - Aliasing: the overloads whose names end in `out` write `out`.
//! - Dispatch: composites of `empty_like` and `random_`.
//! - Errors: those of `empty_like` and `random_`; a tensor `high` of several elements.
//! - Source: torch.randint_like, PyTorch 2.15.

use crate::kinds::draws;
use crate::prelude::*;
use opgrid_tensor::ops::{EmptyLike, Item, RandomInplaceFrom};

pub use opgrid_tensor::ops::random::randint_like::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(RandintLike, &kind::RANDOM).composite(
        |input, high, dtype, layout, device, pin_memory, memory_format| {
            let out = EmptyLike.call(input, dtype, layout, device, pin_memory, memory_format)?;
            RandomInplaceFrom.call(&out, 0, Some(high), None).map(|()| out)
        },
    );
    library.implement(RandintLikeOut).composite(|input, high, format, out| {
        draws::shaped(input, format, out)?;
        RandomInplaceFrom.call(out, 0, Some(high), None)
    });
    library.define_with_forms(RandintLikeGenerator, &kind::RANDOM).composite(
        |input, high, generator, dtype, layout, device, pin_memory, memory_format| {
            let out = EmptyLike.call(input, dtype, layout, device, pin_memory, memory_format)?;
            RandomInplaceFrom.call(&out, 0, Some(high), generator).map(|()| out)
        },
    );
    library.implement(RandintLikeGeneratorOut).composite(|input, high, generator, format, out| {
        draws::shaped(input, format, out)?;
        RandomInplaceFrom.call(out, 0, Some(high), generator)
    });
    library.define_with_forms(RandintLikeLowDtype, &kind::RANDOM).composite(
        |input, low, high, dtype, layout, device, pin_memory, memory_format| {
            let out = EmptyLike.call(input, dtype, layout, device, pin_memory, memory_format)?;
            RandomInplaceFrom.call(&out, low, Some(high), None).map(|()| out)
        },
    );
    library.implement(RandintLikeLowDtypeOut).composite(|input, low, high, format, out| {
        draws::shaped(input, format, out)?;
        RandomInplaceFrom.call(out, low, Some(high), None)
    });
    library.define_with_forms(RandintLikeLowGeneratorDtype, &kind::RANDOM).composite(
        |input, low, high, generator, dtype, layout, device, pin_memory, memory_format| {
            let out = EmptyLike.call(input, dtype, layout, device, pin_memory, memory_format)?;
            RandomInplaceFrom.call(&out, low, Some(high), generator).map(|()| out)
        },
    );
    library.implement(RandintLikeLowGeneratorDtypeOut).composite(
        |input, low, high, generator, format, out| {
            draws::shaped(input, format, out)?;
            RandomInplaceFrom.call(out, low, Some(high), generator)
        },
    );
    library.define_with_forms(RandintLikeTensor, &kind::RANDOM).composite(
        |input, high, dtype, layout, device, pin_memory, memory_format| {
            let out = EmptyLike.call(input, dtype, layout, device, pin_memory, memory_format)?;
            RandomInplaceFrom.call(&out, 0, bound(high)?, None).map(|()| out)
        },
    );
    library.implement(RandintLikeTensorOut).composite(|input, high, format, out| {
        draws::shaped(input, format, out)?;
        RandomInplaceFrom.call(out, 0, bound(high)?, None)
    });
    library.define_with_forms(RandintLikeTensorGenerator, &kind::RANDOM).composite(
        |input, high, generator, dtype, layout, device, pin_memory, memory_format| {
            let out = EmptyLike.call(input, dtype, layout, device, pin_memory, memory_format)?;
            RandomInplaceFrom.call(&out, 0, bound(high)?, generator).map(|()| out)
        },
    );
    library.implement(RandintLikeTensorGeneratorOut).composite(|input, high, generator, format, out| {
        draws::shaped(input, format, out)?;
        RandomInplaceFrom.call(out, 0, bound(high)?, generator)
    });
}

/// The bound in a tensor of one element.
fn bound(high: &Tensor) -> Result<Option<i64>> {
    match high.spec()?.sizes() {
        [] => Item.call(high)?.to_i64().map(Some),
        sizes => Err(argument(format!(
            "argument `high` has shape {sizes:?}, expected a tensor without dimensions"
        ))),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kernels::random;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(
            RandintLike,
            Difference {
                id: "bounds-of-integers-are-integers",
                what: "torch truncates a bound with a fraction in a tensor; here it is rejected",
                why: "a fraction is probably a mistake",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "what_torch_does_not_check_is_refused",
                ),
                when: |seen| seen.we_refuse("cannot be converted to int without loss"),
                directed: Some(Directed {
                    operator: "aten::randint_like.Tensor",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::F32, &[2], &[0.0; 2]).into()),
                            ("high", Operand::rows(1, DType::F32, &[], &[2.5]).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        let high = |dtype| draws::samples::tensors(dtype, |call| call.and(20));
        let seeded = |dtype| {
            draws::samples::tensors(dtype, |call| call.and(20).named("generator", random::generator(3)))
        };
        let low = |dtype| draws::samples::tensors(dtype, |call| call.and(3).and(24));
        let low_seeded = |dtype| {
            draws::samples::tensors(dtype, |call| {
                call.and(3).and(24).named("generator", random::generator(3))
            })
        };
        let tensor = |dtype| draws::samples::tensors(dtype, |call| call.and(Plain::number(DType::I64, 20)));
        let tensor_seeded = |dtype| {
            let with = |call: Sample| {
                call.and(Plain::number(DType::I64, 20)).named("generator", random::generator(3))
            };
            draws::samples::tensors(dtype, with)
        };
        samples.operator(RandintLike, REAL, high, expected);
        samples.operator(RandintLikeGenerator, REAL, seeded, expected);
        samples.operator(RandintLikeLowDtype, REAL, low, expected);
        samples.operator(RandintLikeLowGeneratorDtype, REAL, low_seeded, expected);
        samples.operator(RandintLikeTensor, REAL, tensor, expected).not_on_meta();
        samples.operator(RandintLikeTensorGenerator, REAL, tensor_seeded, expected).not_on_meta();
    }

    fn expected(it: &Inputs) -> Result<Expected> {
        let (x, low): (_, Option<i64>) = (it.tensor("self")?, it.option("low")?);
        let (least, most) =
            (low.unwrap_or(0) as f64, number::whole(it.operand("high")?.at(&[])) as f64 - 1.0);
        let count = most - least + 1.0;
        let deviation = ((count * count - 1.0) / 12.0).sqrt();
        let distribution = Distribution { least, most, mean: (least + most) / 2.0, deviation };
        Ok(Expected::Random(x.sizes().to_vec(), x.dtype(), distribution))
    }
}
