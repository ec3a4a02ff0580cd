//! Operators along dimensions that arguments name: the batch is one more in front of them.

use opgrid_core::schema::Type;
use opgrid_core::{Result, Value, ValueView};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::levels::map_tensors;
use opgrid_tensor::layers::vmap::BatchedCall;

use super::arguments::rows;

/// The arguments that name a dimension.
const DIMENSIONS: [&str; 7] = ["dim", "dim0", "dim1", "dim2", "dimension", "start_dim", "end_dim"];

/// Operators for which no dimensions are none; for others they are all.
const NONE_IS_NONE: [&str; 6] = ["all", "any", "squeeze", "_fft_c2c", "_fft_c2r", "_fft_r2c"];

/// Dimensions are counted behind that of the batch, and sizes begin with that of the batch. A tensor without dimensions gets one for
/// the call. One whose operator names none runs for each example.
pub(crate) fn along_dimensions(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (Some(schema), Some(rank)) = (call.schema(), call.example_rank()) else { return call.one_by_one() };
    let has = |names: &[&str]| schema.arguments.iter().any(|it| names.contains(&it.name.as_str()));
    let has_sizes = schema.arguments.iter().zip(call.args()).any(|(declared, value)| {
        matches!(declared.name.as_str(), "size" | "shape") && matches!(value.view(), ValueView::Ints(_))
    });
    if !has_sizes && !has(&DIMENSIONS) && !has(&["dims"]) {
        return call.one_by_one();
    }
    let base = call.operator().name().base();
    // A new dimension may stand behind all others.
    let more = i64::from(base == "unsqueeze");
    let gets_dim = rank == 0 && more == 0 && !has_sizes;
    // One window of the one element, or of none; what is refused says so for an example.
    if gets_dim && base == "unfold" {
        let number = |at: usize| call.args().get(at).and_then(|value| value.as_int());
        return match (call.tensor(0), number(1), number(2), number(3)) {
            (Some((elements, true)), Some(-1 | 0), Some(size @ (0 | 1)), Some(1..)) => {
                call.push(elements.unsqueeze(1)?.narrow(1, 0, size)?.into())
            }
            _ => call.one_by_one(),
        };
    }
    let shifted = |dim: i64| if dim < 0 { dim + rank + more + 1 + i64::from(gets_dim) } else { dim + 1 };
    let mut is_flattened = false;
    let mut args = Vec::with_capacity(schema.arguments.len());
    for (value, declared) in call.args().iter().zip(&schema.arguments) {
        let name = declared.name.as_str();
        let is_one = *declared.real_type.without_optional() == Type::Int;
        args.push(match (name, value.view()) {
            (name, ValueView::Int(dim)) if DIMENSIONS.contains(&name) => shifted(dim).into(),
            ("dim", ValueView::Ints([])) if NONE_IS_NONE.contains(&base) => value.to_value(),
            ("dim" | "dims", ValueView::Ints(dims)) if name == "dims" || !dims.is_empty() => {
                dims.iter().map(|dim| shifted(*dim)).collect::<Vec<_>>().into()
            }
            // All dimensions but that of the batch, flattened to one.
            ("dim", ValueView::None) if is_one => {
                is_flattened = true;
                Value::Int(1)
            }
            ("dim", ValueView::None | ValueView::Ints(_)) => (1..=rank.max(1)).collect::<Vec<_>>().into(),
            ("size" | "shape", ValueView::Ints(sizes)) => [&[call.size()], sizes].concat().into(),
            _ => map_tensors(*value, &mut |tensor| {
                let tensor = call.stretched(tensor)?;
                if gets_dim && tensor.is_defined() && tensor.dim() == 1 {
                    tensor.unsqueeze(1)
                } else {
                    Ok(tensor)
                }
            })?,
        });
    }
    if is_flattened && let Some(first) = args.iter_mut().find(|value| matches!(value, Value::Tensor(_))) {
        *first = rows(&Tensor::try_from(first.clone())?)?.into();
    }
    let keepdim = schema.argument_index("keepdim").is_some_and(|at| call.args()[at].as_bool() == Some(true));
    let size = call.size();
    call.call_and(args, &mut |result| {
        if is_flattened && keepdim {
            result.reshape([vec![size], vec![1; rank as usize]].concat())
        } else if gets_dim && result.dim() > 2 {
            // A window of the one element, or of none.
            result.select(1, 0)
        } else if gets_dim && result.dim() > 1 && result.sizes()[1] == 1 {
            result.squeeze(1)
        } else {
            Ok(result.clone())
        }
    })
}
