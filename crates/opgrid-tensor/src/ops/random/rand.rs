//! `aten::rand`: a new tensor of random numbers, evenly distributed from 0 to before 1.
//!
//! - Shapes: `size`, row-major.
//! - Dtypes: `dtype`, the default one without it.
//! - Aliasing: `rand.out` and `rand.generator_out` write `out`.
//! - Dispatch: a composite of `empty` and `uniform_`.
//! - Errors: those of [`EmptyMemoryFormat`](crate::ops::EmptyMemoryFormat) and [`UniformInplace`].
//! - Source: torch.rand, PyTorch 2.15.

use crate::ops::UniformInplace;
use crate::ops::kinds::factory;
use crate::ops::prelude::*;

operator! {
    home = crate::home_of(register);
    pub Rand = "aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
    pub RandGenerator = "aten::rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
}

pub(super) fn register(library: &mut Library) {
    factory::define_drawn(library, (Rand, RandGenerator), (RandOut, RandGeneratorOut), |out, generator| {
        UniformInplace.call(out, 0.0, 1.0, generator)
    });
}

impl Tensor {
    /// A new row-major tensor of random numbers, evenly distributed from 0 to before 1.
    ///
    /// # Errors
    ///
    /// Those of [`Rand`].
    pub fn rand(size: &[i64], dtype: DType, device: Device) -> Result<Self> {
        Rand.call(size, Some(dtype), None, Some(device), None)
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        factory::samples::of_drawn(samples, (Rand, RandGenerator), Distribution::uniform(0.0, 1.0));
    }
}
