//! `aten::randperm`: the integers below a number in random order.
//!
//! `out` is a permutation of `0, 1, …, n - 1`, all equally likely
//!
//! - Shapes: `n`.
//! - Dtypes: integers and floats, int64 if none is given.
//! - Random numbers: those of `generator` or of the stream of [`manual_seed`](opgrid_tensor::manual_seed).
//! - Aliasing: `randperm.out` and `randperm.generator_out` write `out`.
//! - Dispatch: the overloads without outputs are made of `empty` and `randperm.generator_out`.
//! - Errors: a negative `n`, or one beyond the integers that the dtype has; other dtypes.
//! - Source: torch.randperm, PyTorch 2.15. R. A. Fisher and F. Yates, Statistical tables (1938).

use opgrid_core::Generator;

use crate::prelude::*;
use opgrid_kernels::random;
use opgrid_kernels::random::Random;
use opgrid_tensor::ops::EmptyMemoryFormat;
use opgrid_tensor::tensor::{Array, iinfo};

pub use opgrid_tensor::ops::random::randperm::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Randperm, &kind::RANDOM).composite(|n, dtype, layout, device, pin_memory| {
        RandpermGenerator.call(n, None, dtype, layout, device, pin_memory)
    });
    library.implement(RandpermOut).composite(|n, out| RandpermGeneratorOut.call(n, None, out));
    library.define_with_forms(RandpermGenerator, &kind::RANDOM).on_every_backend(
        |n, generator, dtype, layout, device, pin_memory| {
            let dtype = dtype.unwrap_or(DType::I64);
            check(n, dtype)?;
            let out = EmptyMemoryFormat.call(&[n], Some(dtype), layout, device, pin_memory, None)?;
            RandpermGeneratorOut.call(n, generator, &out)?;
            Ok(out)
        },
    );
    library.implement(RandpermGeneratorOut).on_cpu_and_meta(|n, generator, out| {
        check(n, out.dtype())?;
        let spec = TensorSpec::contiguous(&[n], out.dtype(), out.device())?;
        result::compute_into(out, &spec, |out| cpu(n, generator, out))
    });
}

/// # Errors
///
/// A negative number, or more integers than the dtype has.
fn check(n: i64, dtype: DType) -> Result<()> {
    let most = match dtype {
        DType::F16 => (1 << 11) + 1,
        DType::BF16 => (1 << 8) + 1,
        DType::F32 => (1 << 24) + 1,
        DType::F64 => (1 << 53) + 1,
        dtype if dtype.is_integral() => {
            i64::try_from(iinfo(dtype)?.max).unwrap_or(i64::MAX).saturating_add(1)
        }
        other => return with_dtype!(other, _T: Real => Ok(())),
    };
    if n < 0 {
        return Err(argument(format!("argument `n` is {n}, which is negative; expected zero or more")));
    }
    if n > most {
        return Err(argument(format!(
            "argument `n` is {n}, expected at most {most}, as {dtype} does not represent every integer \
             beyond that"
        )));
    }
    Ok(())
}

fn cpu(n: i64, generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    /// From as many integers on 32 bits are too few for each to be equally likely.
    const MANY: u64 = u32::MAX as u64 / 20;
    let shuffled = |random: &mut Random| {
        let mut numbers: Vec<i64> = (0..n).collect();
        let count = n as u64;
        for at in 0..count.saturating_sub(1) {
            let drawn = if count < MANY { u64::from(random.bits32()) } else { random.bits64() };
            numbers.swap(at as usize, (at + drawn % (count - at)) as usize);
        }
        numbers
    };
    let numbers = random::draw(generator, shuffled)?;
    elementwise::copy(out, &Array::from_slice(&numbers, &[n])?)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let expected = |it: &Inputs| -> Result<Expected> {
            let (n, dtype): (i64, Option<DType>) = (it.value("n")?, it.value("dtype")?);
            let (count, most) = (n as f64, n as f64 - 1.0);
            let deviation = ((count * count - 1.0) / 12.0).max(0.0).sqrt();
            let distribution = Distribution { least: 0.0, most, mean: most / 2.0, deviation };
            Ok(Expected::Random(vec![n], dtype.unwrap_or(DType::I64), distribution))
        };
        let sizes = |dtype| [100, 1, 0].map(|n| given(n).named("dtype", dtype)).to_vec();
        let seeded = |dtype| vec![given(100).named("generator", random::generator(3)).named("dtype", dtype)];
        samples
            .operator(Randperm, REAL, sizes, expected)
            .refuses("negative", given(-1))
            .refuses("uint8", given(300).named("dtype", DType::U8));
        samples.operator(RandpermGenerator, REAL, seeded, expected);
    }
}
