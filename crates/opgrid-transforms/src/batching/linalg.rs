//! Linear algebra: operators on stacks of matrices, of which the examples are some more.

use opgrid_core::Result;
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::levels::map_tensors;
use opgrid_tensor::layers::vmap::BatchedCall;

use super::Rule;
use super::arguments::{full, with_dims};

pub(super) const RULES: &[(&[&str], Rule)] =
    &[(&["_linalg_solve_ex"], solve), (&["linalg_lstsq"], solve_least_squares)];

/// Arguments with a list for each matrix.
const LISTS: [&str; 4] = ["pivots", "LU_pivots", "tau", "input2"];

/// Arguments with a number for each matrix.
const NUMBERS: [&str; 2] = ["atol", "rtol"];

/// An operator on stacks of matrices. Stacks broadcast, so that those of all arguments get as many dimensions behind that of the batch.
pub(super) fn stacks(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    with_stacks(call, false)
}

/// What stands on the right may be a vector for each matrix: a column.
fn solve(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (a, b) = (full(call, 0)?, full(call, 1)?);
    let (matrices, right) = (&a.sizes()[1..], &b.sizes()[1..]);
    let is_list = right.len() + 1 == matrices.len() && right == &matrices[..right.len()];
    with_stacks(call, right.len() == 1 || is_list)
}

/// What stands on the right may have a dimension less: a column for each matrix.
fn solve_least_squares(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (a, b) = (full(call, 0)?, full(call, 1)?);
    let is_vector = a.dim() == b.dim() + 1;
    with_stacks(call, is_vector)
}

fn with_stacks(call: &mut BatchedCall<'_, '_>, is_vector: bool) -> Result<()> {
    let Some(schema) = call.schema() else { return call.one_by_one() };
    let own = |place: usize| match schema.arguments[place].name.as_str() {
        name if LISTS.contains(&name) => 1,
        name if NUMBERS.contains(&name) => 0,
        _ => 2,
    };
    // How many sizes count the matrices of an example: the most that an argument has, and those of the first one.
    let (mut outer, mut first) = (0, None);
    for (place, value) in call.args().iter().enumerate() {
        map_tensors(*value, &mut |tensor| {
            let dims = call.stretched(tensor)?.dim() + usize::from(is_vector && place == 1);
            let own = dims.saturating_sub(1 + own(place));
            first = first.or(Some(own));
            outer = outer.max(own);
            Ok(tensor.clone())
        })?;
    }
    let one = |place: usize, tensor: &Tensor| {
        let tensor = call.stretched(tensor)?;
        let tensor = if is_vector && place == 1 { tensor.unsqueeze(-1)? } else { tensor };
        with_dims(&tensor, 1 + outer + own(place))
    };
    let args = call.args().iter().enumerate();
    let args = args.map(|(place, value)| map_tensors(*value, &mut |tensor| one(place, tensor)));
    let args = args.collect::<Result<Vec<_>>>()?;
    let lacking = outer - first.unwrap_or(outer);
    let (size, mut is_first) = (call.size(), true);
    call.call_and(args, &mut |result| {
        let is_solution = std::mem::take(&mut is_first);
        match result.sizes() {
            // What was not asked for has no elements, and no dimension for the batch.
            [0] if size > 0 => result.expand([size, 0]),
            _ if is_solution && is_vector => result.squeeze(-1),
            // Factors are those of the first argument, without the sizes that the others broadcast it to.
            [_, sizes @ ..] if !is_solution && lacking > 0 => {
                result.reshape([&[size], &sizes[lacking..]].concat())
            }
            _ => Ok(result.clone()),
        }
    })
}
