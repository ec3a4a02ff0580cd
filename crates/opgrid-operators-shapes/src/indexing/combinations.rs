//! `aten::combinations`: all choices of `r` elements of a vector.
//!
//! - Shapes: a row for each choice, in the order of the elements; no elements for `r` of 0.
//! - Dispatch: a composite of `index_select` and `view`.
//! - Errors: other than one dimension, a negative `r`, more choices than can be counted.
//! - Source: torch.combinations, PyTorch 2.15; there all tuples are made, and chosen by masks.

use crate::prelude::*;
use opgrid_tensor::ops::{IndexSelect, NewEmpty, ToCopy, View};

pub use opgrid_tensor::ops::indexing::combinations::*;

pub(super) fn register(library: &mut Library) {
    library.define(Combinations).kind(&kind::INDEXING).implicit(combinations);
}

fn combinations(input: &Tensor, r: i64, with_replacement: bool) -> Result<Tensor> {
    let spec = input.spec()?;
    let &[length] = spec.sizes() else {
        return Err(argument(format!("argument `self` has shape {:?}, expected a vector", spec.sizes())));
    };
    if r < 0 {
        return Err(argument(format!("argument `r` is {r}, expected 0 or more")));
    }
    if r == 0 {
        return NewEmpty.call(input, &[0], None, None, None, None);
    }
    let rows = count(length, r, with_replacement);
    let total = rows.and_then(|rows| rows.checked_mul(r));
    let too_many = || {
        argument(format!(
            "the number of combinations of {r} from {length} elements \
         overflows 64 bits"
        ))
    };
    let (rows, total) = (rows.ok_or_else(too_many)?, total.ok_or_else(too_many)?);
    if rows == 0 {
        return NewEmpty.call(input, &[0, r], None, None, None, None);
    }
    let mut places = Vec::new();
    places
        .try_reserve_exact(total as usize)
        .map_err(|error| argument(format!("no memory for a list of {total} indices")).caused_by(error))?;
    let mut row: Vec<i64> = if with_replacement { vec![0; r as usize] } else { (0..r).collect() };
    for _ in 0..rows {
        places.extend_from_slice(&row);
        advance(&mut row, length, with_replacement);
    }
    let mut places = Tensor::from_slice(&places, &[total])?;
    if spec.device() != Device::CPU {
        places = ToCopy.call(&places, None, None, Some(spec.device()), None, false, None)?;
    }
    View.call(&IndexSelect.call(input, 0, &places)?, &[rows, r])
}

/// How many choices there are, if that can be counted.
fn count(length: i64, r: i64, with_replacement: bool) -> Option<i64> {
    let from = if with_replacement {
        length.checked_add(r - 1)?.min(if length == 0 { 0 } else { i64::MAX })
    } else {
        length
    };
    if from < r {
        return Some(0);
    }
    // The smaller of two equal products.
    let factors = r.min(from - r);
    let mut count = 1i128;
    for k in 0..i128::from(factors) {
        count = count.checked_mul(i128::from(from) - k)? / (k + 1);
        if count > i128::from(i64::MAX) {
            return None;
        }
    }
    Some(count as i64)
}

/// The next choice, in which the last place that can rise does.
fn advance(row: &mut [i64], length: i64, with_replacement: bool) {
    let count = row.len();
    let most = |place: usize| if with_replacement { length - 1 } else { length - (count - place) as i64 };
    let Some(rising) = (0..count).rev().find(|&place| row[place] < most(place)) else { return };
    row[rising] += 1;
    for place in rising + 1..count {
        row[place] = if with_replacement { row[rising] } else { row[place - 1] + 1 };
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases = [
                (4, 2, false),
                (3, 2, true),
                (3, 3, false),
                (2, 3, true),
                (3, 1, false),
                (2, 3, false),
                (0, 2, true),
            ];
            let one = |(length, r, again): (i64, i64, bool)| {
                given(generate::numbers(dtype, &[length], 0)).and(r).and(again)
            };
            cases.map(one).to_vec()
        };
        let x = generate::numbers(DType::F32, &[2], 0);
        samples
            .operator(Combinations, STORED, inputs, |it| {
                let (x, r, again): (_, i64, bool) =
                    (it.tensor("self")?, it.value("r")?, it.value("with_replacement")?);
                let rises = |pair: &[i64]| if again { pair[0] <= pair[1] } else { pair[0] < pair[1] };
                let tuples = vec![x.sizes()[0]; r as usize];
                let chosen: Vec<Vec<i64>> =
                    naive::positions(&tuples).filter(|places| places.windows(2).all(rises)).collect();
                Ok(Plain::from_fn(x.dtype(), &[chosen.len() as i64, r], |at| {
                    x.at(&[chosen[at[0] as usize][at[1] as usize]])
                })
                .into())
            })
            .refuses("a vector", given(x.with_sizes(&[1, 2])))
            .refuses("0 or more", given(x).and(-1));
        samples.differs(
            Combinations,
            Difference {
                id: "choices-without-all-tuples",
                what: "torch builds all tuples before it selects, which soon exhausts memory; here only \
                     the selected ones are built",
                why: "memory use is proportional to the result",
                test: ("opgrid-operators/tests/all/differences/computed.rs", "choices_of_many_elements"),
                when: |seen| seen.torch_refuses("allocate memory"),
                directed: None,
            },
        );
    }
}
