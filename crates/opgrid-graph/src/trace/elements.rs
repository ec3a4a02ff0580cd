//! Results whose sizes depend on elements, such as those of `nonzero` and of masks as indices.
//!
//! In a program such a size is a symbol. How what follows depends on it is found as for sizes of inputs: the code runs again, and gets results of
//! other sizes, whose elements repeat those that the operator gave.

use opgrid_core::{AnyTensor, BoxedCall, DType, List, Result, TensorType as _, Value, ValueView};
use opgrid_tensor::{Tensor, ops};

use crate::graph::{Argument, Node};

/// The smallest size that a trace is made with: those of 0 and 1 are treated differently, so that nothing can be concluded from them.
const LEAST: i64 = 2;

/// A size that depends on elements, as one run of the code has it.
pub(super) struct ElementSize {
    /// The first value that has the size, and the dimension.
    value: String,
    dimension: usize,
    /// The size in this run.
    pub(super) size: i64,
    /// What the operator counted, where other calls count that, too.
    counted: Option<String>,
}

impl ElementSize {
    /// The value that has the size, and the dimension.
    pub(super) fn source(&self) -> (String, usize) {
        (self.value.clone(), self.dimension)
    }
}

/// How sizes of results depend on elements.
pub(super) enum Dependence {
    /// Sizes are known from those of the arguments.
    None,
    /// These dimensions of the results, each the number of a tensor among all of them and a dimension, have one size that depends on elements.
    Size { places: Vec<(usize, usize)>, counted: Option<String> },
    /// Sizes depend on elements in another way.
    Other,
}

/// Which sizes of the results of a call depend on elements.
pub(super) fn dependence(node: &Node, call: &BoxedCall<'_>, results: &[Value]) -> Dependence {
    let tensors = tensors(results);
    let dim = |place: usize| tensors.get(place).map_or(0, Tensor::dim);
    let of_first = |dimension: usize| Dependence::Size { places: vec![(0, dimension)], counted: None };
    let given = call.args();
    let counted = |place: usize| match (node.positional.get(place), given.get(place)) {
        (Some(Argument::Value(name)), Some(value)) => match value.view() {
            // What is written later counts differently.
            ValueView::Tensor(tensor) => {
                Tensor::from_any_ref(tensor).map(|tensor| format!("{name} {}", tensor.version()))
            }
            _ => None,
        },
        _ => None,
    };
    let is_given = |name: &str| {
        let place = call
            .schema()
            .and_then(|schema| schema.arguments.iter().position(|argument| argument.name == name));
        place
            .and_then(|place| given.get(place))
            .is_some_and(|value| matches!(value.view(), ValueView::Int(0..)))
    };
    match node.target.as_str() {
        "aten::nonzero" | "aten::argwhere" => Dependence::Size { places: vec![(0, 0)], counted: counted(0) },
        "aten::nonzero_numpy" | "aten::where" => Dependence::Size {
            places: (0..tensors.len()).map(|place| (place, 0)).collect(),
            counted: counted(0),
        },
        "aten::masked_select" => {
            let sizes = |place: usize| match given.get(place).map(|value| value.view()) {
                Some(ValueView::Tensor(tensor)) => Tensor::from_any_ref(tensor).map(|it| it.sizes().to_vec()),
                _ => None,
            };
            let counted = counted(1).filter(|_| sizes(0) == sizes(1));
            Dependence::Size { places: vec![(0, 0)], counted }
        }
        "aten::bincount" => of_first(0),
        "aten::_unique" | "aten::_unique2" | "aten::unique_consecutive" => unique(&tensors, 0),
        "aten::unique_dim" | "aten::unique_dim_consecutive" => match given.get(1).map(|value| value.view()) {
            Some(ValueView::Int(dim)) => {
                let count = tensors.first().map_or(0, Tensor::dim) as i64;
                unique(&tensors, (if dim < 0 { dim + count } else { dim }).max(0) as usize)
            }
            _ => Dependence::Other,
        },
        // Told how many there are.
        "aten::one_hot" if is_given("num_classes") => Dependence::None,
        "aten::one_hot" => of_first(dim(0).saturating_sub(1)),
        "aten::repeat_interleave.Tensor" | "aten::repeat_interleave.self_Tensor"
            if is_given("output_size") =>
        {
            Dependence::None
        }
        "aten::repeat_interleave.Tensor" => of_first(0),
        "aten::repeat_interleave.self_Tensor" => match given.get(2).map(|value| value.view()) {
            Some(ValueView::Int(at)) => {
                of_first((if at < 0 { at + dim(0) as i64 } else { at }).max(0) as usize)
            }
            _ => of_first(0),
        },
        "aten::tensor_split.tensor_indices_or_sections" => Dependence::Other,
        "aten::index.Tensor" => index(node, call),
        name if name.starts_with("aten::") => Dependence::None,
        // Other libraries say it as torch's do, and give the size in front.
        _ if call.operator().tags().iter().any(|tag| tag == "dynamic_output_shape") => {
            let places = tensors.iter().enumerate().filter(|(_, tensor)| tensor.dim() > 0);
            Dependence::Size { places: places.map(|(place, _)| (place, 0)).collect(), counted: None }
        }
        _ => Dependence::None,
    }
}

/// Values that differ, where each stood, and how often: the first and the last have the size.
fn unique(tensors: &[Tensor], dimension: usize) -> Dependence {
    let size =
        |place: usize, dimension: usize| tensors.get(place).and_then(|it| it.sizes().get(dimension)).copied();
    let mut places = vec![(0, dimension)];
    // It is empty where nobody asked for it.
    if size(2, 0).is_some_and(|count| count > 0) && size(2, 0) == size(0, dimension) {
        places.push((2, 0));
    }
    Dependence::Size { places, counted: None }
}

