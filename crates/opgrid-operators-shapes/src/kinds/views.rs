//! What views share: references of their samples, and where diagonals lie.

use opgrid_core::Result;

use opgrid_array::error::argument;
use opgrid_kinds::derivatives;
use opgrid_tensor::layers::autograd::Recorder;
use opgrid_tensor::ops::Expand;
use opgrid_tensor::tensor::{Dims, Geometry, Tensor};

/// The views of parts of a dimension, by their starts and sizes.
pub(crate) fn parts(
    input: &Tensor,
    dim: i64,
    parts: impl ExactSizeIterator<Item = (i64, i64)>,
) -> Result<Vec<Geometry>> {
    let geometry = input.spec()?.geometry();
    let mut views = list_for(parts.len() as i64)?;
    for (start, size) in parts {
        views.push(geometry.slice(dim, start, start + size, 1)?);
    }
    Ok(views)
}

/// States the derivative of an operator that cuts a dimension: the gradients of the parts are joined. `is_unbound` where the
/// parts lack the dimension.
///
/// # Errors
///
/// Those of the recorder.
pub(crate) fn joined(d: &Recorder<'_>, input: &Tensor, dim: i64, is_unbound: bool) -> Result<()> {
    let parts: Vec<Dims> = d.results().iter().map(|part| Dims::from_slice(part.sizes())).collect();
    let (sizes, dtype, device) = (Dims::from_slice(input.sizes()), input.dtype(), input.device());
    d.by_all(input, [], move |grads, []| {
        let parts = parts.iter().zip(grads.all()).map(|(sizes, grad)| match grad {
            Some(grad) => Ok(grad.clone()),
            None => Tensor::zeros(sizes.as_slice(), dtype, device),
        });
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let whole = if parts.is_empty() {
            Tensor::zeros(sizes.as_slice(), dtype, device)
        } else if is_unbound {
            Tensor::stack(&parts, dim)
        } else {
            Tensor::cat(&parts, dim)
        };
        whole.map(Some)
    })
}

/// Zeros of these sizes, of which a view is about to get the elements of a gradient, and the gradient, stretched to the view.
///
/// # Errors
///
/// Those of the view; a gradient that does not broadcast to its shape.
pub(crate) fn zeros_for(
    (name, grad): (&str, &Tensor),
    sizes: &[i64],
    view: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<(Tensor, Tensor)> {
    let zeros = derivatives::zeros_of(sizes, grad)?;
    let view = view(&zeros)?;
    if grad.sizes() == view.sizes() {
        return Ok((zeros, grad.clone()));
    }
    let stretched = Expand.call(grad, view.sizes(), false).map_err(|error| {
        argument(format!(
            "argument `{name}` has shape {:?}, expected {:?} as the view, or one that broadcasts to it",
            grad.sizes(),
            view.sizes()
        ))
        .caused_by(error)
    })?;
    Ok((zeros, stretched))
}

/// A list with memory for that many entries, which a size may ask for that no memory has.
///
/// # Errors
///
/// There is no memory for so many.
pub(crate) fn list_for<T>(count: i64) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(usize::try_from(count).unwrap_or(usize::MAX))
        .map_err(|error| argument(format!("no memory for a list of {count} tensors")).caused_by(error))?;
    Ok(list)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    /// Gradients of views by their samples: that of the view, the sizes of what it is a view of, and the other arguments.
    pub(crate) fn gradients(
        samples: Vec<Sample>,
        sizes_of_view: impl Fn(&Plain, &[Given]) -> Vec<i64>,
    ) -> Vec<Sample> {
        let one = |sample: Sample| {
            let x = sample.positional[0].tensors()[0];
            let others = &sample.positional[1..];
            let grad = generate::numbers(x.dtype(), &sizes_of_view(x, others), 1);
            let sizes = given(grad).and(x.sizes().to_vec());
            Sample { positional: [sizes.positional, others.to_vec()].concat(), ..sample }
        };
        samples.into_iter().map(one).collect()
    }

    /// What a sample's argument is as a number.
    pub(crate) fn whole(argument: &Given) -> i64 {
        match argument {
            Given::Value(value) => value.borrow().as_scalar().map_or(0, number::whole),
            _ => 0,
        }
    }

    /// The first argument as it is.
    pub(crate) fn same(it: &Inputs) -> Result<Expected> {
        Ok(it.tensor("self")?.clone().into())
    }

    /// The parts of dimension `dim` of the first argument, by their starts and sizes.
    pub(crate) fn parts_of(it: &Inputs, parts: &[(i64, i64)]) -> Result<Expected> {
        parts_along(it, it.value("dim")?, parts)
    }

    /// Computes the parts of a tensor along a fixed dimension.
    pub(crate) fn parts_along(it: &Inputs, dim: i64, parts: &[(i64, i64)]) -> Result<Expected> {
        let x = it.tensor("self")?;
        let dim = naive::dimension(dim, x.sizes().len());
        let part = |&(start, size): &(i64, i64)| {
            let mut sizes = x.sizes().to_vec();
            sizes[dim] = size;
            let part = Plain::from_fn(x.dtype(), &sizes, |position| {
                let mut place = position.to_vec();
                place[dim] += start;
                x.at(&place)
            });
            part.into()
        };
        Ok(Expected::Several(parts.iter().map(part).collect()))
    }

    /// The dimensions that `dim1` and `dim2` mean in a tensor of that many.
    pub(crate) fn two_dims(it: &Inputs, dims: usize) -> Result<[usize; 2]> {
        Ok([it.value("dim1")?, it.value("dim2")?].map(|dim| naive::dimension(dim, dims)))
    }

    /// The diagonals of the matrices that two dimensions are, for references.
    pub(crate) struct Diagonals {
        /// The sizes of the other dimensions.
        outer: Vec<i64>,
        dims: [usize; 2],
        /// Row and column of the first element.
        start: [i64; 2],
        length: i64,
    }

    impl Diagonals {
        /// Computes the diagonals of a tensor of these sizes.
        pub(crate) fn new(sizes: &[i64], offset: i64, dims: [usize; 2]) -> Self {
            let start = if offset < 0 { [-offset, 0] } else { [0, offset] };
            let length =
                dims.iter().zip(start).map(|(&dim, start)| sizes[dim] - start).min().unwrap_or(0).max(0);
            let outer = (0..sizes.len()).filter(|dim| !dims.contains(dim)).map(|dim| sizes[dim]).collect();
            Self { outer, dims, start, length }
        }

        /// The sizes of all diagonals together.
        pub(crate) fn sizes(&self) -> Vec<i64> {
            [self.outer.as_slice(), &[self.length]].concat()
        }

        /// Where the element at a position in the diagonals lies in the matrices.
        pub(crate) fn place(&self, position: &[i64]) -> Vec<i64> {
            let (&at, outer) = position.split_last().unwrap_or((&0, &[]));
            let mut rest = outer.iter().copied();
            let place = |dim| match self.dims.iter().position(|own| *own == dim) {
                Some(side) => self.start[side] + at,
                None => rest.next().unwrap_or(0),
            };
            (0..outer.len() + 2).map(place).collect()
        }
    }
}
