//! `aten::cdist`, `aten::_cdist_forward`, `aten::_cdist_backward`: the distances of all rows of one matrix from all rows of another, and
//! the gradient of the first one.
//!
//! `out[…, i, j]` is the `p`-norm of `x1[…, i, :] - x2[…, j, :]`: how many numbers are not zero for `p` 0, the largest one for
//! infinity
//!
//! - Shapes: matrices or stacks of them, which broadcast, with as many columns.
//! - Dtypes: float32 or float64, one for both.
//! - Modes: `compute_mode` says when torch may take a product of matrices instead of differences; here it has no effect.
//! - Aliasing: `_cdist_forward.out` writes `out`, which must not overlap the others; `_cdist_backward.out` writes `out`.
//! - Derivative: zero where a distance is; for infinity each of the largest differences has the whole gradient, as in torch.
//! - Dispatch: a composite of `_cdist_forward`; the gradient is one of arithmetic and products of matrices.
//! - Errors: fewer than two dimensions; other numbers of columns; a negative `p` or none; a mode but 0, 1 and 2;
//!   distances, or gradients of them, of another shape.
//! - Source: torch.cdist, PyTorch 2.15.

use crate::kinds::distances::by_difference;
use crate::prelude::*;
use opgrid_kernels::distances::between_rows;
use opgrid_tensor::ops::Matmul;
use opgrid_tensor::tensor::broadcast;
use opgrid_tensor::tensor::choose::unsupported;

pub use opgrid_tensor::ops::distances::cdist::*;

/// The family of `aten::_cdist_forward`: its kind, shape rule and `out` rule.
pub const CDIST_FORWARD: Family<CdistForward> =
    Family::new(CdistForward, &kind::DISTANCE, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&CDIST_FORWARD).cpu(cpu).derivative(|d, (x1, x2, p, _)| {
        let out = d.result(0);
        d.by(x1, [x1, x2, out], move |grad, [x1, x2, out]| by_rows(grad, x1, x2, out, p))?;
        d.by(x2, [x1, x2, out], move |grad, [x1, x2, out]| {
            by_rows(&grad.transpose(-2, -1)?, x2, x1, &out.transpose(-2, -1)?, p)
        })
    });
    library.implicit(CdistBackward, &kind::DISTANCE, |grad, x1, x2, p, cdist| {
        let spec = shape(x1, x2, p, None)?;
        for (name, distances) in [("grad_output", grad), ("cdist", cdist)] {
            check_distances(name, distances, &spec)?;
        }
        by_rows(grad, x1, x2, cdist, p)
    });
    library
        .define(Cdist)
        .kind(&kind::DISTANCE)
        .implicit(|x1, x2, p, mode| CdistForward.call(x1, x2, p, mode));
}

/// # Errors
///
/// Distances of another shape or dtype.
pub(super) fn check_distances(name: &str, found: &Tensor, expected: &TensorSpec) -> Result<()> {
    let spec = found.spec()?;
    if (spec.sizes(), spec.dtype()) == (expected.sizes(), expected.dtype()) {
        return Ok(());
    }
    Err(argument(format!(
        "argument `{name}` has shape {:?} and dtype {}, expected {:?} and {} as the distances",
        spec.sizes(),
        spec.dtype(),
        expected.sizes(),
        expected.dtype()
    )))
}

/// Dtypes that are taken.
pub(super) const TAKEN: &[DType] = &[DType::F32, DType::F64];

/// # Errors
///
/// A dtype that is not taken; a negative `p`, or none.
pub(super) fn check(dtype: DType, p: f64) -> Result<()> {
    if !TAKEN.contains(&dtype) {
        return Err(unsupported(dtype, "float32 or float64"));
    }
    if p >= 0.0 { Ok(()) } else { Err(argument(format!("argument `p` is {p}, expected 0 or more"))) }
}

fn shape(x1: &Tensor, x2: &Tensor, p: f64, mode: Option<i64>) -> Result<TensorSpec> {
    let (a, b) = (x1.spec()?, x2.spec()?);
    products::check_factors(&[("x1", a), ("x2", b)])?;
    check(a.dtype(), p)?;
    if mode.is_some_and(|mode| !(0..=2).contains(&mode)) {
        return Err(argument(format!("argument `compute_mode` is {mode:?}, expected 0, 1 or 2")));
    }
    match (a.sizes(), b.sizes()) {
        ([stack @ .., rows, columns], [other_stack @ .., others, same]) if columns == same => {
            let mut sizes = broadcast(&[stack, other_stack])?;
            sizes.extend([*rows, *others]);
            TensorSpec::contiguous(&sizes, a.dtype(), a.device())
        }
        (found, other) => Err(argument(format!(
            "arguments `x1` and `x2` have shapes {found:?} and {other:?}, expected at least two \
             dimensions, of which the last are equal"
        ))),
    }
}

