//! Products of matrices and vectors, which become products of stacks.

use opgrid_core::{Result, Scalar};
use opgrid_tensor::families::ShapeRule;
use opgrid_tensor::layers::vmap::BatchedCall;
use opgrid_tensor::ops::{Conj, Matmul};
use opgrid_tensor::{Tensor, TensorSpec};

use super::Rule;
use super::arguments::full;

pub(super) const RULES: &[(&[&str], Rule)] = &[
    (&["mm", "bmm"], |call| {
        let (a, b) = (call.tensor(0).expect("a tensor").0, call.tensor(1).expect("a tensor").0);
        call.push(Matmul.call(&a, &b)?.into())
    }),
    (&["mv"], |call| {
        let (a, b) = (full(call, 0)?, full(call, 1)?);
        call.push(Matmul.call(&a, &b.unsqueeze(-1)?)?.squeeze(-1)?.into())
    }),
    (&["dot"], |call| {
        let products = dots(&full(call, 0)?, &full(call, 1)?)?;
        call.push(products.into())
    }),
    (&["vdot"], |call| {
        let products = dots(&Conj.call(&full(call, 0)?)?, &full(call, 1)?)?;
        call.push(products.into())
    }),
    (&["addmm", "baddbmm"], |call| added(call, |a, b| Matmul.call(a, b))),
    (&["addmv"], |call| added(call, |a, b| Matmul.call(a, &b.unsqueeze(-1)?)?.squeeze(-1))),
    (&["addr"], |call| added(call, |a, b| a.unsqueeze(-1)?.mul(&b.unsqueeze(-2)?))),
    (&["addbmm"], |call| added(call, |a, b| Matmul.call(a, b)?.sum_dim(1, false))),
];

/// The products of pairs of vectors.
fn dots(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    Matmul.call(&a.unsqueeze(-2)?, &b.unsqueeze(-1)?)?.reshape(a.sizes()[0])
}

/// `beta * self + alpha * product`, where `beta` 0 ignores what is in `self`.
fn added(call: &mut BatchedCall<'_, '_>, product: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Result<()> {
    let (beta, alpha) = (call.args()[3].as_scalar(), call.args()[4].as_scalar());
    let mut result = product(&full(call, 1)?, &full(call, 2)?)?;
    let dtype = match call.operator().column::<ShapeRule>()? {
        Some(rule) => rule.apply(call.args())?.first().map_or(result.dtype(), TensorSpec::dtype),
        None => result.dtype(),
    };
    let is = |number: Option<Scalar>, other: f64| {
        number.is_some_and(|number| number.to_f64().is_ok_and(|it| it == other))
    };
    if !is(alpha, 1.0)
        && let Some(alpha) = alpha
    {
        result = result.mul(alpha)?;
    }
    if !is(beta, 0.0) {
        let example = result.dim() - 1;
        let own = match call.aligned(0, example)? {
            Some(aligned) => aligned,
            None => call.tensor(0).expect("the schema says that it is a tensor").0,
        };
        let own = match beta {
            Some(beta) if !is(Some(beta), 1.0) => own.mul(beta)?,
            _ => own,
        };
        result = result.add(&own)?;
    }
    call.push(result.to_dtype(dtype)?.into())
}
