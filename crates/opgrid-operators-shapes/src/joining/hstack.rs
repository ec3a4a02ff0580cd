//! `aten::hstack`, `aten::vstack`, `aten::dstack`, `aten::column_stack`, `aten::row_stack`: tensors beside each other, one
//! below the other, one after another.
//!
//! - Shapes: `vstack` (`row_stack`) joins rows along the first dimension, `hstack` columns along the second, or vectors to
//!   one; `dstack` joins along the third. Tensors get the dimensions that they lack as for [`Atleast2d`] and its
//!   relatives; to `column_stack` vectors are columns.
//! - Aliasing: the `out` forms write `out`, and give it its shape if it has no elements.
//! - Dispatch: composites of `atleast_1d` and its relatives, `reshape` and `cat`.
//! - Errors: no tensors; what `cat` refuses.
//! - Source: torch.hstack, torch.vstack, torch.dstack, torch.column_stack, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Atleast1d, Atleast2d, Atleast3d, Cat, CatOut, Reshape};

pub use opgrid_tensor::ops::joining::hstack::*;

/// Gives tensors the dimensions that they lack, and says along which they are joined.
type Prepare = fn(&[Tensor]) -> Result<(Vec<Tensor>, i64)>;

const HORIZONTAL: Prepare = |tensors| {
    let all = each(tensors, |tensor| Atleast1d.call(tensor))?;
    let dim = if all[0].sizes().len() == 1 { 0 } else { 1 };
    Ok((all, dim))
};
const VERTICAL: Prepare = |tensors| Ok((each(tensors, |tensor| Atleast2d.call(tensor))?, 0));
const DEEP: Prepare = |tensors| Ok((each(tensors, |tensor| Atleast3d.call(tensor))?, 2));
const COLUMNS: Prepare = |tensors| {
    let column = |tensor: &Tensor| match tensor.spec()?.sizes() {
        [] | [_] => Reshape.call(tensor, &[tensor.numel(), 1]),
        _ => Ok(tensor.clone()),
    };
    Ok((each(tensors, column)?, 1))
};

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Hstack, &kind::JOINING).implicit(|tensors| joined(tensors, HORIZONTAL));
    library.implement(HstackOut).implicit(|tensors, out| written(tensors, HORIZONTAL, out));
    library.define_with_forms(Vstack, &kind::JOINING).implicit(|tensors| joined(tensors, VERTICAL));
    library.implement(VstackOut).implicit(|tensors, out| written(tensors, VERTICAL, out));
    library.define_with_forms(Dstack, &kind::JOINING).implicit(|tensors| joined(tensors, DEEP));
    library.implement(DstackOut).implicit(|tensors, out| written(tensors, DEEP, out));
    library.define_with_forms(ColumnStack, &kind::JOINING).implicit(|tensors| joined(tensors, COLUMNS));
    library.implement(ColumnStackOut).implicit(|tensors, out| written(tensors, COLUMNS, out));
    library.define_with_forms(RowStack, &kind::JOINING).implicit(|tensors| joined(tensors, VERTICAL));
    library.implement(RowStackOut).implicit(|tensors, out| written(tensors, VERTICAL, out));
}

