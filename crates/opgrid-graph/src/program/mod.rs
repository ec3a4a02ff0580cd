//! Programs ready to run: a graph, its plan, and the tensors that belong to it.

pub(crate) mod compile;
pub(crate) mod effects;
mod fused;
mod inputs;
mod limits;
pub(crate) mod lowering;
mod mapped;
mod memory;
pub(crate) mod numbers;
mod observe;
mod plan;
mod report;
mod reuse;
mod run;
mod scan;
pub(crate) mod target;

use std::collections::BTreeMap;
use std::path::Path;

use opgrid_core::{Dispatcher, Error, ErrorKind, OperatorHandle, Result, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::{autocast, autograd};

use crate::archive::{self, Archive};
use crate::error;
use crate::graph::tree::Tree;
use crate::graph::{Argument, Graph, InputKind, OutputKind};

pub use limits::Limits;
use limits::StepsLeft;
use memory::MemoryPlan;
pub use observe::ExecutedNode;
use observe::{Callback, NoObserver, Observer};
use plan::Plan;
pub(crate) use report::Compilation;
pub use report::{Group as FusedGroup, Report, Unfused};

/// A program that can run: many threads may do so at once, with one set of weights.
///
/// Operators were looked up when the program was made, in the dispatcher that was the thread's then; each node is an ordinary call
/// of one. Parameters do not require gradients until somebody asks them to, so that running records nothing.
///
/// # Examples
///
/// ```
/// use opgrid::Tensor;
/// use opgrid_graph::Program;
///
/// let program = Program::load(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/mlp.pt2"))?;
/// let x = Tensor::zeros(&[5, 8], opgrid::DType::F32, opgrid::Device::CPU)?;
/// let y = &program.run(&[&x])?[0];
/// assert_eq!(y.sizes(), [5, 4]);
/// assert_eq!(program.parameters()[0].0, "0.weight");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Program {
    graph: Graph,
    plan: Plan,
    tensors: BTreeMap<String, Tensor>,
    /// What each parameter of the plan is.
    sources: Vec<Source>,
    memory: MemoryPlan,
    /// What the results of the plan do besides being returned.
    copy: Option<OperatorHandle>,
    limits: Limits,
    /// What fusing left, if the program was compiled.
    compilation: Compilation,
}

/// Where a parameter of the plan comes from.
#[derive(Debug)]
enum Source {
    Caller,
    Program(Value),
}

