//! Reductions over all elements, which are those over all dimensions but that of the batch.

use opgrid_core::{Dispatcher, Result, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::vmap::BatchedCall;

use super::Rule;

pub(super) const RULES: &[(&[&str], Rule)] = &[
    (&["all"], |call| over_all(call, "all.dim", Dim::One)),
    (&["any"], |call| over_all(call, "any.dim", Dim::One)),
    (&["max"], |call| over_all(call, "amax", Dim::List)),
    (&["min"], |call| over_all(call, "amin", Dim::List)),
    (&["mean"], |call| over_all(call, "mean.dim", Dim::List)),
    (&["nansum"], |call| over_all(call, "nansum", Dim::List)),
    (&["prod"], |call| over_all(call, "prod.dim_int", Dim::One)),
    (&["median"], |call| over_all(call, "median.dim", Dim::One)),
    (&["nanmedian"], |call| over_all(call, "nanmedian.dim", Dim::One)),
    (&["norm.Scalar"], |call| over_all(call, "norm.ScalarOpt_dim", Dim::AfterNumber)),
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
}

/// Flattens each example, and calls the overload over one dimension; the first result is that over all.
fn over_all(call: &mut BatchedCall<'_, '_>, overload: &str, dim: Dim) -> Result<()> {
    let Some((input, true)) = call.tensor(0) else { return call.one_by_one() };
    let flat = input.reshape([call.size(), -1])?;
    let operator = Dispatcher::current().find(&format!("aten::{overload}"))?;
    let mut positional: Vec<Value> = vec![(&flat).into()];
    match dim {
        Dim::One => positional.push(1.into()),
        Dim::List => positional.push(vec![1].into()),
        Dim::AfterNumber => positional.extend([call.args()[1].to_value(), vec![1].into()]),
    }
    let dtype = call.schema().and_then(|schema| schema.argument_index("dtype"));
    let keyword = dtype.map(|at| ("dtype".to_owned(), call.args()[at].to_value())).into_iter().collect();
    let results = operator.call_values(operator.bind(positional, keyword)?)?;
    let first = results.into_iter().next().map(Tensor::try_from).transpose()?;
    match first {
        Some(result) => call.push(result.into()),
        None => call.one_by_one(),
    }
}
