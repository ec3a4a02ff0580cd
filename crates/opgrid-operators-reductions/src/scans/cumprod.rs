//! `aten::cumprod`, `aten::cumprod_backward`: the products of all elements up to each one along a dimension, and the gradient.
//!
//! `out[i] = self[0] * self[1] * … * self[i]`, with indices of dimension `dim`
//!
//! - Shapes: that of `self`; row-major, as the gradient is.
//! - Dtypes: `dtype` if given, to which each element is converted first; otherwise that of `self`, int64 for integers and
//!   bools. Integers wrap around. Floats are kept in double precision from element to element.
//! - Aliasing: `cumprod_` writes `self`, `cumprod.out` writes `out`, each in its own dtype.
//! - Derivative: right where there are zeros, to any order. With zeros and `create_graph` it takes memory for the square of the
//!   size of `dim`, as torch's does.
//!   `cumprod_backward` does not look at `output`, which follows from `input`.
//! - Dispatch: the gradient is a composite of scans and arithmetic, of one floating-point or complex dtype.
//! - Errors: a bool `dtype`, `out` or `self` of `cumprod_`; an `out`, or `self` of `cumprod_`, of another dtype than `dtype`;
//!   a dimension out of range.
//! - Source: torch.cumprod, PyTorch 2.15.

use crate::kinds::scans;
use crate::prelude::*;
use opgrid_kernels::scan;
use opgrid_tensor::layers::autograd::is_grad_enabled;
use opgrid_tensor::ops::{
    Any, CloneTensor, NewOnes, OnesLike, Triu, WhereScalarOther, WhereScalarSelf, WhereSelf,
};

pub use opgrid_tensor::ops::scans::cumprod::*;

/// The family of `aten::cumprod`: its kind, shape rule and `out` rule.
pub const CUMPROD: Family<Cumprod> = Family::new(Cumprod, &kind::SCAN, scans::along)
    .in_place_shape(scans::in_place)
    .out_shape(scans::into_output);

pub(super) fn register(library: &mut Library) {
    library
        .family(&CUMPROD)
        .cpu(|input, dim, _, out| {
            scan::products(out.array()?, input.array()?, scans::dimension(input, dim)?, out.dtype())
        })
        .derivative(|d, (input, dim, _)| {
            d.by(input, [input, d.result(0)], move |grad, [x, out]| slope(grad, x, dim, out))
        });
    library.implicit(CumprodBackward, &kind::SCAN, |grad, input, dim, _| {
        pointwise::check_inexact(grad.spec()?.dtype())?;
        pointwise::check_one_dtype(("grad", grad), ("input", input))?;
        if input.sizes() != grad.sizes() {
            let message = format!(
                "argument `input` has shape {:?}, expected {:?} as `grad`",
                input.sizes(),
                grad.sizes()
            );
            return Err(argument(message));
        }
        let products = input.cumprod(dim)?;
        CloneTensor.call(&slope(grad, input, dim, &products)?, Some(MemoryFormat::Contiguous))
    });
}

/// The gradient. Where it is recorded and there are zeros, it comes from a formula that can be differentiated, too.
fn slope(grad: &Tensor, x: &Tensor, dim: i64, out: &Tensor) -> Result<Tensor> {
    let x = x.to_dtype(out.dtype())?;
    if x.dim() == 0 || x.numel() == 0 {
        return Ok(grad.clone());
    }
    let is_zero = x.eq(0)?;
    // Where nobody can look at numbers, as on Meta, there may be zeros.
    let has_zeros = || Any.call(&is_zero)?.item().map(Scalar::to_bool);
    if is_grad_enabled() && has_zeros().unwrap_or(true) {
        recorded_slope(grad, &x, dim)
    } else {
        slope_by_first_zero(grad, &x, &is_zero, out, dim)
    }
}

/// The gradient: before the first zero along the dimension the products are divided by the element, at the zero the products
/// with a one instead of the zero count, up to a second zero, and behind it nothing does. Its own derivatives are right only
/// where there are no zeros.
fn slope_by_first_zero(
    grad: &Tensor,
    x: &Tensor,
    is_zero: &Tensor,
    out: &Tensor,
    dim: i64,
) -> Result<Tensor> {
    let zeros = is_zero.cumsum(dim)?;
    let is_first = is_zero.logical_and(&zeros.eq(1)?)?;
    let one = |is_zero: &Tensor| WhereScalarSelf.call(is_zero, Scalar::Int(1), x);
    let sums = scans::sums_from_end(&derivatives::chained(grad, out)?, dim)?;
    let before = derivatives::divided(&sums, &one(is_zero)?)?;
    let products = derivatives::chained(grad, &one(&is_first)?.cumprod(dim)?)?;
    let at_first = derivatives::where_true(&zeros.eq(1)?, &products)?.sum_dim(&[dim], true)?;
    let from_first = derivatives::where_true(&is_first, &at_first)?;
    WhereSelf.call(&zeros.eq(0)?, &before, &from_first)
}

