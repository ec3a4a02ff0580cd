//! The calls that show differences which random ones seldom meet.

use opgrid_core::{Complex64, DType, Scalar};
use opgrid_samples::{Argument, Directed, Operand};
use opgrid_tensor::tensor::Number;
use opgrid_tensor::{Element, Tensor, with_dtype};

use super::case::{Arg, Block, Call, Case, View};
use super::ours::Ours;

/// The case of a call.
///
/// # Errors
///
/// No operator of that name; an argument that no case has; no memory.
pub fn case(ours: &Ours, directed: &Directed) -> Result<Case, String> {
    let arguments = (directed.arguments)();
    let mut case = Case {
        seed: 0,
        default: DType::F32,
        stream: 0,
        blocks: blocks(&arguments)?,
        tensors: Vec::new(),
        calls: Vec::new(),
    };
    let schema = ours.dispatcher().find(directed.operator).and_then(|operator| operator.schema());
    let schema = schema.map_err(|error| error.to_string())?;
    let mut call =
        Call { operator: directed.operator.to_owned(), positional: Vec::new(), keyword: Vec::new() };
    for (at, (name, argument)) in arguments.iter().enumerate() {
        let arg = arg(&mut case, argument)?;
        let is_next = schema.arguments.get(at).is_some_and(|known| known.name == *name && !known.kwarg_only);
        if is_next && call.keyword.is_empty() {
            call.positional.push(arg);
        } else {
            call.keyword.push(((*name).to_owned(), arg));
        }
    }
    case.calls.push(call);
    Ok(case)
}

fn arg(case: &mut Case, argument: &Argument) -> Result<Arg, String> {
    let mut view = |operand: &Operand| {
        let geometry = &operand.geometry;
        let (sizes, strides) = (geometry.sizes().to_vec(), geometry.strides().to_vec());
        let view = View { block: operand.memory, sizes, strides, offset: geometry.offset() };
        // One tensor that is named twice is one.
        case.tensors.iter().position(|known| *known == view).unwrap_or_else(|| {
            case.tensors.push(view);
            case.tensors.len() - 1
        })
    };
    Ok(match argument {
        Argument::None => Arg::None,
        Argument::Tensor(operand) => Arg::Tensor(view(operand)),
        Argument::Tensors(list) => {
            Arg::Tensors(list.iter().map(|entry| entry.as_ref().map(&mut view)).collect())
        }
        Argument::Number(Scalar::Int(value)) => Arg::Int(*value),
        Argument::Number(Scalar::Float(value)) => Arg::Float(*value),
        Argument::Number(Scalar::Bool(value)) => Arg::Bool(*value),
        Argument::Number(Scalar::Complex(value)) => Arg::Complex(*value),
        Argument::Text(text) => Arg::Str(text.clone().into()),
        Argument::DType(dtype) => Arg::DType(*dtype),
        Argument::Ints(list) => Arg::Ints(list.clone()),
        Argument::Floats(list) => Arg::Floats(list.clone()),
        other => return Err(format!("a case has no argument such as {other:?}")),
    })
}

/// The memory of the tensors among the arguments, as long as they need it.
fn blocks(arguments: &[(&str, Argument)]) -> Result<Vec<Block>, String> {
    let mut blocks: Vec<(DType, Vec<Complex64>)> = Vec::new();
    let operands = arguments.iter().flat_map(|(_, argument)| match argument {
        Argument::Tensor(operand) => vec![operand],
        Argument::Tensors(list) => list.iter().flatten().collect(),
        _ => Vec::new(),
    });
    for operand in operands {
        blocks.resize(blocks.len().max(operand.memory + 1), (DType::F32, Vec::new()));
        let (dtype, elements) = &mut blocks[operand.memory];
        *dtype = operand.dtype;
        let end = operand.geometry.end() as usize;
        elements.resize(elements.len().max(end), Complex64::ZERO);
        for (place, element) in operand.places().into_iter().zip(&operand.elements) {
            elements[place as usize] = *element;
        }
    }
    blocks
        .into_iter()
        .map(|(dtype, elements)| block(dtype, &elements).map_err(|error| error.to_string()))
        .collect()
}

pub(super) fn block(dtype: DType, elements: &[Complex64]) -> opgrid_core::Result<Block> {
    let count = elements.len();
    let tensor = with_dtype!(dtype, T => {
        let elements = elements.iter().map(|element| T::from_number(Number::Complex128(*element)));
        Tensor::from_slice(&elements.collect::<Vec<T>>(), &[count as i64])
    })?;
    let guard = tensor.array()?.storage().read()?;
    let bytes = guard.bytes()[..count * dtype.size_in_bytes()].to_vec();
    Ok(Block { dtype, bytes })
}
