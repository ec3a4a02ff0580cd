//! Programs with what they say of their inputs and results, laid out as the interface has it.
#![allow(unsafe_code)]

use std::path::Path;
use std::sync::Arc;

use opgrid_abi::{OPGRID_BOOL, OPGRID_FLOAT, OPGRID_INT, OPGRID_OTHER, OPGRID_TENSOR};
use opgrid_core::{Dispatcher, Result, Value};
use opgrid_graph::{Graph, Program, Size, ValueType, Variable};

use super::programs::{Description, LoadedProgram, Weights};

/// A program of a dispatcher.
struct DispatcherProgram {
    program: Program,
    dispatcher: Dispatcher,
    inputs: Vec<Description>,
    results: Vec<Description>,
}

/// Reads a program from a file.
///
/// # Errors
///
/// Those of [`Program::load`].
pub(super) fn load(dispatcher: &Dispatcher, path: &Path, weights: Weights) -> Result<Arc<dyn LoadedProgram>> {
    let program = dispatcher.within(|| match weights {
        Weights::Copied => Program::load(path),
        // SAFETY: the caller of the table promises by `OPGRID_PROGRAM_MAP` that nobody changes the file.
        Weights::Mapped => unsafe { Program::map(path) },
    })?;
    let graph = program.graph();
    let inputs = graph.user_inputs().map(|input| describe(graph, Some(input))).collect();
    let results = graph.user_results().map(|result| describe(graph, result)).collect();
    Ok(Arc::new(DispatcherProgram { program, dispatcher: dispatcher.clone(), inputs, results }))
}

impl LoadedProgram for DispatcherProgram {
    fn inputs(&self) -> &[Description] {
        &self.inputs
    }

    fn results(&self) -> &[Description] {
        &self.results
    }

    fn run(&self, inputs: Vec<Value>) -> Result<Vec<Value>> {
        self.dispatcher.within(|| self.program.run_values(inputs))
    }
}

/// What a value of a graph is; one without a variable is a constant.
fn describe(graph: &Graph, variable: Option<&Variable>) -> Description {
    let (name, kind) = match variable {
        Some(variable) => (variable.name.clone(), &variable.kind),
        None => (String::new(), &ValueType::Unknown),
    };
    let mut described = Description { name, type_text: kind.to_string(), ..Description::default() };
    described.tag = match kind {
        ValueType::Tensor(tensor) => {
            described.dtype = Some(tensor.dtype);
            (described.min_sizes, described.max_sizes) =
                tensor.sizes.iter().map(|size| bounds(graph, size)).unzip();
            OPGRID_TENSOR
        }
        ValueType::Int(_) => OPGRID_INT,
        ValueType::Float => OPGRID_FLOAT,
        ValueType::Bool => OPGRID_BOOL,
        _ => OPGRID_OTHER,
    };
    described
}

/// The smallest and the largest size that a dimension may have. Of what is computed from sizes nothing is said.
fn bounds(graph: &Graph, size: &Size) -> (i64, i64) {
    let expression = match size {
        Size::Known(size) => return (*size, *size),
        Size::Varying(expression) => expression,
    };
    let range = expression.as_symbol().and_then(|symbol| graph.symbols.get(symbol)).copied();
    let range = range.unwrap_or_default();
    (range.min.unwrap_or(0).max(0), range.max.unwrap_or(i64::MAX))
}
