//! The tracer: runs code once on tensors that record what is called on them.
//!
//! A traced tensor is a wrapper around an ordinary one. While a trace runs, a layer sees every call of the thread, runs it on
//! the inner tensors, so that views, writes and random numbers work as usual, and records a node. The layer
//! stands above autograd, where composite operators are still whole and a program that runs later records gradients itself;
//! with [`Trace::below_autograd`] it stands below, where the steps of a backward pass are seen, too.
//!
//! Code that asks a traced tensor for its sizes gets numbers. How a program depends on sizes that vary is found by tracing with
//! several sizes and comparing the graphs ([`Trace::vary`]).

mod call;
mod elements;
mod grad_mode;
mod guards;
mod record;
mod vary;

use std::collections::BTreeMap;
use std::sync::Arc;

use opgrid_core::{Dispatcher, MemoryFormat, Result};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::{fake, vmap};

use crate::error;
use crate::graph::tree::Tree;
use crate::graph::types::{Range, ValueType};
use crate::graph::{Argument, Block, Graph, InputKind, OutputKind, Source, Variable};
use crate::program::Program;
use elements::ElementSize;
use guards::{Condition, Guard};
use record::{Session, Way};
use vary::{Failure, Run};

pub(crate) use call::{Example, symbol, trace_call};
pub use guards::{Comparison, record_comparison, size_symbol};
pub use record::{Scope, scope};

/// How code is traced: what its tensors are called, what it may do, which sizes vary.
///
/// # Examples
///
/// ```
/// use opgrid::{DType, Device, Tensor};
/// use opgrid_graph::Trace;
///
/// let weight = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
/// let x = Tensor::zeros(&[2, 3], DType::F32, Device::CPU)?;
/// let trace = Trace::new().parameter("scale", &weight).input("x").vary(0, 0, "n", 1..=64);
/// let program = trace.run(&[&x], |inputs| Ok(vec![inputs[0].mul(&weight)?.relu()?]))?;
///
/// assert_eq!(program.graph().block.nodes[0].target, "aten::mul.Tensor");
/// let y = Tensor::ones(&[5, 3], DType::F32, Device::CPU)?;
/// assert_eq!(program.run(&[&y])?[0].sizes(), [5, 3]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Trace {
    stored: Vec<(InputKind, Tensor)>,
    names: Vec<String>,
    fixed: Vec<(usize, String, Argument)>,
    symbols: Vec<Symbol>,
    is_below_autograd: bool,
    guards_reads: bool,
    source: Option<Arc<SourceFn>>,
}

/// The code that is traced.
type Code<'c> = dyn FnMut(&[Tensor]) -> Result<Vec<Tensor>> + 'c;

/// What one run of the code gives.
struct Once {
    graph: Graph,
    tensors: BTreeMap<String, Tensor>,
    /// The sizes that depend on elements.
    elements: Vec<ElementSize>,
    guards: Vec<Guard>,
}

/// Says where the code stands.
type SourceFn = dyn Fn() -> Source + Send + Sync;

/// A size that varies.
#[derive(Clone, Debug)]
pub(crate) struct Symbol {
    name: String,
    range: Range,
    /// The range that was said; that one may become smaller by what code compares the size with.
    given: Range,
    /// The dimensions that have the size: input and dimension.
    places: Vec<(usize, usize)>,
}

