//! `aten::rand`: a new tensor of random numbers, evenly distributed from 0 to before 1.
//!
//! - Shapes: `size`, row-major.
//! - Dtypes: `dtype`, the default one without it.
//! - Dispatch: a composite of `empty` and `uniform_`.
//! - Errors: those of [`EmptyMemoryFormat`] and [`UniformInplace`].
//! - Source: torch.rand, PyTorch 2.15.

use opgrid_core::Generator;

use super::prelude::*;
use super::{EmptyMemoryFormat, UniformInplace};

operator! {
    home = crate::home;
    pub Rand = "aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor";
    pub RandGenerator = "aten::rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor";
}

pub(super) fn register(library: &mut Library) {
    library.define(Rand).everywhere(|size, dtype, layout, device, pin_memory| {
        drawn(size, None, dtype, layout, device, pin_memory)
    });
    library.define(RandGenerator).everywhere(drawn);
}

fn drawn(
    size: &[i64],
    generator: Option<&Generator>,
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
    pin_memory: Option<bool>,
) -> Result<Tensor> {
    let result = EmptyMemoryFormat.call(size, dtype, layout, device, pin_memory, None)?;
    UniformInplace.call(&result, 0.0, 1.0, generator)?;
    Ok(result)
}
