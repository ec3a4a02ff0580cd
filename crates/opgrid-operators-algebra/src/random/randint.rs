//! `aten::randint`: a new tensor of random integers of a range.
//!
//! `out[i]` is drawn from `low, low + 1, …, high - 1`, all equally likely; `low` is 0 where none is given
//!
//! - Shapes: `size`, row-major.
//! - Dtypes: `dtype`, int64 if none is given; bools, integers and floats.
//! - Aliasing: the overloads whose names end in `out` write `out`.
//! - Dispatch: composites of `empty` and `random_`.
//! - Errors: those of `empty` and `random_`.
//! - Source: torch.randint, PyTorch 2.15.

use opgrid_core::{Generator, Layout};

use crate::prelude::*;
use opgrid_tensor::ops::{EmptyMemoryFormat, RandomInplaceFrom};

pub use opgrid_tensor::ops::random::randint::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Randint, &kind::RANDOM).composite(
        |high, size, dtype, layout, device, pin_memory| {
            made((0, high), size, None, (dtype, layout, device, pin_memory))
        },
    );
    library.define_with_forms(RandintGenerator, &kind::RANDOM).composite(
        |high, size, generator, dtype, layout, device, pin_memory| {
            made((0, high), size, generator, (dtype, layout, device, pin_memory))
        },
    );
    library.define_with_forms(RandintLow, &kind::RANDOM).composite(
        |low, high, size, dtype, layout, device, pin_memory| {
            made((low, high), size, None, (dtype, layout, device, pin_memory))
        },
    );
    library.define_with_forms(RandintLowGenerator, &kind::RANDOM).composite(
        |low, high, size, generator, dtype, layout, device, pin_memory| {
            made((low, high), size, generator, (dtype, layout, device, pin_memory))
        },
    );
    library.implement(RandintOut).composite(|high, size, out| written((0, high), size, None, out));
    library
        .implement(RandintGeneratorOut)
        .composite(|high, size, generator, out| written((0, high), size, generator, out));
    library.implement(RandintLowOut).composite(|low, high, size, out| written((low, high), size, None, out));
    library
        .implement(RandintLowGeneratorOut)
        .composite(|low, high, size, generator, out| written((low, high), size, generator, out));
}

/// What says how a tensor is made.
type Options = (Option<DType>, Option<Layout>, Option<Device>, Option<bool>);

fn made(
    (low, high): (i64, i64),
    size: &[i64],
    generator: Option<&Generator>,
    (dtype, layout, device, pin_memory): Options,
) -> Result<Tensor> {
    let dtype = dtype.unwrap_or(DType::I64);
    let out = EmptyMemoryFormat.call(size, Some(dtype), layout, device, pin_memory, None)?;
    RandomInplaceFrom.call(&out, low, Some(high), generator)?;
    Ok(out)
}

fn written((low, high): (i64, i64), size: &[i64], generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    result::give_shape(out, &TensorSpec::contiguous(size, out.dtype(), out.device())?)?;
    RandomInplaceFrom.call(out, low, Some(high), generator)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kernels::random;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        fn sizes(dtype: DType, bounds: &[i64], seeded: bool) -> Vec<Sample> {
            let one = |size: Vec<i64>| {
                let call = bounds.iter().fold(Sample::default(), |call, bound| call.and(*bound)).and(size);
                let call = call.named("dtype", dtype);
                if seeded { call.named("generator", random::generator(3)) } else { call }
            };
            [vec![2000], vec![40, 50], vec![0], vec![]].map(one).to_vec()
        }
        samples
            .operator(Randint, REAL, |dtype| sizes(dtype, &[20], false), expected)
            .refuses("smaller than `to`", given(0).and([2].to_vec()));
        samples.operator(RandintGenerator, REAL, |dtype| sizes(dtype, &[20], true), expected);
        samples.operator(RandintLow, REAL, |dtype| sizes(dtype, &[3, 24], false), expected);
        samples.operator(RandintLowGenerator, REAL, |dtype| sizes(dtype, &[3, 24], true), expected);
    }

    fn expected(it: &Inputs) -> Result<Expected> {
        let (low, high): (Option<i64>, i64) = (it.option("low")?, it.value("high")?);
        let (size, dtype): (_, Option<DType>) = (it.value("size")?, it.value("dtype")?);
        let (least, most) = (low.unwrap_or(0) as f64, high as f64 - 1.0);
        let count = most - least + 1.0;
        let deviation = ((count * count - 1.0) / 12.0).sqrt();
        let distribution = Distribution { least, most, mean: (least + most) / 2.0, deviation };
        Ok(Expected::Random(size, dtype.unwrap_or(DType::I64), distribution))
    }
}
