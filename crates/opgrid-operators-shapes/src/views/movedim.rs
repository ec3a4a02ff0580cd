//! `aten::movedim`, `aten::moveaxis`: dimensions at other places.
//!
//! - Shapes: dimension `source[i]` becomes dimension `destination[i]`; the others keep their order.
//! - Aliasing: a view of `self`.
//! - Dispatch: a composite of `permute`.
//! - Errors: lists of different lengths, a dimension out of range or named twice.
//! - Source: torch.movedim, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::Permute;
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::views::movedim::*;

pub(super) fn register(library: &mut Library) {
    library.define(MovedimIntlist).kind(&kind::VIEW).implicit(movedim);
    library.define(MovedimInt).kind(&kind::VIEW).implicit(movedim_one);
    library.define(MoveaxisIntlist).kind(&kind::VIEW).implicit(movedim);
    library.define(MoveaxisInt).kind(&kind::VIEW).implicit(movedim_one);
}

fn movedim_one(input: &Tensor, source: i64, destination: i64) -> Result<Tensor> {
    movedim(input, &[source], &[destination])
}

fn movedim(input: &Tensor, source: &[i64], destination: &[i64]) -> Result<Tensor> {
    let dims = input.spec()?.sizes().len();
    if source.len() != destination.len() {
        let message = format!(
            "argument `destination` is {destination:?}, expected as many dimensions as in `source`, {source:?}"
        );
        return Err(argument(message));
    }
    let (from, to) = (places("source", source, dims)?, places("destination", destination, dims)?);
    if dims == 0 {
        return Permute.call(input, &[]);
    }
    let mut order = vec![None; dims];
    for (&from, &to) in from.iter().zip(&to) {
        order[to] = Some(from as i64);
    }
    let mut rest = (0..dims).filter(|dim| !from.contains(dim)).map(|dim| dim as i64);
    let order: Vec<i64> = order.into_iter().filter_map(|dim| dim.or_else(|| rest.next())).collect();
    Permute.call(input, &order)
}

/// The dimensions that a list means.
///
/// # Errors
///
/// One out of range or named twice.
fn places(name: &str, list: &[i64], dims: usize) -> Result<Vec<usize>> {
    let mut places = Vec::with_capacity(list.len());
    for &dim in list {
        let place = normalise_dim(dim, dims)?;
        if places.contains(&place) {
            return Err(argument(format!(
                "argument `{name}` is {list:?}, which names dimension {dim} twice"
            )));
        }
        places.push(place);
    }
    Ok(places)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(MovedimIntlist, STORED, lists, reference)
            .view()
            .refuses("as many", given(x.clone()).and([0].to_vec()).and([0, 1].to_vec()))
            .refuses("range", given(x.clone()).and([2].to_vec()).and([0].to_vec()))
            .refuses("twice", given(x.clone()).and([0, -2].to_vec()).and([0, 1].to_vec()))
            .refuses("twice", given(x).and([0, 1].to_vec()).and([1, 1].to_vec()));
        samples.operator(MovedimInt, STORED, single, reference).view();
        samples.operator(MoveaxisIntlist, STORED, lists, reference).view();
        samples.operator(MoveaxisInt, STORED, single, reference).view();
    }

    fn lists(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], &[i64], &[i64]); 5] = [
            (&[2, 3, 4], &[0, -1], &[1, 0]),
            (&[2, 3, 4], &[2], &[0]),
            (&[2, 3], &[], &[]),
            (&[], &[0], &[-1]),
            (&[2, 0, 3], &[1, 0, 2], &[0, 1, 2]),
        ];
        let one = |(sizes, source, destination): (&[i64], &[i64], &[i64])| {
            given(generate::numbers(dtype, sizes, 0)).and(source.to_vec()).and(destination.to_vec())
        };
        cases.map(one).to_vec()
    }

    fn single(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], i64, i64); 4] =
            [(&[2, 3, 4], 0, 2), (&[2, 3, 4], -1, 0), (&[], 0, 0), (&[0, 2], 0, 1)];
        let one = |(sizes, source, destination): (&[i64], i64, i64)| {
            given(generate::numbers(dtype, sizes, 0)).and(source).and(destination)
        };
        cases.map(one).to_vec()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let x = it.tensor("self")?;
        let dims = x.sizes().len();
        let list = |name| match it.value::<i64>(name) {
            Ok(dim) => Ok(vec![dim]),
            Err(_) => it.value::<Vec<i64>>(name),
        };
        let named = |name| -> Result<Vec<usize>> {
            Ok(list(name)?.into_iter().map(|dim| naive::dimension(dim, dims)).collect())
        };
        if dims == 0 {
            return Ok(x.clone().into());
        }
        let (source, destination) = (named("source")?, named("destination")?);
        let mut order: Vec<usize> = (0..dims).filter(|dim| !source.contains(dim)).collect();
        let mut places: Vec<(usize, usize)> = destination.into_iter().zip(source).collect();
        places.sort_unstable();
        places.into_iter().for_each(|(place, dim)| order.insert(place, dim));
        Ok(x.permuted(&order).into())
    }
}
