//! `aten::vander`: powers of a vector's elements, as the columns of a matrix.
//!
//! `out[i, j] = x[i] ^ (N - 1 - j)`, or `x[i] ^ j` if `increasing`
//!
//! - Shapes: `[n, N]` for a vector of `n` elements; `N` is `n` without one.
//! - Dtypes: integers and bools give int64; floats and complex numbers stay what they are.
//! - Dispatch: a composite of `cumprod`, `cat` and `flip`.
//! - Errors: other than one dimension, a negative `N`.
//! - Source: torch.vander, PyTorch 2.15, which takes running products, too.

use crate::prelude::*;
use opgrid_tensor::ops::{Cumprod, Expand, Flip, FullLike, NewEmpty, Unsqueeze};

pub use opgrid_tensor::ops::joining::vander::*;

pub(super) fn register(library: &mut Library) {
    library.define(Vander).kind(&kind::JOINING).implicit(vander);
}

fn vander(x: &Tensor, columns: Option<i64>, increasing: bool) -> Result<Tensor> {
    let spec = x.spec()?;
    let &[length] = spec.sizes() else {
        return Err(argument(format!("argument `x` has shape {:?}, expected a vector", spec.sizes())));
    };
    let columns = columns.unwrap_or(length);
    if columns < 0 {
        return Err(argument(format!("argument `N` is {columns}, expected 0 or more")));
    }
    let is_whole = spec.dtype().is_integral() || spec.dtype() == DType::Bool;
    let x = if is_whole { &x.to_dtype(DType::I64)? } else { x };
    if columns == 0 {
        return NewEmpty.call(x, &[length, 0], None, None, None, None);
    }
    let column = Unsqueeze.call(x, 1)?;
    let ones = FullLike.call(&column, Scalar::Int(1), None, None, None, None, None)?;
    let factors = Expand.call(&column, &[length, columns - 1], false)?;
    let powers = Tensor::cat(&[ones, Cumprod.call(&factors, 1, None)?], 1)?;
    if increasing { Ok(powers) } else { Flip.call(&powers, &[1]) }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;
    use opgrid_tensor::tensor::finfo;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let x = |sizes: &[i64]| given(Plain::from_elements(dtype, sizes, &[2, 1, 3]));
            vec![
                x(&[3]),
                x(&[3]).and(2),
                x(&[2]).and(4).and(true),
                x(&[3]).and(0),
                x(&[0]).and(2),
                x(&[1]).and(1),
            ]
        };
        samples
            .operator(Vander, ANY, inputs, |it| {
                let (x, columns): (_, Option<i64>) = (it.tensor("x")?, it.option("N")?);
                let (columns, increasing) = (columns.unwrap_or(x.sizes()[0]), it.value("increasing")?);
                let is_whole = x.dtype().is_integral() || x.dtype() == DType::Bool;
                let dtype = if is_whole { DType::I64 } else { x.dtype() };
                let x = x.to(dtype);
                Ok(Plain::from_fn(dtype, &[x.sizes()[0], columns], |at| {
                    let exponent = if increasing { at[1] } else { columns - 1 - at[1] };
                    (0..exponent).fold(naive::convert(Scalar::Int(1), dtype), |power, _| {
                        number::times(power, x.at(&at[..1]))
                    })
                })
                .into())
            })
            .tolerance(4.0)
            .refuses("a vector", given(generate::numbers(DType::F32, &[2, 2], 0)))
            .refuses("`N` is -1", given(generate::numbers(DType::F32, &[2], 0)).and(-1));
        samples.differs(Vander, departures::math::NOT_FINITE);
        samples.differs(Vander, AT_THE_END);
        // As `cumprod`.
        samples.rounds(Vander, Roundings::all(Rounding::Result(4)).complex(Rounding::Result(1024)));
    }

    /// Differences for complex powers.
    const AT_THE_END: Difference = Difference {
        id: "complex-powers-at-the-end-of-the-range",
        what: "torch rounds complex powers differently: one that is finite here may overflow there, or \
             the reverse",
        why: "equally precise after hundreds of products",
        test: ("opgrid-operators/tests/all/differences/numbers.rs", "results_that_are_not_finite"),
        when: |seen| {
            seen.each(|(dtype, ours, torch)| {
                let end = finfo(*dtype).map_or(f64::INFINITY, |limits| limits.max / 4.0);
                let leaves = |x: &Complex64| !x.is_finite() || x.re.abs().max(x.im.abs()) > end;
                let is_beyond = !ours.is_finite() || !torch.is_finite();
                dtype.is_complex() && is_beyond && leaves(ours) && leaves(torch)
            })
        },
        directed: None,
    };
}