/// Masks as indices.
fn index(node: &Node, call: &BoxedCall<'_>) -> Dependence {
    let indices: Vec<Option<&AnyTensor>> = match call.args().get(1).map(|value| value.view()) {
        Some(ValueView::OptionalTensors(indices)) => indices.iter().map(Option::as_ref).collect(),
        Some(ValueView::Tensors(indices)) => indices.iter().map(Some).collect(),
        _ => return Dependence::None,
    };
    let indices: Vec<Option<&Tensor>> = indices
        .into_iter()
        .map(|index| index.and_then(Tensor::from_any_ref).filter(|it| it.is_defined()))
        .collect();
    let is_mask = |tensor: &Tensor| matches!(tensor.dtype(), DType::Bool | DType::U8);
    if !indices.iter().flatten().any(|tensor| is_mask(tensor)) {
        return Dependence::None;
    }
    let numbers: Vec<&Tensor> = indices.iter().flatten().copied().filter(|tensor| !is_mask(tensor)).collect();
    // Others that say how many there are.
    if numbers.iter().any(|tensor| tensor.sizes().last().is_some_and(|size| *size != 1)) {
        return Dependence::Other;
    }
    let given: Vec<usize> = (0..indices.len()).filter(|place| indices[*place].is_some()).collect();
    let are_adjacent = given.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let start = if are_adjacent { given.first().copied().unwrap_or_default() } else { 0 };
    let dims = numbers.iter().map(|tensor| tensor.dim()).max().unwrap_or_default().max(1);
    let counted = match (given.as_slice(), node.positional.get(1)) {
        ([only], Some(Argument::List(names))) => match (names.get(*only), indices[*only]) {
            (Some(Argument::Value(name)), Some(mask)) => Some(format!("{name} {}", mask.version())),
            _ => None,
        },
        _ => None,
    };
    Dependence::Size { places: vec![(0, start + dims - 1)], counted }
}

/// All tensors among the results of a call.
fn tensors(results: &[Value]) -> Vec<Tensor> {
    let all = results.iter().flat_map(|result| match result {
        Value::List(list) => list.values(),
        value => vec![value.clone()],
    });
    all.filter_map(|value| Tensor::try_from(value).ok()).collect()
}

/// Gives the results of a call their size in this run, which is returned: the one that is `planned`, or their own unless that is too small.
///
/// # Errors
///
/// No memory.
pub(super) fn resize(results: &mut [Value], places: &[(usize, usize)], planned: Option<i64>) -> Result<i64> {
    let all = tensors(results);
    let own = |place: &(usize, usize)| all.get(place.0)?.sizes().get(place.1).copied();
    let size = planned.unwrap_or_else(|| places.first().and_then(own).unwrap_or_default().max(LEAST));
    let mut resized: Vec<AnyTensor> = Vec::with_capacity(all.len());
    for (place, tensor) in all.iter().enumerate() {
        let dimension = places.iter().find(|(number, _)| *number == place).map(|(_, dimension)| *dimension);
        let tensor = match dimension {
            Some(dimension) => of_size(tensor, dimension, size)?,
            None => tensor.clone(),
        };
        resized.push(tensor.as_any().clone());
    }
    let mut resized = resized.into_iter();
    for result in results {
        match result {
            Value::Tensor(tensor) => *tensor = resized.next().unwrap_or_else(|| tensor.clone()),
            Value::List(list) => {
                let count = list.values().len();
                *result = Value::from(List::Tensors(resized.by_ref().take(count).collect()));
            }
            _ => {}
        }
    }
    Ok(size)
}

/// A tensor of another size, whose elements repeat those of this one; zeros where it has none.
///
/// # Errors
///
/// No memory.
pub(super) fn of_size(tensor: &Tensor, dimension: usize, size: i64) -> Result<Tensor> {
    let sizes = tensor.sizes();
    match sizes.get(dimension) {
        None => Ok(tensor.clone()),
        Some(own) if *own == size => Ok(tensor.clone()),
        Some(0) => {
            let mut sizes = sizes.to_vec();
            sizes[dimension] = size;
            Tensor::zeros(&sizes, tensor.dtype(), tensor.device())
        }
        Some(own) => {
            // What has no elements repeats none.
            if tensor.device().is_meta() {
                let mut sizes = sizes.to_vec();
                sizes[dimension] = size;
                let made = Tensor::empty(&sizes, tensor.dtype(), tensor.device())?;
                if tensor.requires_grad() {
                    made.requires_grad_(true)?;
                }
                return Ok(made);
            }
            let indices: Vec<i64> = (0..size).map(|index| index % own).collect();
            ops::IndexSelect.call(tensor, dimension as i64, &Tensor::from_slice(&indices, &[size])?)
        }
    }
}

/// The sizes of one run.
#[derive(Default)]
pub(super) struct ElementSizes {
    /// What they are to be, from the first on.
    pub(super) planned: Vec<i64>,
    pub(super) found: Vec<ElementSize>,
}

impl ElementSizes {
    /// The size that a call counts: one that is known by `counted`, or the next one.
    pub(super) fn planned(&self, counted: Option<&str>) -> Option<i64> {
        match self.known(counted) {
            Some(known) => Some(known.size),
            None => self.planned.get(self.found.len()).copied(),
        }
    }

    /// Adds the size that a value has, unless it is one that is known.
    pub(super) fn add(&mut self, value: String, dimension: usize, size: i64, counted: Option<String>) {
        if self.known(counted.as_deref()).is_none() {
            self.found.push(ElementSize { value, dimension, size, counted });
        }
    }

    fn known(&self, counted: Option<&str>) -> Option<&ElementSize> {
        let counted = counted?;
        self.found.iter().find(|known| known.counted.as_deref() == Some(counted))
    }
}
