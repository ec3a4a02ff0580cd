//! `aten::random_`: sets every element to a random integer of a range.
//!
//! `self[i]` is drawn from `from, from + 1, …, to - 1`, all equally likely. Without bounds it is any number from 0 to the largest one
//! of an integer dtype, and up to which a floating-point one has all integers; without `to`, any from `from` to there.
//!
//! - Dtypes: bools, integers and floats.
//! - Random numbers: those of `generator` or of the stream of [`manual_seed`](opgrid_tensor::manual_seed), in the order in which
//!   elements lie in memory.
//! - Aliasing: `random` gives a new tensor, `random_` writes `self`, the overloads whose names end in `out` write `out`.
//! - Errors: complex numbers; `from` no smaller than `to`; bounds beyond the range of the dtype; an `out` of another dtype.
//! - Source: torch.Tensor.random_, PyTorch 2.15.

use opgrid_core::Generator;

use crate::kinds::draws;
use crate::prelude::*;
use opgrid_kernels::random::Random as Stream;
use opgrid_tensor::tensor::{finfo, iinfo};

pub use opgrid_tensor::ops::random::random_integers::*;

/// The family of `aten::random`: its kind, shape rule and `out` rule.
pub const RANDOM: Family<Random> =
    Family::new(Random, &kind::RANDOM, |input, _| like(input)).same_dtype_out();

/// The family for a range that starts at a given number.
pub const RANDOM_FROM: Family<RandomFrom> =
    Family::new(RandomFrom, &kind::RANDOM, |input, from, to, _| between(input, from, to)).same_dtype_out();

/// The family for a range that starts at zero.
pub const RANDOM_TO: Family<RandomTo> =
    Family::new(RandomTo, &kind::RANDOM, |input, to, _| between(input, 0, Some(to))).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&RANDOM).cpu(|_, generator, out| whole(generator, out));
    library.family(&RANDOM_FROM).cpu(|_, from, to, generator, out| cpu(from, to, generator, out));
    library.family(&RANDOM_TO).cpu(|_, to, generator, out| cpu(0, Some(to), generator, out));
}

/// The largest integer of a dtype, up to which it has all.
fn greatest(dtype: DType) -> i64 {
    match dtype {
        DType::Bool => 1,
        DType::F16 => 1 << 11,
        DType::BF16 => 1 << 8,
        DType::F32 => 1 << 24,
        DType::F64 => 1 << 53,
        other => iinfo(other).map_or(i64::MAX, |limits| limits.max.try_into().unwrap_or(i64::MAX)),
    }
}

fn like(input: &Tensor) -> Result<TensorSpec> {
    let dtype = input.spec()?.dtype();
    with_dtype!(dtype, _T: Ordered by itself => Ok(()))?;
    draws::like(input)
}

fn between(input: &Tensor, from: i64, to: Option<i64>) -> Result<TensorSpec> {
    let dtype = input.spec()?.dtype();
    let spec = like(input)?;
    let end = to.map_or(i128::from(greatest(dtype)) + 1, i128::from);
    if i128::from(from) >= end {
        return Err(argument(format!(
            "argument `from` is {from}, expected a number smaller than `to`, which is {end}"
        )));
    }
    let (least, most) = match finfo(dtype) {
        Ok(limits) => (limits.min, limits.max),
        Err(_) if dtype == DType::Bool => (0.0, 1.0),
        Err(_) => iinfo(dtype).map(|limits| (limits.min as f64, limits.max as f64))?,
    };
    for (name, bound) in [("from", from as f64), ("to", (end - 1) as f64)] {
        if !(least..=most).contains(&bound) {
            return Err(argument(format!(
                "argument `{name}` gives the bound {bound}, which is out of bounds for {dtype}"
            )));
        }
    }
    Ok(spec)
}

/// Numbers of the whole range.
fn whole(generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    let count = greatest(out.dtype()) as u64;
    match out.dtype() {
        DType::Bool => draws::fill(out, generator, |random| i64::from(random.bits32() & 1)),
        DType::I64 | DType::U64 => {
            draws::fill(out, generator, |random| (random.bits64() & i64::MAX as u64) as i64)
        }
        DType::F64 => draws::fill(out, generator, move |random| (random.bits64() % (count + 1)) as i64),
        _ => draws::fill(out, generator, move |random| (u64::from(random.bits32()) % (count + 1)) as i64),
    }
}

fn cpu(from: i64, to: Option<i64>, generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    let end = to.map_or(i128::from(greatest(out.dtype())) + 1, i128::from);
    let number = |random: &mut Stream| match u64::try_from(end - i128::from(from)) {
        Ok(range) => from.wrapping_add(random.below(range) as i64),
        // All 64 bits.
        Err(_) => random.bits64() as i64,
    };
    draws::fill(out, generator, number)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = given(generate::numbers(DType::U8, &[2], 0));
        draws::samples::collect(
            samples,
            (Random, RandomInplace),
            ORDERED,
            |dtype| draws::samples::tensors(dtype, |it| it),
            |it| {
                let last = greatest(it.tensor("self")?.dtype()) as f64;
                Ok(uniform(0.0, last))
            },
        );
        let bounds = |dtype| match dtype {
            DType::Bool => draws::samples::tensors(dtype, |it| it.and(0).and(2)),
            _ => draws::samples::tensors(dtype, |it| it.and(3).and(24)),
        };
        draws::samples::collect(samples, (RandomFrom, RandomInplaceFrom), ORDERED, bounds, |it| {
            let (from, to): (i64, i64) = (it.value("from")?, it.value("to")?);
            Ok(uniform(from as f64, to as f64 - 1.0))
        })
        .refuses("smaller than `to`", x.clone().and(5).and(5))
        .refuses("out of bounds for uint8", x.clone().and(0).and(300))
        .refuses("out of bounds for uint8", x.and(-1).and(3));
        let limit =
            |dtype| draws::samples::tensors(dtype, |it| it.and(if dtype == DType::Bool { 2 } else { 20 }));
        draws::samples::collect(samples, (RandomTo, RandomInplaceTo), ORDERED, limit, |it| {
            Ok(uniform(0.0, it.value::<i64>("to")? as f64 - 1.0))
        });
    }

    /// Whole numbers from one to another, both included.
    fn uniform(least: f64, most: f64) -> Distribution {
        let count = most - least + 1.0;
        Distribution {
            deviation: ((count * count - 1.0) / 12.0).sqrt(),
            ..Distribution::uniform(least, most)
        }
    }
}
