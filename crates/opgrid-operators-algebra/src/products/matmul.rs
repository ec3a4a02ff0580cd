//! `aten::matmul`: product of vectors, matrices and stacks of matrices.
//!
//! `out[…, i, j] = self[…, i, 0] * other[…, 0, j] + self[…, i, 1] * other[…, 1, j] + …`
//!
//! - Shapes: a vector counts as a row on the left and as a column on the right, and its dimension is not in the
//!   result; the dimensions before the last two broadcast.
//! - Dtypes: as `mm` and `bmm`.
//! - Dispatch: a composite of `mm`, or of `bmm` where both have stacks.
//! - Aliasing: `matmul.out` writes `out`, and gives it its shape if it has no elements.
//! - Errors: tensors without dimensions; inner sizes that differ; stacks that do not broadcast.
//! - Source: torch.matmul, PyTorch 2.15; there vectors go to `dot` and `mv`.

use opgrid_core::Error;

use crate::prelude::*;
use opgrid_tensor::ops::{Bmm, Contiguous, Expand, Mm, Unsqueeze, View};
use opgrid_tensor::tensor::{Dims, broadcast};

pub use opgrid_tensor::ops::products::matmul::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Matmul, &kind::PRODUCT).kernel(DispatchKey::CompositeImplicitAutograd, matmul);
    library.implement(MatmulOut).kernel(DispatchKey::CompositeImplicitAutograd, matmul_out);
}

fn matmul(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    let (a, b) = (input.spec()?.geometry().clone(), other.spec()?.geometry().clone());
    check(&a, &b)?;
    let named = |error: Error| error.within("aten::matmul");
    products::check_factors(&[("self", input.spec()?), ("other", other.spec()?)]).map_err(named)?;
    let sizes = result_sizes(&a, &b)?;
    // A vector becomes a matrix of one row or one column.
    let (row, column);
    let (mut input, mut other) = (input, other);
    let a = if a.dims() == 1 {
        row = Unsqueeze.call(input, 0)?;
        input = &row;
        a.unsqueeze(0)?
    } else {
        a
    };
    let b = if b.dims() == 1 {
        column = Unsqueeze.call(other, 1)?;
        other = &column;
        b.unsqueeze(1)?
    } else {
        b
    };
    let [m, k] = last_two(&a);
    let [_, n] = last_two(&b);
    if b.dims() == 2 {
        // All rows of a stack on the left are multiplied by one matrix: as one matrix themselves, if their strides
        // allow it. If not, the matrix on the right is repeated, which costs no copy.
        let rows = [a.sizes()[..a.dims() - 1].iter().product(), k];
        if a.sizes() == rows || a.view(&rows).is_ok() || a.numel() == 0 {
            let product = Mm.call(&as_stack(input, &a, &rows)?, &view(other, &b)?)?;
            return View.call(&product, &sizes);
        }
    }
    let stack = broadcast(&[stack(&a), stack(&b)])?;
    let count = stack.iter().product();
    let full = |matrix: [i64; 2]| stack.iter().copied().chain(matrix).collect::<Dims>();
    let left = as_stack(input, &a.expand(&full([m, k]))?, &[count, m, k])?;
    let right = as_stack(other, &b.expand(&full([k, n]))?, &[count, k, n])?;
    View.call(&Bmm.call(&left, &right)?, &sizes)
}

fn matmul_out(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let product = matmul(input, other)?;
    result::copied(out, &product).map_err(|error| error.within("aten::matmul.out"))
}

/// # Errors
///
/// No dimensions, or inner sizes that differ.
fn check(a: &Geometry, b: &Geometry) -> Result<()> {
    let rows = |geometry: &Geometry| geometry.dims().saturating_sub(2);
    let (Some(&inner), Some(&found)) = (a.sizes().last(), b.sizes().get(rows(b))) else {
        let message = format!(
            "aten::matmul: both arguments to matmul need to be at least 1d, found shapes {:?} and {:?}",
            a.sizes(),
            b.sizes()
        );
        return Err(argument(message));
    };
    if inner != found {
        let message = format!(
            "aten::matmul: argument `other` has shape {:?}, expected {inner} rows to match `self` of \
             shape {:?}",
            b.sizes(),
            a.sizes()
        );
        return Err(argument(message));
    }
    Ok(())
}

/// # Errors
///
/// Stacks that do not broadcast.
fn result_sizes(a: &Geometry, b: &Geometry) -> Result<Dims> {
    let mut sizes = broadcast(&[stack(a), stack(b)]).map_err(|error| error.within("aten::matmul"))?;
    if a.dims() > 1 {
        sizes.push(a.sizes()[a.dims() - 2]);
    }
    if b.dims() > 1 {
        sizes.push(b.sizes()[b.dims() - 1]);
    }
    Ok(sizes)
}