impl Trace {
    /// A trace of code that names no tensors, whose sizes are those of the example.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names a tensor that the code has, as a weight that is trained.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, tensor: &Tensor) -> Self {
        self.stored.push((InputKind::Parameter(name.into()), tensor.clone()));
        self
    }

    /// Names a tensor that the code has, as one that is saved and not trained.
    #[must_use]
    pub fn buffer(mut self, name: impl Into<String>, tensor: &Tensor) -> Self {
        self.stored.push((InputKind::Buffer { name: name.into(), persistent: true }, tensor.clone()));
        self
    }

    /// Names the next input; those without a name are `input_0`, `input_1` and so on.
    #[must_use]
    pub fn input(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// Says that the caller gave a plain value, such as a number, as one of the flattened arguments: the one at that place,
    /// counted with the tensors. It is fixed in the program.
    #[must_use]
    pub fn fixed(mut self, place: usize, name: impl Into<String>, value: Argument) -> Self {
        self.fixed.push((place, name.into(), value));
        self.fixed.sort_by_key(|(place, ..)| *place);
        self
    }

    /// Lets a dimension of an input vary within a range. Dimensions of one name have one size.
    ///
    /// The code is traced again with a few other sizes from the range. The elements of those inputs repeat those of the example. Where it says
    /// that it [compares](record_comparison) the size, ends of the range that are open (no largest size, a smallest of 0 or 1) become those for which
    /// that holds.
    #[must_use]
    pub fn vary(
        mut self,
        input: usize,
        dimension: usize,
        name: impl Into<String>,
        range: std::ops::RangeInclusive<i64>,
    ) -> Self {
        let name = name.into();
        let range =
            Range { min: Some(*range.start()), max: Some(*range.end()).filter(|max| *max < i64::MAX) };
        match self.symbols.iter_mut().find(|symbol| symbol.name == name) {
            Some(symbol) => {
                symbol.places.push((input, dimension));
                symbol.range.min = symbol.range.min.max(range.min);
                symbol.range.max = [symbol.range.max, range.max].into_iter().flatten().min();
                symbol.given = symbol.range;
            }
            None => {
                self.symbols.push(Symbol { name, range, given: range, places: vec![(input, dimension)] });
            }
        }
        self
    }

    /// Traces below autograd: composite operators are taken apart, and the calls of a backward pass within the code are nodes.
    #[must_use]
    pub fn below_autograd(mut self) -> Self {
        self.is_below_autograd = true;
        self
    }

    /// Lets the code depend on elements: read them, as by `item`, or compute with sizes that depend on them, as those of `nonzero` do, what
    /// no program computes. The program then checks that values and such sizes are the same.
    #[must_use]
    pub fn guard_reads(mut self) -> Self {
        self.guards_reads = true;
        self
    }

    /// Asks a function for the source of each node, where the code knows more than the names of [`scope`]s.
    #[must_use]
    pub fn sources(mut self, source: impl Fn() -> Source + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// Runs the code on copies of `inputs`, and gives what it did as a program. What the code writes to other tensors that it
    /// has, such as running statistics, is written, as often as it runs.
    ///
    /// # Errors
    ///
    /// Those of the code; a value that it reads from a tensor, unless reads are guarded; a generator or an object among the
    /// arguments of a call; sizes changed in place; with sizes that vary or depend on elements, code that does something else for other
    /// sizes. Code that goes on after such an error gives no program.
    pub fn run(
        &self,
        inputs: &[&Tensor],
        mut body: impl FnMut(&[Tensor]) -> Result<Vec<Tensor>>,
    ) -> Result<Program> {
        let (mut graph, tensors) = self.graph(inputs, &mut body)?;
        grad_mode::blocks(&mut graph);
        Program::new(graph, tensors)
    }

    fn graph(&self, inputs: &[&Tensor], body: &mut Code<'_>) -> Result<(Graph, BTreeMap<String, Tensor>)> {
        crate::operators::ensure_registered()?;
        let first = self.once(inputs, body, &Way { wants_guards: true, ..Way::default() })?;
        let mut narrowed = self.clone();
        let conditions = guards::narrow_ranges(&first.guards, &first.graph, &mut narrowed.symbols)?;
        narrowed.graph_of_runs(inputs, body, first, &conditions)
    }

    /// The graph of code that ran for the example: what is the same when it runs again, as often as needed.
    fn graph_of_runs(
        &self,
        inputs: &[&Tensor],
        body: &mut Code<'_>,
        first: Once,
        conditions: &[Condition],
    ) -> Result<(Graph, BTreeMap<String, Tensor>)> {
        let elements = &first.elements;
        if self.symbols.is_empty() && elements.is_empty() {
            return Ok((first.graph, first.tensors));
        }
        let apart: Vec<usize> = (0..elements.len()).collect();
        // Sizes that are equal in the example may have to be.
        let together: Vec<usize> = elements
            .iter()
            .map(|size| elements.iter().position(|other| other.size == size.size).unwrap_or_default())
            .collect();
        let mut result = self.several(inputs, body, &first, conditions, &apart);
        if result.is_err() && together != apart {
            result = self.several(inputs, body, &first, conditions, &together).or(result);
        }
        if result.is_err() && self.guards_reads && !elements.is_empty() {
            let way = Way { keeps_sizes: true, wants_guards: true, ..Way::default() };
            let first = self.once(inputs, body, &way)?;
            if self.symbols.is_empty() {
                return Ok((first.graph, first.tensors));
            }
            result = self.several(inputs, body, &first, conditions, &[]);
        }
        result
    }

    /// More runs of the code, with other sizes; `equal` has for each size that depends on elements the first one that is the same.
    fn several(
        &self,
        inputs: &[&Tensor],
        body: &mut Code<'_>,
        first: &Once,
        conditions: &[Condition],
        equal: &[usize],
    ) -> Result<(Graph, BTreeMap<String, Tensor>)> {
        let symbols = self.all_symbols(equal);
        let own = self.symbols.len();
        // Where among the symbols the size is that depends on elements.
        let place = |number: usize| {
            own + equal
                .iter()
                .enumerate()
                .take(equal[number])
                .filter(|(place, first)| place == *first)
                .count()
        };
        let mut example = vary::sizes_of_example(&self.symbols, inputs)?;
        let firsts = (0..equal.len()).filter(|number| equal[*number] == *number);
        example.extend(firsts.clone().map(|number| first.elements[number].size));
        let mut sources = vary::sources(&first.graph, &self.symbols);
        sources.extend(firsts.map(|number| first.elements[number].source()));
        let ties = (0..equal.len()).filter(|number| equal[*number] != *number);
        let ties: Vec<_> = ties.map(|number| (first.elements[number].source(), place(number))).collect();
        let keeps_sizes = equal.is_empty() && self.guards_reads;
        let mut runs =
            vec![Run { graph: first.graph.clone(), tensors: first.tensors.clone(), sizes: example.clone() }];
        let mut more = false;
        loop {
            for sizes in vary::other_sizes(&symbols, &example, conditions, more)?.split_off(runs.len() - 1) {
                let examples = vary::examples(&self.symbols, inputs, &sizes)?;
                let planned = (0..equal.len()).map(|number| sizes[place(number)]).collect();
                let way = Way { planned, keeps_sizes, wants_guards: false };
                let run = self.once(&examples.iter().collect::<Vec<_>>(), body, &way);
                // The code runs for the example: what it refuses are sizes that depend on elements, and that it does not expect.
                let run = run.map_err(|error| {
                    if equal.is_empty() { error } else { vary::refused(&symbols, &sizes, &error) }
                })?;
                if run.elements.len() != equal.len() {
                    return Err(vary::refused(
                        &symbols,
                        &sizes,
                        &untraceable("other sizes depend on elements"),
                    ));
                }
                runs.push(Run { graph: run.graph, tensors: run.tensors, sizes });
            }
            match vary::unify(&runs, &symbols, &sources, &ties, &first.guards) {
                Ok(graph) => return Ok((graph, runs.swap_remove(0).tensors)),
                Err(Failure::NoRule(_)) if !more => more = true,
                Err(Failure::NoRule(error) | Failure::Error(error)) => return Err(error),
            }
        }
    }

    /// The sizes that vary, and behind them those that depend on elements, named `u0`, `u1` and so on as torch does.
    fn all_symbols(&self, equal: &[usize]) -> Vec<Symbol> {
        let mut symbols = self.symbols.clone();
        let mut number = 0;
        for _ in equal.iter().enumerate().filter(|(place, first)| place == *first) {
            while symbols.iter().any(|symbol| symbol.name == format!("u{number}")) {
                number += 1;
            }
            let range = Range { min: Some(0), max: None };
            symbols.push(Symbol { name: format!("u{number}"), range, given: range, places: Vec::new() });
        }
        symbols
    }

    /// One run of the code.
    fn once(&self, inputs: &[&Tensor], body: &mut Code<'_>, way: &Way) -> Result<Once> {
        let session = Session::new(self, &Dispatcher::current(), way)?;
        let mut variables = Vec::with_capacity(inputs.len());
        let mut stand_ins = Vec::with_capacity(inputs.len());
        for (index, input) in inputs.iter().enumerate() {
            let name = self.names.get(index).cloned().unwrap_or_else(|| format!("input_{index}"));
            let name = session.unique(&name);
            variables.push(Variable { name: name.clone(), kind: ValueType::from_tensor(input) });
            // Within a batch the code is that of one example.
            let example = vmap::first_example(input)?;
            let input = example.as_ref().unwrap_or(input);
            let copy =
                opgrid_tensor::ops::CloneTensor.call(&input.detach()?, Some(MemoryFormat::Preserve))?;
            let stand_in = session.wrap(name, &copy)?;
            if self.is_below_autograd && input.requires_grad() {
                stand_in.requires_grad_(true)?;
            }
            stand_ins.push(stand_in);
        }
        // What fake tensors have of elements is a size like others, unless the program is to check it.
        let results = if way.keeps_sizes {
            session.within(|| body(&stand_ins))?
        } else {
            session.within(|| fake::with_density(1.0, || body(&stand_ins)))?
        };
        let results: Vec<Argument> =
            results.iter().map(|result| session.argument(result)).collect::<Result<_>>()?;
        let recorded = session.finish();
        let mut graph = Graph::default();
        let mut tensors = BTreeMap::new();
        for (variable, kind, tensor) in recorded.stored {
            if let Some(name) = kind.stored_name() {
                tensors.insert(name.to_owned(), tensor);
            }
            graph.block.parameters.push(variable);
            graph.inputs.push(kind);
        }
        let leaves = |count: usize| Tree::Tuple(vec![Tree::Leaf; count]);
        let single = if results.len() == 1 { Tree::Leaf } else { leaves(results.len()) };
        let arguments = leaves(inputs.len() + self.fixed.len());
        (graph.input_tree, graph.output_tree) =
            (Tree::Tuple(vec![arguments, Tree::Dict(Vec::new())]), single);
        let mut kinds = vec![InputKind::User; variables.len()];
        for (place, name, value) in &self.fixed {
            let place = (*place).min(variables.len());
            let name = session.unique(name);
            variables.insert(place, Variable { name, kind: ValueType::Unknown });
            kinds.insert(place, InputKind::Fixed(value.clone()));
        }
        graph.inputs.extend(kinds);
        graph.outputs = vec![OutputKind::User; results.len()];
        let parameters = std::mem::take(&mut graph.block.parameters).into_iter().chain(variables).collect();
        graph.block = Block { parameters, nodes: recorded.nodes, results };
        Ok(Once { graph, tensors, elements: recorded.element_sizes.found, guards: recorded.guards })
    }
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trace")
            .field("names", &self.names)
            .field("symbols", &self.symbols)
            .finish_non_exhaustive()
    }
}

/// The error of code that does what a program cannot.
#[cold]
pub(crate) fn untraceable(message: impl std::fmt::Display) -> opgrid_core::Error {
    error::argument(format!("the trace cannot go on: {message}"))
}