fn cpu(x1: &Tensor, x2: &Tensor, p: f64, _mode: Option<i64>, out: &Tensor) -> Result<()> {
    let columns = x1.sizes()[x1.dim() - 1];
    let (stack, [rows, others]) = match out.sizes() {
        [stack @ .., rows, others] => (stack, [*rows, *others]),
        _ => return Ok(()),
    };
    let stretched = |tensor: &Tensor, rows: i64| {
        let array = tensor.array()?;
        array.view(array.geometry().expand(&[stack, &[rows, columns]].concat())?)
    };
    let (a, b) = (stretched(x1, rows)?, stretched(x2, others)?);
    let sizes = [rows, others, columns].map(|size| size as usize);
    match out.dtype() {
        DType::F32 => between_rows::<f32>(out.array()?, &a, &b, sizes, p),
        _ => between_rows::<f64>(out.array()?, &a, &b, sizes, p),
    }
}

/// The gradient of the rows whose distances from the others are row-major, with the stack that both broadcast to.
fn by_rows(grad: &Tensor, rows: &Tensor, others: &Tensor, distances: &Tensor, p: f64) -> Result<Tensor> {
    if p == 2.0 {
        // Without the differences of all pairs.
        let is_zero = distances.eq(0)?;
        let ratio = grad.div(&distances.masked_fill(&is_zero, 1)?)?.masked_fill(&is_zero, 0)?;
        return ratio.sum_dim(&[-1], true)?.mul(rows)?.sub(&Matmul.call(&ratio, others)?);
    }
    let apart = rows.unsqueeze(-2)?.sub(&others.unsqueeze(-3)?)?;
    let of_pairs = by_difference(&grad.unsqueeze(-1)?, &apart, &distances.unsqueeze(-1)?, p)?;
    of_pairs.sum_dim(&[-2], false)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples.operator(Cdist, TAKEN, inputs, reference).tolerance(64.0);
        samples
            .operator(
                CdistForward,
                TAKEN,
                |dtype| inputs(dtype).into_iter().map(|sample| sample.and(Value::None)).collect(),
                reference,
            )
            .tolerance(64.0)
            .refuses("`p` is -1", given(x.clone()).and(x.clone()).and(-1.0).and(Value::None))
            .refuses("`p` is NaN", given(x.clone()).and(x.clone()).and(f64::NAN).and(Value::None))
            .refuses("`compute_mode`", given(x.clone()).and(x.clone()).and(1.0).and(3))
            .refuses(
                "the last are equal",
                given(x.clone()).and(x.with_sizes(&[3, 2])).and(1.0).and(Value::None),
            )
            .refuses("two dimensions", given(x.clone()).and(x.with_sizes(&[6])).and(1.0).and(Value::None));
        let refused = generate::numbers(DType::F32, &[2, 3], 1);
        samples
            .operator(CdistBackward, TAKEN, gradients, gradient_of_first)
            .tolerance(4096.0)
            .constant(&["cdist"])
            .refuses("`grad_output` has shape", {
                given(refused).and(x.clone()).and(x.clone()).and(2.0).and(x.with_sizes(&[3, 2]))
            });
        samples.rounds(CdistBackward, Roundings::all(Rounding::Sum(1024)));
        samples.differs_as(Cdist, &[NOT_A_NUMBER, WITHOUT_COLUMNS]);
        samples.differs_as(CdistForward, &[NOT_A_NUMBER, WITHOUT_COLUMNS]);
        samples.rounds(Cdist, Roundings::all(Rounding::Sum(64)));
        samples.rounds(CdistForward, Roundings::all(Rounding::Sum(64)));
    }

    const WITHOUT_COLUMNS: Difference = Difference {
        id: "distances-without-columns-are-checked",
        what: "torch does not check the dtypes of rows without columns, whose distances are zero; here \
             they are checked as with columns",
        why: "whether a call is valid must not depend on sizes or elements",
        test: (
            "opgrid-operators/tests/all/differences/refused.rs",
            "what_is_refused_with_elements_is_refused_without",
        ),
        when: |seen| {
            let is_checked =
                seen.we_refuse("convert one of them") || seen.we_refuse("expected float32 or float64");
            is_checked && seen.inputs().iter().all(|input| input.is_empty())
        },
        directed: None,
    };

    const NOT_A_NUMBER: Difference = Difference {
        id: "the-largest-distance-of-what-is-no-number",
        what: "torch's `cdist` ignores NaN differences with the maximum norm, unlike `pdist`; here the \
             distance becomes NaN",
        why: "consistent with `pdist` and `maximum`",
        test: ("opgrid-operators/tests/all/images.rs", "the_largest_distance_of_what_is_no_number"),
        when: |seen| seen.each(|(_, ours, _)| ours.re.is_nan()),
        directed: Some(Directed {
            operator: "aten::_cdist_forward",
            arguments: || {
                vec![
                    ("x1", Operand::rows(0, DType::F32, &[1, 2], &[f64::NAN, 1.0]).into()),
                    ("x2", Operand::rows(1, DType::F32, &[1, 2], &[0.0, 0.0]).into()),
                    ("p", Scalar::Float(f64::INFINITY).into()),
                    ("compute_mode", Argument::None),
                ]
            },
            needs: None,
        }),
    };

    fn inputs(dtype: DType) -> Vec<Sample> {
        let shapes: [[&[i64]; 2]; 6] = [
            [&[3, 4], &[2, 4]],
            [&[2, 1, 3, 2], &[4, 2, 2]],
            [&[0, 3], &[2, 3]],
            [&[2, 0], &[3, 0]],
            [&[2, 37], &[3, 37]],
            [&[0, 2, 3], &[1, 4, 3]],
        ];
        let one = |p: f64| {
            shapes
                .map(|[a, b]| {
                    given(generate::numbers(dtype, a, 1)).and(generate::numbers(dtype, b, 2)).and(p)
                })
                .to_vec()
        };
        [2.0, 1.0, 0.0, f64::INFINITY, 3.0, 0.5].into_iter().flat_map(one).collect()
    }

    /// Gradients of distances with the rows that these are of.
    fn gradients(dtype: DType) -> Vec<Sample> {
        let shapes: [[&[i64]; 2]; 5] = [
            [&[3, 4], &[2, 4]],
            [&[2, 1, 3, 2], &[4, 2, 2]],
            [&[0, 3], &[2, 3]],
            [&[2, 0], &[3, 0]],
            [&[0, 2, 3], &[1, 4, 3]],
        ];
        let one = |p: f64| {
            shapes.map(|[a, b]| {
                let (x1, x2) = (generate::numbers(dtype, a, 1), generate::numbers(dtype, b, 2));
                let distances = distances(&x1, &x2, p).unwrap_or_else(|_| Plain::number(dtype, 0));
                let grad = generate::numbers(dtype, distances.sizes(), 3);
                given(grad).and(x1).and(x2).and(p).and(distances)
            })
        };
        [2.0, 1.0, 0.0, f64::INFINITY, 3.0].into_iter().flat_map(one).collect()
    }

    fn gradient_of_first(it: &Inputs) -> Result<Expected> {
        let (a, b, p): (_, _, f64) = (it.tensor("x1")?, it.tensor("x2")?, it.value("p")?);
        let (grad, distances) = (it.tensor("grad_output")?, it.tensor("cdist")?);
        let (stack, [rows, others]) = match distances.sizes() {
            [stack @ .., rows, others] => (stack, [*rows, *others]),
            _ => return Ok(a.clone().into()),
        };
        let sizes = [stack, &[rows, a.sizes()[a.sizes().len() - 1]]].concat();
        let real = |x: &Plain, position: &[i64]| x.at(position).to_complex().re;
        Ok(Plain::from_fn(a.dtype(), &sizes, |position| {
            let (stack, cell) = position.split_at(position.len() - 2);
            let at = |row: i64, column: i64| [stack, &[row, column]].concat();
            let term = |other: i64| {
                let apart = real(a, position) - real(b, &at(other, cell[1]));
                let distance = real(distances, &at(cell[0], other));
                real(grad, &at(cell[0], other)) * slope(apart, distance, p)
            };
            Scalar::Float((0..others).map(term).sum())
        })
        .into())
    }

    /// How a distance of order `p` changes with one of the differences that it is of.
    pub(crate) fn slope(apart: f64, distance: f64, p: f64) -> f64 {
        let side = if apart == 0.0 { 0.0 } else { apart.signum() };
        match p {
            0.0 => 0.0,
            1.0 => side,
            p if p.is_infinite() => {
                if apart.abs() == distance {
                    side
                } else {
                    0.0
                }
            }
            _ if distance == 0.0 => 0.0,
            p => side * (apart.abs() / distance).powf(p - 1.0),
        }
    }

    /// The norm of numbers.
    pub(crate) fn norm(numbers: &[f64], p: f64) -> f64 {
        match p {
            0.0 => numbers.iter().filter(|x| **x != 0.0).count() as f64,
            p if p.is_infinite() => numbers.iter().fold(0.0, |most, x| x.abs().max(most)),
            p => numbers.iter().map(|x| x.abs().powf(p)).sum::<f64>().powf(1.0 / p),
        }
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        Ok(distances(it.tensor("x1")?, it.tensor("x2")?, it.value("p")?)?.into())
    }

    fn distances(a: &Plain, b: &Plain, p: f64) -> Result<Plain> {
        let split = |x: &Plain| x.sizes().len() - 2;
        let stack = naive::broadcast([&a.sizes()[..split(a)], &b.sizes()[..split(b)]].into_iter())?;
        let columns = a.sizes()[split(a) + 1];
        let sizes = [&stack[..], &[a.sizes()[split(a)], b.sizes()[split(b)]]].concat();
        Ok(Plain::from_fn(a.dtype(), &sizes, |position| {
            let (stack, cell) = position.split_at(position.len() - 2);
            let at =
                |x: &Plain, row: i64, column: i64| x.at(&[stack, &[row, column]].concat()).to_complex().re;
            let apart: Vec<f64> = (0..columns).map(|k| at(a, cell[0], k) - at(b, cell[1], k)).collect();
            Scalar::Float(norm(&apart, p))
        }))
    }
}
