//! `aten::pdist`, `aten::_pdist_forward`, `aten::_pdist_backward`: the distances of all pairs of rows of a matrix, and the gradient.
//!
//! `out[k]` is the `p`-norm of `self[i, :] - self[j, :]` for all `i < j`, those of the first row first
//!
//! - Shapes: `[n, m]` gives `[n * (n - 1) / 2]`.
//! - Dtypes: float32 and float64.
//! - Aliasing: `_pdist_forward.out` writes `out`, which must not overlap `self`; `_pdist_backward.out` writes `out`.
//! - Dispatch: a composite of `_pdist_forward`, which torch calls with rows that lie in one piece; the gradient is one of
//!   `index_add` and arithmetic.
//! - Errors: another number of dimensions; a negative `p` or none; distances, or gradients of them, of another shape.
//! - Source: torch.nn.functional.pdist, PyTorch 2.15.

use super::cdist::{check, check_distances};
use crate::kinds::distances::by_difference;
use crate::prelude::*;
use opgrid_kernels::distances::between_pairs;
use opgrid_tensor::ops::{IndexAdd, SelectInt, TriuIndices};

pub use opgrid_tensor::ops::distances::pdist::*;

/// The family of `aten::_pdist_forward`: its kind, shape rule and `out` rule.
pub const PDIST_FORWARD: Family<PdistForward> =
    Family::new(PdistForward, &kind::DISTANCE, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&PDIST_FORWARD)
        .cpu(|input, p, out| {
            let sizes = [input.sizes()[0] as usize, input.sizes()[1] as usize];
            match input.dtype() {
                DType::F32 => between_pairs::<f32>(out.array()?, input.array()?, sizes, p),
                _ => between_pairs::<f64>(out.array()?, input.array()?, sizes, p),
            }
        })
        .derivative(|d, (input, p)| {
            d.by(input, [input, d.result(0)], move |grad, [input, out]| gradient(grad, input, p, out))
        });
    library.implicit(PdistBackward, &kind::DISTANCE, |grad, input, p, pdist| {
        let spec = shape(input, p)?;
        for (name, distances) in [("grad_output", grad), ("pdist", pdist)] {
            check_distances(name, distances, &spec)?;
        }
        gradient(grad, input, p, pdist)
    });
    library.define(Pdist).kind(&kind::DISTANCE).implicit(|input, p| PdistForward.call(input, p));
}

fn gradient(grad: &Tensor, input: &Tensor, p: f64, distances: &Tensor) -> Result<Tensor> {
    let rows = input.sizes()[0];
    let pairs = TriuIndices.call(rows, rows, 1, Some(DType::I64), None, Some(input.device()), None)?;
    let (left, right) = (SelectInt.call(&pairs, 0, 0)?, SelectInt.call(&pairs, 0, 1)?);
    let apart = input.index_select(0, &left)?.sub(&input.index_select(0, &right)?)?;
    let of_pairs = by_difference(&grad.unsqueeze(1)?, &apart, &distances.unsqueeze(1)?, p)?;
    let zeros = derivatives::zeros_of(input.sizes(), grad)?;
    let sum = IndexAdd.call(&zeros, 0, &left, &of_pairs, 1.into())?;
    IndexAdd.call(&sum, 0, &right, &of_pairs, (-1).into())
}

