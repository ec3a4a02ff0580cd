//! What the operators that find different elements share: checks, outputs, samples.

use opgrid_core::{DType, Result};

use crate::kinds::data_dependent;
use opgrid_array::error::argument;
use opgrid_kernels::{searching, sorting};
use opgrid_tensor::families::result;
use opgrid_tensor::layers::fake;
use opgrid_tensor::tensor::Tensor;
use opgrid_tensor::tensor::choose::unsupported;
use opgrid_tensor::tensor::views::normalise_dim;

/// The different elements, which of them each element is, and how often each is there.
pub(crate) type Unique = (Tensor, Tensor, Tensor);

/// The different elements in order, or the runs of equal ones; what is not asked for has no elements.
pub(crate) fn of_all(input: &Tensor, consecutive: bool, inverse: bool, counts: bool) -> Result<Unique> {
    check(input)?;
    let nothing = || data_dependent::nothing(DType::I64, input.device());
    if let Some(count) = fake::assumed_count("self", input.device(), input.numel())? {
        let numbers = |sizes: &[i64]| Tensor::empty(sizes, DType::I64, input.device());
        return Ok((
            Tensor::empty(&[count], input.dtype(), input.device())?,
            if inverse { numbers(input.sizes())? } else { nothing()? },
            if counts { numbers(&[count])? } else { nothing()? },
        ));
    }
    let (values, places, numbers) = searching::unique(input.array()?, consecutive, inverse)?;
    let inverse = if inverse { data_dependent::tensor(&places, input.sizes())? } else { nothing()? };
    let counts = if counts { data_dependent::tensor(&numbers, &[numbers.len() as i64])? } else { nothing()? };
    Ok((Tensor::from_array(values)?, inverse, counts))
}

/// Finds the distinct slices along a dimension, in the order of their elements.
pub(crate) fn of_slices(input: &Tensor, dim: i64, consecutive: bool) -> Result<Unique> {
    check(input)?;
    if input.dim() == 0 {
        return Err(argument("argument `self` has no dimensions, expected at least one for `dim`"));
    }
    let dim = normalise_dim(dim, input.dim())?;
    let sizes = input.sizes();
    if input.numel() == 0 && sizes[dim] != 0 {
        let message = format!(
            "argument `self` has shape {sizes:?}, whose slices along dimension {dim} have no elements \
             to compare"
        );
        return Err(argument(message));
    }
    let mut order: Vec<i64> = (1..input.dim() as i64).collect();
    order.insert(dim, 0);
    if let Some(found) = fake::assumed_count("self", input.device(), sizes[dim])? {
        let numbers = |size| Tensor::empty(&[size], DType::I64, input.device());
        let mut rows = sizes.to_vec();
        rows.remove(dim);
        rows.insert(0, found);
        let values = Tensor::empty(&rows, input.dtype(), input.device())?.permute(&order)?;
        return Ok((values, numbers(sizes[dim])?, numbers(found)?));
    }
    let (count, length) = (sizes[dim], if sizes[dim] == 0 { 0 } else { input.numel() / sizes[dim] });
    let array = input.array()?;
    let rows = array.view(searching::rows_first(array.geometry(), dim)?)?;
    let groups = searching::unique_rows(&rows, count as usize, length as usize, consecutive)?;
    let firsts: Vec<i64> = groups.firsts.iter().map(|first| *first as i64).collect();
    let index = data_dependent::tensor(&firsts, &[firsts.len() as i64])?;
    let chosen = Tensor::from_array(rows)?.index_select(0, &index)?;
    let values = chosen.permute(&order)?;
    let counted = [groups.counts.len() as i64];
    Ok((
        values,
        data_dependent::tensor(&groups.inverse, &[count])?,
        data_dependent::tensor(&groups.counts, &counted)?,
    ))
}

/// # Errors
///
/// Another dtype; too many elements.
fn check(input: &Tensor) -> Result<()> {
    let dtype = input.spec()?.dtype();
    if !sorting::is_sortable(dtype) {
        return Err(unsupported(dtype, "a bool, integer or floating-point dtype"));
    }
    sorting::check_length(input.numel())
}