/// The sizes before the last two.
fn stack(geometry: &Geometry) -> &[i64] {
    &geometry.sizes()[..geometry.dims().saturating_sub(2)]
}

fn last_two(geometry: &Geometry) -> [i64; 2] {
    let sizes = geometry.sizes();
    [sizes[sizes.len() - 2], sizes[sizes.len() - 1]]
}

/// A matrix or stack of matrices in the sizes of `geometry`, which it was stretched to, by dispatch.
fn view(tensor: &Tensor, geometry: &Geometry) -> Result<Tensor> {
    if tensor.sizes() == geometry.sizes() {
        return Ok(tensor.clone());
    }
    Expand.call(tensor, geometry.sizes(), false)
}

/// The elements of `tensor`, seen as `geometry`, under other sizes: a view if strides can express it.
fn as_stack(tensor: &Tensor, geometry: &Geometry, sizes: &[i64]) -> Result<Tensor> {
    let seen = view(tensor, geometry)?;
    if seen.sizes() == sizes {
        Ok(seen)
    } else if geometry.view(sizes).is_ok() {
        View.call(&seen, sizes)
    } else {
        View.call(&Contiguous.call(&seen, MemoryFormat::Contiguous)?, sizes)
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(Matmul, NUMBERS, inputs, reference)
            .tolerance(64.0)
            .refuses("at least 1d", given(x.clone()).and(Plain::number(DType::F32, 1)))
            .refuses("expected 3 rows", given(x.clone()).and(x));
        samples.differs_as(Matmul, products::samples::DIFFERENCES);
        samples.differs(Matmul, ANY_STRIDES);
        // One product that is added again and again is rounded in the same direction.
        samples.rounds(Matmul, Roundings::all(Rounding::Sum(8)));
    }

    /// Differences for the strides of matrix products of any number of dimensions.
    pub(crate) const ANY_STRIDES: Difference = Difference {
        id: "products-are-written-to-any-strides",
        what: "torch rejects outputs of the right shape with some strides; here they are written",
        why: "an output of the right shape can hold the result",
        test: ("opgrid-operators/tests/all/differences/outputs.rs", "products_into_their_own_factors"),
        when: |seen| seen.out().is_some() && seen.torch_refuses("must match the size of tensor"),
        directed: Some(Directed {
            operator: "aten::matmul.out",
            arguments: || {
                vec![
                    ("self", Operand::rows(0, DType::F32, &[2], &[1.0, 2.0]).into()),
                    ("other", Operand::rows(1, DType::F32, &[2, 1], &[1.0, 2.0]).into()),
                    ("out", Operand::strided(2, DType::F32, (&[1], &[6], 0), &[0.0]).into()),
                ]
            },
            needs: None,
        }),
    };

    pub(crate) fn inputs(dtype: DType) -> Vec<Sample> {
        let shapes: [[&[i64]; 2]; 9] = [
            [&[3], &[3]],
            [&[2, 3], &[3]],
            [&[3], &[3, 2]],
            [&[2, 3], &[3, 4]],
            [&[2, 2, 3], &[3, 4]],
            [&[2, 2, 3], &[2, 3, 4]],
            [&[2, 1, 2, 3], &[3, 3, 1]],
            [&[3], &[2, 3, 4]],
            [&[2, 0, 3], &[3]],
        ];
        let shapes =
            shapes.into_iter().filter(|shapes| products::samples::is_sample(dtype, &shapes.concat()));
        shapes
            .map(|[a, b]| given(generate::numbers(dtype, a, 1)).and(generate::numbers(dtype, b, 2)))
            .collect()
    }

    /// Vectors as matrices, and back.
    pub(crate) fn reference(it: &Inputs) -> Result<Expected> {
        let (a, b) = (it.tensor("self")?, it.tensor("other")?);
        let row = if a.sizes().len() == 1 { a.with_sizes(&[1, a.sizes()[0]]) } else { a.clone() };
        let column = if b.sizes().len() == 1 { b.with_sizes(&[b.sizes()[0], 1]) } else { b.clone() };
        let product = row.product(&column)?;
        let mut sizes = product.sizes().to_vec();
        if b.sizes().len() == 1 {
            sizes.pop();
        }
        if a.sizes().len() == 1 {
            sizes.remove(product.sizes().len() - 2);
        }
        Ok(product.with_sizes(&sizes).into())
    }
}
