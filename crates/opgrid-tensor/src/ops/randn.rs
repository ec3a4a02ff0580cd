//! `aten::randn`: a new tensor of random numbers, normally distributed with mean 0 and deviation 1.
//!
//! - Shapes: `size`, row-major.
//! - Dtypes: `dtype`, the default one without it.
//! - Dispatch: a composite of `empty` and `normal_`.
//! - Errors: those of [`EmptyMemoryFormat`] and [`NormalInplace`].
//! - Source: torch.randn, PyTorch 2.15.

use opgrid_core::Generator;

use super::prelude::*;
use super::{EmptyMemoryFormat, NormalInplace};
use crate::kernels::random;

operator! {
    home = crate::home;
    pub Randn = "aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor";
    pub RandnGenerator = "aten::randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor";
}

pub(super) fn register(library: &mut Library) {
    library.define(Randn).kind(&kind::RANDOM).on_every_backend(|size, dtype, layout, device, pin_memory| {
        drawn(size, None, dtype, layout, device, pin_memory)
    });
    library.define(RandnGenerator).kind(&kind::RANDOM).on_every_backend(drawn);
}

pub(super) fn samples(samples: &mut Samples) {
    let inputs = |dtype| {
        [vec![2000], vec![40, 50], vec![0], vec![]].map(|size| given(size).named("dtype", dtype)).to_vec()
    };
    samples.of(Randn, INEXACT, inputs, reference).refuses("", given([-1].to_vec()));
    let seeded =
        |dtype| vec![given([2000].to_vec()).named("generator", random::generator(3)).named("dtype", dtype)];
    samples.of(RandnGenerator, INEXACT, seeded, reference);
}

fn reference(it: &Inputs) -> Result<Expected> {
    let (size, dtype): (_, Option<DType>) = (it.value("size")?, it.value("dtype")?);
    Ok(Expected::Random(size, dtype.unwrap_or(default_dtype()), Distribution::normal(0.0, 1.0)))
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
    NormalInplace.call(&result, 0.0, 1.0, generator)?;
    Ok(result)
}

impl Tensor {
    /// A new row-major tensor of random numbers, normally distributed with mean 0 and deviation 1.
    ///
    /// # Errors
    ///
    /// Those of [`Randn`].
    pub fn randn(size: &[i64], dtype: DType, device: Device) -> Result<Self> {
        Randn.call(size, Some(dtype), None, Some(device), None)
    }
}
