//! `aten::randn_like`: a new tensor of random numbers, normally distributed with mean 0 and deviation 1, like another tensor.
//!
//! - Shapes: that of `self`, laid out by `memory_format`, as `self` is if none is given.
//! - Dtypes: `dtype`, that of `self` if none is given; floating-point and complex ones.
//! - Aliasing: `randn_like.out` and `randn_like.generator_out` write `out`.
//! - Dispatch: composites of `empty_like` and `normal_`.
//! - Errors: those of `empty_like` and `normal_`.
//! - Source: torch.randn_like, PyTorch 2.15.

use opgrid_core::Generator;

use crate::kinds::draws;
use crate::prelude::*;
use opgrid_tensor::ops::{EmptyLike, NormalInplace};

pub use opgrid_tensor::ops::random::randn_like::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(RandnLike, &kind::RANDOM).composite(
        |input, dtype, layout, device, pin_memory, memory_format| {
            let out = EmptyLike.call(input, dtype, layout, device, pin_memory, memory_format)?;
            fill(&out, None).map(|()| out)
        },
    );
    library.define_with_forms(RandnLikeGenerator, &kind::RANDOM).composite(
        |input, generator, dtype, layout, device, pin_memory, memory_format| {
            let out = EmptyLike.call(input, dtype, layout, device, pin_memory, memory_format)?;
            fill(&out, generator).map(|()| out)
        },
    );
    library.implement(RandnLikeOut).composite(|input, format, out| {
        draws::shaped(input, format, out)?;
        fill(out, None)
    });
    library.implement(RandnLikeGeneratorOut).composite(|input, generator, format, out| {
        draws::shaped(input, format, out)?;
        fill(out, generator)
    });
}

fn fill(out: &Tensor, generator: Option<&Generator>) -> Result<()> {
    NormalInplace.call(out, 0.0, 1.0, generator)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        draws::samples::of_like(samples, (RandnLike, RandnLikeGenerator), Distribution::normal(0.0, 1.0));
        // Box and Muller's formula, by another logarithm, sine and cosine.
        samples.rounds(RandnLike, Roundings::all(Rounding::Sum(32)));
    }
}