/// Writes results to outputs, after all of them were checked.
pub(crate) fn write<const N: usize>(outputs: [(&Tensor, &Tensor); N]) -> Result<()> {
    outputs.iter().try_for_each(|(out, found)| result::same_dtype(out, found.spec()?))?;
    result::converted(&outputs)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use std::cmp::Ordering;

    use opgrid_core::Scalar;

    use super::*;
    use crate::kinds::order;
    use opgrid_samples::prelude::*;

    /// What is expected of the elements of `x`.
    pub(crate) fn expected(x: &Plain, consecutive: bool) -> [Plain; 3] {
        let elements = x.elements();
        let order =
            if consecutive { (0..elements.len()).collect() } else { order::samples::places(elements, false) };
        let is_equal =
            |a: usize, b: usize| number::order(elements[a], elements[b]).is_some_and(|order| order.is_eq());
        let (firsts, inverse, counts) = groups(&order, is_equal);
        let values: Vec<Scalar> = firsts.iter().map(|first| elements[*first]).collect();
        [
            Plain::from_elements(x.dtype(), &[values.len() as i64], &values),
            Plain::from_elements(DType::I64, x.sizes(), &inverse),
            Plain::from_elements(DType::I64, &[counts.len() as i64], &counts),
        ]
    }

    /// What is expected of slices of `x` along a dimension.
    pub(crate) fn expected_slices(x: &Plain, dim: i64, consecutive: bool) -> [Plain; 3] {
        let dim = naive::dimension(dim, x.sizes().len());
        let mut across = x.sizes().to_vec();
        across[dim] = 1;
        let slice = |k: usize| -> Vec<Scalar> {
            let at = |mut position: Vec<i64>| {
                position[dim] = k as i64;
                x.at(&position)
            };
            naive::positions(&across).map(at).collect()
        };
        let slices: Vec<Vec<Scalar>> = (0..x.sizes()[dim] as usize).map(slice).collect();
        let compare = |a: &usize, b: &usize| {
            let pairs = slices[*a].iter().zip(&slices[*b]);
            let orders = pairs.map(|(a, b)| number::order(*a, *b).unwrap_or(Ordering::Equal));
            orders.fold(Ordering::Equal, Ordering::then)
        };
        let mut order: Vec<usize> = (0..slices.len()).collect();
        if !consecutive {
            order.sort_by(compare);
        }
        let (firsts, inverse, counts) = groups(&order, |a, b| compare(&a, &b).is_eq());
        let mut sizes = x.sizes().to_vec();
        sizes[dim] = firsts.len() as i64;
        let values = Plain::from_fn(x.dtype(), &sizes, |position| {
            let mut position = position.to_vec();
            position[dim] = firsts[position[dim] as usize] as i64;
            x.at(&position)
        });
        [
            values,
            Plain::from_elements(DType::I64, &[slices.len() as i64], &inverse),
            Plain::from_elements(DType::I64, &[counts.len() as i64], &counts),
        ]
    }

    /// The first places of groups, the group of each place, and their sizes.
    fn groups(order: &[usize], is_equal: impl Fn(usize, usize) -> bool) -> (Vec<usize>, Vec<i64>, Vec<i64>) {
        let (mut firsts, mut inverse, mut counts) =
            (Vec::<usize>::new(), vec![0i64; order.len()], Vec::new());
        for (at, place) in order.iter().enumerate() {
            if at == 0 || !is_equal(order[at - 1], *place) {
                firsts.push(*place);
                counts.push(0);
            }
            inverse[*place] = counts.len() as i64 - 1;
            if let Some(count) = counts.last_mut() {
                *count += 1;
            }
        }
        (firsts, inverse, counts)
    }

    /// The results that were asked for; the others have no elements.
    pub(crate) fn asked(
        [values, inverse, counts]: [Plain; 3],
        inverse_asked: bool,
        counts_asked: bool,
    ) -> Expected {
        let none = || Plain::from_elements::<i64>(DType::I64, &[0], &[]);
        [values, if inverse_asked { inverse } else { none() }, if counts_asked { counts } else { none() }]
            .into()
    }
}