fn shape(input: &Tensor, p: f64) -> Result<TensorSpec> {
    let spec = input.spec()?;
    check(spec.dtype(), p)?;
    let &[rows, _] = spec.sizes() else {
        return Err(argument(format!("argument `self` has shape {:?}, expected a matrix", spec.sizes())));
    };
    // One of two numbers that follow each other is even.
    let (even, odd) = if rows % 2 == 0 { (rows / 2, rows - 1) } else { (rows, (rows - 1) / 2) };
    match even.checked_mul(odd.max(0)) {
        Some(pairs) => TensorSpec::contiguous(&[pairs], spec.dtype(), spec.device()),
        None => Err(argument(format!("the number of pairs of {rows} rows overflows 64 bits"))),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::distances::cdist::TAKEN;
    use crate::distances::cdist::samples::{norm, slope};
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples.operator(Pdist, TAKEN, inputs, reference).tolerance(64.0);
        samples
            .operator(PdistForward, TAKEN, inputs, reference)
            .tolerance(64.0)
            .refuses("`p` is -1", given(x.clone()).and(-1.0))
            .refuses("expected a matrix", given(x.with_sizes(&[6])));
        samples
            .operator(PdistBackward, TAKEN, gradients, gradient_of_rows)
            .tolerance(4096.0)
            .constant(&["pdist"])
            .refuses("`grad_output` has shape", {
                let one = generate::numbers(DType::F32, &[1], 1);
                given(x.with_sizes(&[6])).and(x.clone()).and(2.0).and(one)
            });
        samples.rounds(PdistBackward, Roundings::all(Rounding::Sum(1024)));
        samples.rounds(Pdist, Roundings::all(Rounding::Sum(64)));
        samples.rounds(PdistForward, Roundings::all(Rounding::Sum(64)));
        let checked = Difference {
            id: "kernels-of-distances-are-checked",
            what: "torch's kernel of `pdist` accepts negative orders, any dtype if there are no \
                 columns, and only contiguous rows; here it checks what `pdist` checks, and accepts \
                 any strides",
            why: "kernels that are called directly check their arguments",
            test: (
                "opgrid-operators/tests/all/differences/refused.rs",
                "what_torch_does_not_check_is_refused",
            ),
            when: |seen| {
                seen.we_refuse("argument `p`")
                    || seen.we_refuse("expected float32 or float64")
                        && seen.inputs().iter().any(|input| input.is_empty())
                    || seen.torch_refuses("requires contiguous input")
            },
            directed: None,
        };
        samples.differs(PdistForward, checked);
        samples.differs(Pdist, checked);
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let shapes: [&[i64]; 6] = [&[4, 3], &[5, 2], &[1, 3], &[0, 3], &[3, 0], &[3, 37]];
        let one = |p: f64| shapes.map(|sizes| given(generate::numbers(dtype, sizes, 1)).and(p)).to_vec();
        [2.0, 1.0, 0.0, f64::INFINITY, 3.0, 0.5].into_iter().flat_map(one).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        Ok(distances(it.tensor("self")?, it.value("p")?).into())
    }

    fn distances(x: &Plain, p: f64) -> Plain {
        let at = |row: i64, column: i64| x.at(&[row, column]).to_complex().re;
        let apart = |(i, j): (i64, i64)| (0..x.sizes()[1]).map(|k| at(i, k) - at(j, k)).collect::<Vec<_>>();
        let distances: Vec<f64> = pairs(x).map(|pair| norm(&apart(pair), p)).collect();
        Plain::from_elements(x.dtype(), &[distances.len() as i64], &distances)
    }

    fn pairs(x: &Plain) -> impl Iterator<Item = (i64, i64)> {
        let rows = x.sizes()[0];
        (0..rows).flat_map(move |i| (i + 1..rows).map(move |j| (i, j)))
    }

    /// Gradients of distances with the matrices that these are of.
    fn gradients(dtype: DType) -> Vec<Sample> {
        let shapes: [&[i64]; 4] = [&[4, 3], &[1, 3], &[0, 3], &[3, 0]];
        let one = |p: f64| {
            shapes.map(|sizes| {
                let x = generate::numbers(dtype, sizes, 1);
                let distances = distances(&x, p);
                given(generate::numbers(dtype, distances.sizes(), 2)).and(x).and(p).and(distances)
            })
        };
        [2.0, 1.0, 0.0, f64::INFINITY, 3.0].into_iter().flat_map(one).collect()
    }

    fn gradient_of_rows(it: &Inputs) -> Result<Expected> {
        let (grad, x, p): (_, _, f64) = (it.tensor("grad_output")?, it.tensor("self")?, it.value("p")?);
        let distances = it.tensor("pdist")?;
        let real = |x: &Plain, position: &[i64]| x.at(position).to_complex().re;
        Ok(Plain::from_fn(x.dtype(), x.sizes(), |position| {
            let (row, column) = (position[0], position[1]);
            let term = |(place, (i, j)): (i64, (i64, i64))| {
                let apart = real(x, &[i, column]) - real(x, &[j, column]);
                let side = if i == row { 1.0 } else { -1.0 };
                side * real(grad, &[place]) * slope(apart, real(distances, &[place]), p)
            };
            let own = (0..).zip(pairs(x)).filter(|(_, (i, j))| *i == row || *j == row);
            Scalar::Float(own.map(term).sum())
        })
        .into())
    }
}