/// The gradient without a division, in the square of the memory: of element k it is the product of all before it times the sum
/// of `grad[i] * x[k + 1] * … * x[i]` over all i from k on.
fn recorded_slope(grad: &Tensor, x: &Tensor, dim: i64) -> Result<Tensor> {
    let (grad, x) = (grad.transpose(dim, -1)?, x.transpose(dim, -1)?);
    let count = *x.sizes().last().expect("there are dimensions, which was checked");
    // Of row k: the places from k on.
    let all = NewOnes.call(&x, &[count, count], Some(DType::Bool), None, None, None)?;
    let is_from = Triu.call(&all, 0)?;
    let is_behind = Triu.call(&all, 1)?;
    let factors = WhereScalarOther.call(&is_behind, &x.unsqueeze(-2)?, Scalar::Int(1))?;
    let products = derivatives::chained(&grad.unsqueeze(-2)?, &factors.cumprod(-1)?)?;
    let behind = derivatives::where_true(&is_from, &products)?.sum_dim(&[-1], false)?;
    let one = OnesLike.call(&x.narrow(-1, 0, 1)?, None, None, None, None, None)?;
    let before = Tensor::cat(&[one, x.narrow(-1, 0, count - 1)?], -1)?.cumprod(-1)?;
    derivatives::chained(&behind, &before)?.transpose(dim, -1)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        scans::samples::collect(samples, Cumprod, 1, number::times).tolerance(64.0);
        samples
            .operator(CumprodBackward, INEXACT, gradients, |it| {
                let (grad, x, dim) = (it.tensor("grad")?, it.tensor("input")?, it.value("dim")?);
                let line = |lines: &[Vec<Scalar>]| {
                    let [grad, x] =
                        [0, 1].map(|at| lines[at].iter().map(|x| x.to_complex()).collect::<Vec<_>>());
                    let product = |end: usize, without: usize| {
                        let factors = x[..=end].iter().enumerate().filter(|(at, _)| *at != without);
                        factors.map(|(_, factor)| *factor).product::<Complex64>()
                    };
                    let sum = |at: usize| {
                        (at..x.len()).map(|end| grad[end] * product(end, at).conj()).sum::<Complex64>()
                    };
                    (0..x.len()).map(|at| Scalar::Complex(sum(at))).collect()
                };
                Ok(Plain::of_lines(&[grad, x], dim, grad.dtype(), line).into())
            })
            .tolerance(512.0)
            .constant(&["output"])
            .refuses("`input` has shape", {
                let x = |sizes: &[i64]| generate::numbers(DType::F32, sizes, 0);
                given(x(&[2])).and(x(&[3])).and(0).and(x(&[2]))
            });
        samples.rounds(CumprodBackward, Roundings::all(Rounding::Sum(512)));
        samples.differs(
            CumprodBackward,
            Difference {
                id: "products-follow-from-their-factors",
                what: "torch computes the gradient of cumulative products from `output`, whatever it holds, and \
                     returns the gradient itself if the dimension has one element; here products are \
                     computed from `input`, and the result is new",
                why: "an argument that follows from another one cannot contradict it",
                test: (
                    "opgrid-operators/tests/all/differences/kernels.rs",
                    "saved_results_follow_from_the_inputs",
                ),
                when: |seen| {
                    matches!(seen.part, Part::Values | Part::Identity) || seen.begins_memory_here()
                },
                directed: None,
            },
        );
        samples.differs(Cumprod, scans::samples::ONE_BOOL);
        samples.differs(
            Cumprod,
            Difference {
                id: "products-keep-their-range",
                what: "torch keeps cumulative products of 16-bit floats in single precision, where they \
                     may underflow before an infinity or overflow before a zero; here they are kept in \
                     double precision",
                why: "the mathematical result",
                test: ("opgrid-operators/tests/all/ends_of_ranges.rs", "running_products_keep_their_range"),
                when: |seen| {
                    let falls = seen
                        .tensor("self")
                        .is_some_and(|x| x.elements.iter().any(|element| element.norm() < 1.0));
                    seen.each(|(dtype, ours, torch)| {
                        let comes_back =
                            falls && matches!(*dtype, DType::F16 | DType::BF16) && ours.is_finite();
                        torch.re.is_nan() && (ours.re == 0.0 || ours.re.is_infinite())
                            || (torch.re.is_infinite() || torch.re == 0.0) && comes_back
                    })
                },
                directed: Some(Directed {
                    operator: "aten::cumprod",
                    arguments: || {
                        let returning =
                            [1e30, 1e30, 1e-30].map(|x| f64::from(opgrid_tensor::tensor::bf16::from_f64(x)));
                        vec![
                            ("self", Operand::rows(0, DType::BF16, &[3], &returning).into()),
                            ("dim", Scalar::Int(0).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        samples.rounds(Cumprod, Roundings::all(Rounding::Result(4)).complex(Rounding::Result(1024)));
    }

    /// Gradients with lines and their products, some of them with zeros.
    fn gradients(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], i64, &[f64]); 6] = [
            (&[4], 0, &[0.5, -2.0, 1.5, 1.0]),
            (&[2, 3], 1, &[0.5, 2.0, -1.0, 1.5, 0.25, 1.0]),
            (&[3, 2], 0, &[0.5, 2.0, 0.0, 1.5, 0.25, 0.0]),
            (&[5], 0, &[2.0, 0.0, 1.5, 0.0, 0.5]),
            (&[], 0, &[2.0]),
            (&[0, 2], 1, &[]),
        ];
        let one = |(sizes, dim, elements): (&[i64], i64, &[f64])| {
            let x = Plain::from_elements(dtype, sizes, elements);
            let products = Plain::of_lines(&[&x], dim, dtype, |lines| {
                let joined = lines[0].iter().scan(Scalar::Int(1), |product, factor| {
                    *product = number::times(*product, *factor);
                    Some(*product)
                });
                joined.collect()
            });
            given(generate::numbers(dtype, sizes, 1)).and(x).and(dim).and(products)
        };
        cases.map(one).to_vec()
    }
}