impl Program {
    /// Reads and plans a file that `torch.export.save` wrote. The weights are copied into memory.
    ///
    /// # Errors
    ///
    /// As [`read`](crate::read()) and [`new`](Self::new).
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let Archive { graph, tensors, .. } = archive::read(path)?;
        Self::new(graph, tensors).map_err(|error| error.within(path.display()))
    }

    /// Plans a graph. `tensors` are its parameters, buffers and constants by name.
    ///
    /// # Errors
    ///
    /// What [`check`](crate::check()) finds; a tensor that is missing, or whose dtype or sizes are not those of the graph.
    pub fn new(graph: Graph, tensors: BTreeMap<String, Tensor>) -> Result<Self> {
        crate::operators::ensure_registered()?;
        let dispatcher = Dispatcher::current();
        let (plan, mut errors) = compile::compile(&graph, &dispatcher);
        if !errors.is_empty() {
            let first = errors.remove(0);
            let more = if errors.is_empty() { String::new() } else { format!("; and {} more", errors.len()) };
            return Err(Error::new(first.kind(), format!("{}{more}", first.message())));
        }
        if graph.targets().contains_key("higher_order::wrap_with_autocast") {
            match autocast::install(&dispatcher) {
                Ok(layer) => layer.keep(),
                // Somebody else has installed it.
                Err(error) if error.kind() == ErrorKind::Duplicate => {}
                Err(error) => return Err(error),
            }
        }
        let sources = sources(&graph, &tensors)?;
        expect_mutated(&graph, &tensors)?;
        let memory = MemoryPlan::new(&graph.block, &plan, &dispatcher);
        // By name and only where it is needed, so that a program links what its model calls.
        let writes = graph.outputs.iter().any(|kind| {
            matches!(
                kind,
                OutputKind::BufferMutation(_)
                    | OutputKind::ParameterMutation(_)
                    | OutputKind::InputMutation(_)
            )
        });
        let copy = writes.then(|| dispatcher.find("aten::copy_")).transpose()?;
        Ok(Self {
            graph,
            plan,
            tensors,
            sources,
            memory,
            copy,
            limits: Limits::default(),
            compilation: Compilation::default(),
        })
    }

    /// Sets how far a run may go.
    ///
    /// # Errors
    ///
    /// Blocks are nested deeper than they may be, or the limit of depth is above 32.
    pub fn with_limits(mut self, limits: Limits) -> Result<Self> {
        limits.expect_depth(&self.plan)?;
        self.limits = limits;
        Ok(self)
    }

    /// Writes the program with the tensors that it has now to a file that `torch.export.load` and [`load`](Self::load) take. A file
    /// at `path` is replaced, whole or not at all.
    ///
    /// # Errors
    ///
    /// As [`Archive::write`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_graph::Program;
    ///
    /// let program = Program::load(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/mlp.pt2"))?;
    /// program.parameters()[0].1.fill_(0.5)?;
    /// let path = std::env::temp_dir().join(format!("opgrid-save-{}.pt2", std::process::id()));
    /// program.save(&path)?;
    /// let again = Program::load(&path)?;
    /// assert_eq!(again.graph(), program.graph());
    /// assert_eq!(again.parameters()[0].1.to_vec::<f32>()?, [0.5; 128]);
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        archive::write::write(path.as_ref(), &self.graph, &self.tensors, archive::WRITER)
    }

    /// Runs the program on tensors: what the caller of the exported module gave, flattened, without what cannot vary.
    ///
    /// Buffers and inputs that the program writes are written.
    ///
    /// # Errors
    ///
    /// Inputs of other kinds, dtypes or sizes than the program was exported for; results that are no tensors, for which
    /// [`run_values`](Self::run_values) is; those of the operators, behind the node's number, name and line.
    pub fn run(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let results = self.run_values(inputs.iter().map(|input| Value::from(*input)).collect())?;
        let tensor = |(index, value): (usize, Value)| match value {
            Value::Tensor(tensor) => Tensor::try_from(tensor),
            other => {
                let found = other.borrow().value_type();
                let found = found.python_name();
                Err(error::argument(format!(
                    "result {index} is {found}, expected a tensor; call run_values for it"
                )))
            }
        };
        results.into_iter().enumerate().map(tensor).collect()
    }

    /// As [`run`](Self::run), with values of any kind.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_values(&self, inputs: Vec<Value>) -> Result<Vec<Value>> {
        self.run_with(inputs, &mut NoObserver)
    }

    /// As [`run_values`](Self::run_values), and shows each node to `look` after it has run: to print intermediate results, to show
    /// how far a run is, or to cancel it, by an error.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), and those of `look`; buffers and inputs are not written then, unless a node writes them in place.
    pub fn observe(
        &self,
        inputs: Vec<Value>,
        callback: impl FnMut(ExecutedNode<'_>) -> Result<()>,
    ) -> Result<Vec<Value>> {
        self.run_with(inputs, &mut Callback::<_, false>(callback))
    }

    /// As [`observe`](Self::observe), and says of each call [which kernels ran and why](ExecutedNode::explanation).
    ///
    /// # Errors
    ///
    /// As [`observe`](Self::observe).
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::{Tensor, Value};
    /// use opgrid_graph::Program;
    ///
    /// let program = Program::load(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/mlp.pt2"))?;
    /// let x = Tensor::zeros(&[2, 8], opgrid::DType::F32, opgrid::Device::CPU)?;
    /// let mut text = String::new();
    /// program.explain(vec![Value::from(&x)], |ran| {
    ///     text += &ran.explanation().unwrap().to_string();
    ///     Ok(())
    /// })?;
    /// assert!(text.contains("aten::relu"), "{text}");
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn explain(
        &self,
        inputs: Vec<Value>,
        callback: impl FnMut(ExecutedNode<'_>) -> Result<()>,
    ) -> Result<Vec<Value>> {
        self.run_with(inputs, &mut Callback::<_, true>(callback))
    }

    fn run_with(&self, inputs: Vec<Value>, observer: &mut impl Observer) -> Result<Vec<Value>> {
        let symbols = inputs::check(&self.graph, &inputs)?;
        // What is kept for gradients would hold the places of the next run.
        let records = autograd::is_grad_enabled() && self.tensors.values().any(Tensor::requires_grad);
        let ready = if self.memory.is_empty() || records { None } else { Some(self.memory.take(&symbols)?) };
        let mut given = inputs.iter();
        let values = self.sources.iter().map(|source| match source {
            Source::Caller => given.next().cloned().unwrap_or_default(),
            Source::Program(value) => value.clone(),
        });
        let mut left = StepsLeft::new(self.limits);
        let results = run::run(&self.plan, values.collect(), ready.as_ref(), observer, &mut left, 0)?;
        if let Some(ready) = ready {
            self.memory.keep(ready);
        }
        self.write_back(&inputs, &results)?;
        let returned = results.into_iter().zip(&self.graph.outputs).filter(|(_, kind)| kind.is_returned());
        Ok(returned.map(|(value, _)| value).collect())
    }

    /// As [`run_values`](Self::run_values), with each value under the name of its input, in any order.
    ///
    /// # Errors
    ///
    /// A name that no input has, or that is given twice or not at all; else as [`run`](Self::run).
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::Tensor;
    /// use opgrid_graph::Program;
    ///
    /// let program = Program::load(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/mlp.pt2"))?;
    /// let x = Tensor::zeros(&[5, 8], opgrid::DType::F32, opgrid::Device::CPU)?;
    /// assert_eq!(program.input_names(), ["input"]);
    /// assert_eq!(program.run_named(vec![("input", (&x).into())])?.len(), 1);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn run_named(&self, inputs: Vec<(&str, Value)>) -> Result<Vec<Value>> {
        self.run_values(self.in_order(inputs)?)
    }

    /// Brings values with the names of inputs into the order that [`run_values`](Self::run_values) takes.
    ///
    /// # Errors
    ///
    /// A name that no input has, or that is given twice or not at all.
    pub fn in_order(&self, inputs: Vec<(&str, Value)>) -> Result<Vec<Value>> {
        let names = self.input_names();
        let mut values: Vec<Option<Value>> = vec![None; names.len()];
        for (name, value) in inputs {
            let Some(place) = names.iter().position(|known| *known == name) else {
                return Err(error::argument(format!(
                    "no input is named `{name}`, expected one of {}",
                    error::quoted(names)
                )));
            };
            if values[place].replace(value).is_some() {
                return Err(error::argument(format!("input `{name}` is given twice, expected once")));
            }
        }
        let missing = |(value, name): (Option<Value>, &str)| {
            value
                .ok_or_else(|| error::argument(format!("input `{name}` is missing, expected a value for it")))
        };
        values.into_iter().zip(names).map(missing).collect()
    }

    /// Replaces the trees, which say how the caller's arguments and the results are nested.
    ///
    /// # Errors
    ///
    /// A tree with another number of leaves than the program has inputs or results.
    pub fn with_trees(mut self, inputs: Tree, results: Tree) -> Result<Self> {
        let is_given = |kind: &&InputKind| matches!(kind, InputKind::User | InputKind::Fixed(_));
        let counts = [
            ("arguments", inputs.leaves(), self.graph.inputs.iter().filter(is_given).count()),
            (
                "results",
                results.leaves(),
                self.graph.outputs.iter().filter(|kind| kind.is_returned()).count(),
            ),
        ];
        for (what, found, expected) in counts {
            if found != expected {
                return Err(error::argument(format!(
                    "the tree of {what} has {found} leaves, expected {expected}"
                )));
            }
        }
        (self.graph.input_tree, self.graph.output_tree) = (inputs, results);
        Ok(self)
    }

    /// How much memory is planned for the results of nodes when the program runs on these inputs: bytes of one block, and how many values
    /// share it. Small values, results, and what kernels need for themselves are not part of it.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run) for inputs of other kinds, dtypes or sizes; there is no such memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use opgrid::{DType, Device, Tensor, Value};
    /// use opgrid_graph::Program;
    ///
    /// let text = "graph(%x: float32[100, 1000] = input) {
    ///     %a: float32[100, 1000] = aten::exp(%x)
    ///     %b: float32[100, 1000] = aten::mul.Tensor(%a, %x)
    ///     %c: float32[100] = aten::sum.dim_IntList(%b, [1])
    ///     return %c
    /// }";
    /// let program = Program::new(text.parse()?, BTreeMap::new())?;
    /// let x = Tensor::zeros(&[100, 1000], DType::F32, Device::CPU)?;
    /// // The product takes the place of the exponential.
    /// assert_eq!(program.planned_memory(&[Value::from(&x)])?, (400_000, 1));
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn planned_memory(&self, inputs: &[Value]) -> Result<(usize, usize)> {
        let ready = self.memory.take(&inputs::check(&self.graph, inputs)?)?;
        let size = ready.size();
        self.memory.keep(ready);
        Ok(size)
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// How far a run may go.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Notes what fusing left.
    pub(crate) fn with_compilation(self, compilation: Compilation) -> Self {
        Self { compilation, ..self }
    }

    /// Parameters, buffers and constants by name.
    pub(crate) fn tensors(&self) -> &BTreeMap<String, Tensor> {
        &self.tensors
    }

    /// The names of the inputs that the caller gives, in their order.
    pub fn input_names(&self) -> Vec<&str> {
        self.graph.user_inputs().map(|input| input.name.as_str()).collect()
    }

    /// The parameters by name, in the order of the graph. They are those that the program uses: what is written to them counts.
    pub fn parameters(&self) -> Vec<(String, Tensor)> {
        self.stored(|kind| matches!(kind, InputKind::Parameter(_)))
    }

    /// The buffers by name, in the order of the graph.
    pub fn buffers(&self) -> Vec<(String, Tensor)> {
        self.stored(|kind| matches!(kind, InputKind::Buffer { .. }))
    }

    /// The constants by name, in the order of the graph.
    pub fn constants(&self) -> Vec<(String, Tensor)> {
        self.stored(|kind| matches!(kind, InputKind::Constant(_)))
    }

    fn stored(&self, is_meant: impl Fn(&InputKind) -> bool) -> Vec<(String, Tensor)> {
        let meant = self.graph.inputs.iter().filter(|kind| is_meant(kind)).filter_map(InputKind::stored_name);
        meant.filter_map(|name| Some((name.to_owned(), self.tensors.get(name)?.clone()))).collect()
    }

    /// Writes new values of buffers, parameters and inputs to them.
    fn write_back(&self, inputs: &[Value], results: &[Value]) -> Result<()> {
        for (result, kind) in results.iter().zip(&self.graph.outputs) {
            let target = match kind {
                OutputKind::BufferMutation(name) | OutputKind::ParameterMutation(name) => {
                    self.tensors.get(name).map(Value::from)
                }
                OutputKind::InputMutation(name) => {
                    let place = self.graph.user_inputs().position(|input| input.name == *name);
                    place.and_then(|place| inputs.get(place)).cloned()
                }
                _ => continue,
            };
            let target = target.unwrap_or_default();
            if let Some(copy) = self.copy.as_ref().filter(|_| target != *result) {
                copy.call_values(vec![target, result.clone(), Value::Bool(false)])?;
            }
        }
        Ok(())
    }
}

/// Finds what each parameter of the block is given, and that the program's tensors are what the graph says.
fn sources(graph: &Graph, tensors: &BTreeMap<String, Tensor>) -> Result<Vec<Source>> {
    let one = |(variable, kind): (&crate::graph::Variable, &InputKind)| {
        if let InputKind::Fixed(value) = kind {
            return Ok(Source::Program(fixed(value)?));
        }
        let Some(tensor) = kind.tensor(variable, tensors)? else { return Ok(Source::Caller) };
        Ok(Source::Program(Value::from(tensor)))
    };
    graph.block.parameters.iter().zip(&graph.inputs).map(one).collect()
}

/// A value that the caller cannot vary.
fn fixed(argument: &Argument) -> Result<Value> {
    if let Argument::List(items) = argument {
        return compile::list(None, items.iter().map(fixed).collect::<Result<_>>()?);
    }
    argument.constant().ok_or_else(|| {
        error::value("an input is fixed to a value of the graph, expected a number, a text or nothing")
    })
}

/// Finds that what the program writes is there.
fn expect_mutated(graph: &Graph, tensors: &BTreeMap<String, Tensor>) -> Result<()> {
    for kind in &graph.outputs {
        let (is_there, name) = match kind {
            OutputKind::BufferMutation(name) | OutputKind::ParameterMutation(name) => {
                (tensors.contains_key(name), name)
            }
            OutputKind::InputMutation(name) => (graph.user_inputs().any(|input| input.name == *name), name),
            _ => continue,
        };
        if !is_there {
            return Err(error::file(format!(
                "the program writes `{name}`, which it does not have; save it anew"
            )));
        }
    }
    Ok(())
}
