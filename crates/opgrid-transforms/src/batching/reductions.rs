//! Reductions over all elements, which are those over all dimensions but that of the batch.

use opgrid_core::{Dispatcher, Result, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::vmap::BatchedCall;
use opgrid_tensor::ops::Diagonal;

use super::Rule;
use super::arguments::{full, rows};

pub(super) const RULES: &[(&[&str], Rule)] = &[
    (&["all"], |call| over_all(call, "all.dim", Dim::One)),
    (&["any"], |call| over_all(call, "any.dim", Dim::One)),
    (&["max"], |call| over_all(call, "amax", Dim::List)),
    (&["min"], |call| over_all(call, "amin", Dim::List)),
    (&["mean"], |call| over_all(call, "mean.dim", Dim::List)),
    (&["prod"], |call| over_all(call, "prod.dim_int", Dim::One)),
    (&["median"], |call| over_all(call, "median.dim", Dim::One)),
    (&["nanmedian"], |call| over_all(call, "nanmedian.dim", Dim::One)),
    (&["norm.Scalar"], |call| over_all(call, "norm.ScalarOpt_dim", Dim::AfterNumber)),
    (&["norm.ScalarOpt_dtype"], |call| over_all(call, "norm.ScalarOpt_dim_dtype", Dim::AfterNumberWithDtype)),
    // The norms of an example are those of all its dimensions but one.
    (&["renorm"], |call| call.one_by_one()),
    (&["trace"], |call| {
        let diagonal = Diagonal.call(&full(call, 0)?, 0, 1, 2)?;
        call.push(diagonal.sum_dim(1, false)?.into())
    }),
];

/// How an overload over dimensions takes them.
#[derive(Clone, Copy)]
enum Dim {
    /// As one number.
    One,
    /// As a list.
    List,
    /// As a list, behind a number.
    AfterNumber,
    /// As a list, behind a number and before a dtype that has to be there.
    AfterNumberWithDtype,
}

/// Flattens each example, and calls the overload over one dimension; the first result is that over all.
fn over_all(call: &mut BatchedCall<'_, '_>, overload: &str, dim: Dim) -> Result<()> {
    let flat = rows(&full(call, 0)?)?;
    let operator = Dispatcher::current().find(&format!("aten::{overload}"))?;
    let number = || call.args()[1].to_value();
    let positional: Vec<Value> = match dim {
        Dim::One => vec![flat.into(), 1.into()],
        Dim::List => vec![flat.into(), vec![1].into()],
        Dim::AfterNumber => vec![flat.into(), number(), vec![1].into()],
        Dim::AfterNumberWithDtype => vec![flat.into(), number(), vec![1].into(), false.into()],
    };
    let takes_dtype = operator.schema()?.argument_index("dtype").is_some();
    let dtype = call.schema().and_then(|schema| schema.argument_index("dtype")).filter(|_| takes_dtype);
    let keyword = dtype.map(|at| ("dtype".to_owned(), call.args()[at].to_value())).into_iter().collect();
    let results = operator.call_values(operator.bind(positional, keyword)?)?;
    let first = results.into_iter().next().map(Tensor::try_from).transpose()?;
    match first {
        Some(result) => call.push(result.into()),
        None => call.one_by_one(),
    }
}