/// # Errors
///
/// There are no tensors; those of `f`.
fn each(tensors: &[Tensor], f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Vec<Tensor>> {
    if tensors.is_empty() {
        return Err(argument("argument `tensors` is empty, expected a non-empty list of tensors"));
    }
    tensors.iter().map(f).collect()
}

fn joined(tensors: &[Tensor], prepare: Prepare) -> Result<Tensor> {
    let (tensors, dim) = prepare(tensors)?;
    Cat.call(&tensors, dim)
}

fn written(tensors: &[Tensor], prepare: Prepare, out: &Tensor) -> Result<()> {
    let (tensors, dim) = prepare(tensors)?;
    CatOut.call(&tensors, dim, out)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::joining::cat;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let nothing = given(Vec::<Plain>::new());
        let inputs =
            |dtype| of_shapes(dtype, &[&[&[2, 3], &[2, 1]], &[&[3], &[2]], &[&[], &[1]], &[&[0], &[2]]]);
        samples
            .operator(Hstack, STORED, inputs, |it| {
                let first = it.tensors("tensors")?[0].sizes().len();
                reference(it, if first < 2 { 0 } else { 1 }, |sizes| {
                    if sizes.is_empty() { vec![1] } else { sizes.to_vec() }
                })
            })
            .refuses("non-empty", nothing.clone());
        let rows =
            |dtype| of_shapes(dtype, &[&[&[2, 3], &[3]], &[&[3], &[3]], &[&[], &[1]], &[&[0, 2], &[1, 2]]]);
        let as_rows = |it: &Inputs| {
            reference(it, 0, |sizes| [&vec![1; 2usize.saturating_sub(sizes.len())], sizes].concat())
        };
        samples.operator(Vstack, STORED, rows, as_rows).refuses("non-empty", nothing.clone());
        samples.operator(RowStack, STORED, rows, as_rows).refuses("non-empty", nothing.clone());
        let deep = |dtype| {
            of_shapes(
                dtype,
                &[&[&[2, 3], &[2, 3, 2]], &[&[3], &[1, 3]], &[&[], &[1]], &[&[0, 2, 1], &[0, 2, 3]]],
            )
        };
        samples
            .operator(Dstack, STORED, deep, |it| {
                reference(it, 2, |sizes| match sizes {
                    [] => vec![1, 1, 1],
                    [n] => vec![1, *n, 1],
                    [n, m] => vec![*n, *m, 1],
                    other => other.to_vec(),
                })
            })
            .refuses("non-empty", nothing.clone());
        let columns =
            |dtype| of_shapes(dtype, &[&[&[2], &[2, 3]], &[&[3], &[3]], &[&[], &[1]], &[&[0, 2], &[0, 1]]]);
        samples
            .operator(ColumnStack, STORED, columns, |it| {
                reference(it, 1, |sizes| match sizes {
                    [] => vec![1, 1],
                    [n] => vec![*n, 1],
                    other => other.to_vec(),
                })
            })
            .refuses("non-empty", nothing);
        let differs = cat::samples::ANY_STRIDES;
        samples.differs(Hstack, differs);
        samples.differs(Vstack, differs);
        samples.differs(Dstack, differs);
        samples.differs(ColumnStack, differs);
        samples.differs(RowStack, differs);
    }

    fn of_shapes(dtype: DType, cases: &[&[&[i64]]]) -> Vec<Sample> {
        let one = |shapes: &&[&[i64]]| {
            let tensors = shapes.iter().zip(0..).map(|(sizes, seed)| generate::numbers(dtype, sizes, seed));
            given(tensors.collect::<Vec<_>>())
        };
        cases.iter().map(one).collect()
    }

    /// The tensors under the sizes that `with_dims` makes, joined along a dimension.
    fn reference(it: &Inputs, dim: usize, with_dims: fn(&[i64]) -> Vec<i64>) -> Result<Expected> {
        let tensors: Vec<Plain> = it
            .tensors("tensors")?
            .iter()
            .map(|tensor| tensor.with_sizes(&with_dims(tensor.sizes())))
            .collect();
        let mut sizes = tensors[0].sizes().to_vec();
        sizes[dim] = tensors.iter().map(|tensor| tensor.sizes()[dim]).sum();
        Ok(Plain::from_fn(tensors[0].dtype(), &sizes, |position| {
            let mut position = position.to_vec();
            for tensor in &tensors {
                if position[dim] < tensor.sizes()[dim] {
                    return tensor.at(&position);
                }
                position[dim] -= tensor.sizes()[dim];
            }
            Scalar::Int(0)
        })
        .into())
    }
}
