//! `aten::cumprod`: the products of all elements up to each one along a dimension.
//!
//! `out[i] = self[0] * self[1] * … * self[i]`, with indices of dimension `dim`
//!
//! - Shapes: that of `self`; row-major.
//! - Dtypes: `dtype` if given, to which each element is converted first; otherwise that of `self`, int64 for integers and
//!   bools. Integers wrap around. Floats are kept in double precision from element to element.
//! - Aliasing: `cumprod_` writes `self`, `cumprod.out` writes `out`, each in its own dtype.
//! - Derivative: right where there are zeros; its own one is not, behind the first zero along the dimension.
//! - Errors: a bool `dtype`, `out` or `self` of `cumprod_`; an `out`, or `self` of `cumprod_`, of another dtype than `dtype`;
//!   a dimension out of range.
//! - Source: torch.cumprod, PyTorch 2.15.

use crate::kernels::scan;
use crate::ops::kinds::scans;
use crate::ops::prelude::*;
use crate::ops::{WhereScalarSelf, WhereSelf};

operator! {
    home = crate::home_of(register);
    pub Cumprod = "aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", in_place, out;
}

/// Kind, shape rule and rules for outputs, for everybody.
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
            d.by(input, [input, d.result(0)], move |grad, [x, out]| slope(grad, x, out, dim))
        });
}

pub(super) fn samples(samples: &mut Samples) {
    scans::samples(samples, Cumprod, 1, number::times).tolerance(64.0);
    samples.differs(Cumprod, scans::ONE_BOOL);
    samples.differs(
        Cumprod,
        Difference {
            id: "products-keep-their-range",
            what: "torch keeps products of short floats in single precision, where they may vanish before an infinity or be \
                   infinite before a zero or a number below one comes; here they are kept in double precision",
            why: "the mathematical result",
            test: ("opgrid-tensor/tests/all/ends_of_ranges.rs", "running_products_keep_their_range"),
            when: |seen| {
                let falls = seen.tensor("self").is_some_and(|x| x.elements.iter().any(|element| element.norm() < 1.0));
                seen.each(|(dtype, ours, torch)| {
                    let comes_back = falls && matches!(*dtype, DType::F16 | DType::BF16) && ours.is_finite();
                    torch.re.is_nan() && (ours.re == 0.0 || ours.re.is_infinite())
                        || (torch.re.is_infinite() || torch.re == 0.0) && comes_back
                })
            },
            directed: Some(Directed {
                operator: "aten::cumprod",
                arguments: || {
                    let returning = [1e30, 1e30, 1e-30].map(|x| f64::from(half::bf16::from_f64(x)));
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

impl Tensor {
    /// The products of all elements up to each one along a dimension.
    ///
    /// # Errors
    ///
    /// Those of [`Cumprod`].
    pub fn cumprod(&self, dim: i64) -> Result<Self> {
        Cumprod.call(self, dim, None)
    }
}

/// The gradient: before the first zero along the dimension the products are divided by the element, at the zero the products
/// that would be there with a one in its place count, up to a second zero, and behind it nothing does.
fn slope(grad: &Tensor, x: &Tensor, out: &Tensor, dim: i64) -> Result<Tensor> {
    let x = x.to_dtype(out.dtype())?;
    if x.dim() == 0 {
        return Ok(grad.clone());
    }
    let is_zero = x.eq_scalar(0)?;
    let zeros = is_zero.cumsum(dim)?;
    let is_first = is_zero.logical_and(&zeros.eq_scalar(1)?)?;
    let one = |is_zero: &Tensor| WhereScalarSelf.call(is_zero, Scalar::Int(1), &x);
    let sums = scans::sums_from_end(&derivatives::chained(grad, out)?, dim)?;
    let before = derivatives::divided(&sums, &one(&is_zero)?)?;
    let products = derivatives::chained(grad, &one(&is_first)?.cumprod(dim)?)?;
    let at_first = derivatives::where_true(&zeros.eq_scalar(1)?, &products)?.sum_dim(&[dim], true)?;
    let from_first = derivatives::where_true(&is_first, &at_first)?;
    WhereSelf.call(&zeros.eq_scalar(0)?, &before, &from_first)
}
