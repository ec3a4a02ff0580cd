//! Views that are taken again, and values put back into what they are views of.
//!
//! A view has an inverse by one of these, the first that fits:
//!
//! - `aten::NAME_scatter`, for a view `aten::NAME` that has it;
//! - for a view that shows every element in the order of memory, `reshape` to the sizes of the whole;
//! - for one that has the dimensions of the whole in another order, `permute`;
//! - for a view with another dtype, the view back;
//! - for any other one, the same view of the numbers of the elements, which says where its elements belong, and `aten::put`.

use opgrid_array::{Geometry, TensorSpec};
use opgrid_core::{DType, Device, Result, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::functional::inverse::{order, scatter_of};

use super::{Functionalizer, Place, Step};
use crate::error;
use crate::graph::types::{Size, TensorType, ValueType};
use crate::graph::{Argument, Node, Outcome, Variable};
use crate::meta::Answer;

/// The value that stands for the viewed tensor while a view is tried.
const TRIED: &str = "";

impl Functionalizer {
    /// Takes a view of another value, and gives its name.
    pub(super) fn view(&mut self, step: &Step, of: String) -> String {
        if step.is_whole {
            return of;
        }
        let mut node = step.on(Argument::Value(of));
        let mut taken = String::new();
        let (result, item) = step.result;
        for (index, outcome) in node.results.iter_mut().enumerate() {
            let variables: &mut [Variable] = match outcome {
                Outcome::One(variable) => std::slice::from_mut(variable),
                Outcome::List(variables) => variables,
                Outcome::Unused => continue,
            };
            for (place, variable) in variables.iter_mut().enumerate() {
                variable.name = self.unique(&variable.name);
                if (index, place) == (result, item.unwrap_or(0)) {
                    taken.clone_from(&variable.name);
                }
            }
        }
        node.source = self.source.clone();
        self.push(node);
        taken
    }

    /// The value of `of`, which is `whole`, with `value` where the view shows it.
    pub(super) fn inverse(
        &mut self,
        step: &Step,
        view: usize,
        of: usize,
        whole: &str,
        value: String,
    ) -> Result<String> {
        let kind = self.entries[of].kind.clone();
        let wanted = self.entries[of].name.clone();
        if step.node.target == "aten::as_strided" && !self.is_all_of_its_memory(of) {
            return Err(error::unsupported(format!(
                "it shows the memory of `%{wanted}`, which is part of a larger one, and that memory is written; expected the view of a \
                 contiguous tensor: use slice, select or transpose"
            )));
        }
        if let Some(node) = self.scatter(step, whole, &value) {
            let name = self.unique(&wanted);
            let results = vec![Outcome::One(Variable { name: name.clone(), kind })];
            self.push(Node { results, source: self.source.clone(), ..node });
            return Ok(name);
        }
        let layout = self.entries[of].layout.clone();
        let shown = self.entries[view].layout.clone();
        if let (Some(layout), Some(shown)) = (&layout, &shown) {
            if layout.dtype != shown.dtype {
                return self.inverse_of_dtype(step, whole, value, layout.dtype, kind, &wanted);
            }
            let taken = layout.geometry.row_major();
            let taken = self.taken(step, &taken, layout.dtype);
            if let Some(taken) = taken.filter(|taken| taken.numel() == layout.geometry.numel()) {
                if taken.is_row_major() {
                    let sizes = self.sizes_of(whole, &kind, layout.geometry.sizes());
                    return Ok(self.emit(
                        "aten::reshape",
                        vec![Argument::Value(value), Argument::List(sizes)],
                        &wanted,
                        kind,
                    ));
                }
                if let Some(order) = order(&layout.geometry.row_major(), &taken) {
                    let order = order.into_iter().map(Argument::from).collect();
                    let given = vec![Argument::Value(value), Argument::List(order)];
                    return Ok(self.emit("aten::permute", given, &wanted, kind));
                }
            }
        }
        self.inverse_by_places(step, of, whole, value)
    }

    /// Whether the tensor begins where its memory does, row by row.
    fn is_all_of_its_memory(&self, entry: usize) -> bool {
        let layout = self.entries[entry].layout.as_ref();
        layout.is_some_and(|layout| layout.geometry.is_row_major() && layout.geometry.offset() == 0)
    }

    /// The call of the operator that is named after the view and puts it back.
    fn scatter(&self, step: &Step, whole: &str, value: &str) -> Option<Node> {
        let is_first = step.place.index == 0 && step.place.name.is_none() && step.place.item.is_none();
        let view = self.dispatcher.find(&step.node.target).ok()?.schema().ok()?;
        let scatter = scatter_of(&self.dispatcher, &view).filter(|_| is_first)?;
        let mut positional = vec![Argument::Value(whole.to_owned()), Argument::Value(value.to_owned())];
        positional.extend(step.node.positional.iter().skip(1).cloned());
        let target = scatter.name().to_string();
        Some(Node { target, positional, named: step.node.named.clone(), ..Node::default() })
    }

    /// Where the view of a tensor that lies so has its elements.
    fn taken(&mut self, step: &Step, of: &Geometry, dtype: DType) -> Option<Geometry> {
        let spec = TensorSpec::new(of.clone(), dtype, Device::META);
        self.tried(step, &Tensor::allocate(spec).ok()?).map(|view| view.geometry().clone())
    }

    /// The view of another tensor without memory.
    fn tried(&mut self, step: &Step, of: &Tensor) -> Option<Tensor> {
        self.pure.bind(TRIED, Value::from(of));
        let Answer::Results(results) = self.pure.call(&step.on(Argument::Value(TRIED.to_owned()))) else {
            return None;
        };
        let (result, item) = step.result;
        let view = match (results.into_iter().nth(result)?, item) {
            (Value::List(list), Some(item)) => list.values().into_iter().nth(item)?,
            (value, _) => value,
        };
        let Value::Tensor(view) = view else { return None };
        Tensor::try_from(view).ok()
    }

    /// The sizes of a value, as arguments.
    fn sizes_of(&mut self, name: &str, kind: &ValueType, known: &[i64]) -> Vec<Argument> {
        let declared = match kind {
            ValueType::Tensor(TensorType { sizes, .. }) if sizes.len() == known.len() => Some(sizes.clone()),
            _ => None,
        };
        let one = |(dim, known): (usize, &i64)| match declared.as_ref().map(|sizes| &sizes[dim]) {
            Some(Size::Known(_)) => (*known).into(),
            varying => {
                let kind = ValueType::Int(varying.cloned());
                let given = vec![Argument::Value(name.to_owned()), (dim as i64).into()];
                Argument::Value(self.emit("aten::sym_size.int", given, "size", kind))
            }
        };
        known.iter().enumerate().map(one).collect()
    }

    /// Puts a view with another dtype back.
    fn inverse_of_dtype(
        &mut self,
        step: &Step,
        whole: &str,
        value: String,
        dtype: DType,
        kind: ValueType,
        wanted: &str,
    ) -> Result<String> {
        let given = Argument::Value(value);
        let part = match step.node.target.as_str() {
            "aten::view_as_real" => return Ok(self.emit("aten::view_as_complex", vec![given], wanted, kind)),
            "aten::view_as_complex" => return Ok(self.emit("aten::view_as_real", vec![given], wanted, kind)),
            "aten::view.dtype" => {
                return Ok(self.emit("aten::view.dtype", vec![given, Argument::DType(dtype)], wanted, kind));
            }
            "aten::real" => 0i64,
            "aten::imag" => 1,
            other => {
                return Err(error::unsupported(format!(
                    "the view by {other} is written, whose dtype is another than that of its memory; expected view_as_real, \
                     view_as_complex, real, imag or view.dtype"
                )));
            }
        };
        let parts = self.emit(
            "aten::view_as_real",
            vec![Argument::Value(whole.to_owned())],
            wanted,
            ValueType::Unknown,
        );
        let changed = vec![Argument::Value(parts), given, (-1).into(), part.into()];
        let parts = self.emit("aten::select_scatter", changed, wanted, ValueType::Unknown);
        Ok(self.emit("aten::view_as_complex", vec![Argument::Value(parts)], wanted, kind))
    }

    /// Puts any view back: the same view of the numbers of the elements says where they belong.
    fn inverse_by_places(&mut self, step: &Step, of: usize, whole: &str, value: String) -> Result<String> {
        let kind = self.entries[of].kind.clone();
        let wanted = self.entries[of].name.clone();
        let Some(known) = self.pure.tensor(whole).map(|tensor| tensor.sizes().to_vec()) else {
            return Err(error::unsupported(format!(
                "the view of `%{whole}` is written, whose sizes depend on elements; expected sizes that are known"
            )));
        };
        let sizes = self.sizes_of(whole, &kind, &known);
        let is_varying = sizes.iter().any(|size| matches!(size, Argument::Value(_)));
        let count = if is_varying {
            let given = vec![Argument::Value(whole.to_owned())];
            Argument::Value(self.emit("aten::sym_numel", given, "numel", ValueType::Int(None)))
        } else {
            known.iter().product::<i64>().into()
        };
        let longs = |sizes: Vec<Size>| ValueType::Tensor(TensorType { dtype: DType::I64, sizes });
        let flat = match &count {
            Argument::Number(_) => longs(vec![Size::Known(known.iter().product())]),
            _ => ValueType::Unknown,
        };
        let like = |kind: &ValueType| match kind {
            ValueType::Tensor(tensor) => longs(tensor.sizes.clone()),
            _ => ValueType::Unknown,
        };
        let numbers = self.emit("aten::arange", vec![count], "places", flat);
        let given = vec![Argument::Value(numbers), Argument::List(sizes)];
        let numbers = self.emit("aten::view", given, "places", like(&kind));
        let mut step = step.clone();
        for variable in step.node.results.iter_mut().flat_map(|outcome| match outcome {
            Outcome::One(variable) => std::slice::from_mut(variable),
            Outcome::List(variables) => variables,
            Outcome::Unused => &mut [],
        }) {
            (variable.name, variable.kind) = ("places".to_owned(), like(&variable.kind));
        }
        let places = self.view(&step, numbers);
        let is_of_places = self.pure.tensor(&places).is_some_and(|places| {
            let value = self.pure.tensor(&value).map(Tensor::sizes);
            places.dtype() == DType::I64 && value.is_none_or(|sizes| sizes == places.sizes())
        });
        if !is_of_places {
            return Err(error::unsupported(format!(
                "the view by {} is written, which cannot be taken of other elements; expected one that only moves elements",
                step.node.target
            )));
        }
        let given = [whole.to_owned(), places, value].map(Argument::Value).to_vec();
        Ok(self.emit("aten::put", given, &wanted, kind))
    }
}

impl Step {
    /// The call with another tensor in the place of the viewed one.
    fn on(&self, of: Argument) -> Node {
        let mut node = self.node.clone();
        let Place { name, index, item } = &self.place;
        let argument = match name {
            Some(name) => {
                node.named.iter_mut().find(|(other, _)| other == name).map(|(_, argument)| argument)
            }
            None => node.positional.get_mut(*index),
        };
        match (argument, item) {
            (Some(Argument::List(items)), Some(item)) => items[*item] = of,
            (Some(argument), _) => *argument = of,
            (None, _) => {}
        }
        node
    }
}
