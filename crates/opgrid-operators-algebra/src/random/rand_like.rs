//! `aten::rand_like`: a new tensor of random numbers, evenly distributed from 0 to before 1, like another tensor.
//!
//! - Shapes: that of `self`, laid out by `memory_format`, as `self` is if none is given.
//! - Dtypes: `dtype`, that of `self` if none is given; floating-point and complex ones.
//! - Aliasing: `rand_like.out` and `rand_like.generator_out` write `out`.
//! - Dispatch: composites of `empty_like` and `uniform_`.
//! - Errors: those of `empty_like` and `uniform_`.
//! - Source: torch.rand_like, PyTorch 2.15.

use opgrid_core::Generator;

use crate::kinds::draws;
use crate::prelude::*;
use opgrid_tensor::ops::{EmptyLike, UniformInplace};

pub use opgrid_tensor::ops::random::rand_like::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(RandLike, &kind::RANDOM).composite(
        |input, dtype, layout, device, pin_memory, memory_format| {
            let out = EmptyLike.call(input, dtype, layout, device, pin_memory, memory_format)?;
            fill(&out, None).map(|()| out)
        },
    );
    library.define_with_forms(RandLikeGenerator, &kind::RANDOM).composite(
        |input, generator, dtype, layout, device, pin_memory, memory_format| {
            let out = EmptyLike.call(input, dtype, layout, device, pin_memory, memory_format)?;
            fill(&out, generator).map(|()| out)
        },
    );
    library.implement(RandLikeOut).composite(|input, format, out| {
        draws::shaped(input, format, out)?;
        fill(out, None)
    });
    library.implement(RandLikeGeneratorOut).composite(|input, generator, format, out| {
        draws::shaped(input, format, out)?;
        fill(out, generator)
    });
}

fn fill(out: &Tensor, generator: Option<&Generator>) -> Result<()> {
    UniformInplace.call(out, 0.0, 1.0, generator)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        draws::samples::of_like(samples, (RandLike, RandLikeGenerator), Distribution::uniform(0.0, 1.0));
    }
}
