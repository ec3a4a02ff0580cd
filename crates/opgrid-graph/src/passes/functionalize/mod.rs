//! Views and writes as pure operators, with a copy back at the end.
//!
//! Every value that may share memory knows what it is a view of, and how it was taken. A call that writes becomes the call that computes
//! the same without ([`forms`](opgrid_tensor::layers::functional::forms)); its result is put back into what the written value is a view of, up to the tensor that owns the memory
//! ([`views`]). Other views of that memory are taken again where somebody reads them. Which results are views is not looked up by names:
//! the program runs on tensors without memory, and those that share a storage are views.
//!
//! New values lie in memory as those that they replace, so that views of them are taken as before: where a pure operator gives other
//! strides or another dtype, `aten::copy` gives those of the value that is written.

mod blocks;
mod views;

use std::collections::{BTreeMap, BTreeSet};

use opgrid_array::Geometry;
use opgrid_core::schema::{FunctionSchema, Type};
use opgrid_core::{DType, Dispatcher, OperatorHandle, Result, Scalar, TensorType as _, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::functional::forms::{fresh, gives_views, pure_form, source, written_places};

use super::remove_dead_code;
use crate::archive::Archive;
use crate::error;
use crate::graph::types::{TensorType, ValueType};
use crate::graph::{Argument, Block, InputKind, Node, Outcome, OutputKind, Source, Variable};
use crate::meta::{Meta, assignments, shares_memory};
use crate::program::target::{Target, resolve};

/// Turns writes into pure operators. What the program writes of its own tensors and of its inputs becomes results that are copied back
/// when it has run, as in the graphs of torch.export.
///
/// Results have the elements that they had, in memory of their own where they shared that of a written tensor. A constant that is
/// written becomes a buffer that is not saved. What the caller gives is taken to be row-major and not to share memory, as in torch.export:
/// whether `reshape` gives a view depends on it.
///
/// # Errors
///
/// An operator that is not there; a write for which there is no pure operator, such as `set_`; memory that is written and shared in a way
/// that no call of the graph shows: by two tensors of the program, through the result of a block, or in a loop that writes what it is given.
///
/// # Examples
///
/// ```
/// use opgrid_graph::{Archive, Graph, passes};
/// # let _ = opgrid::ops::ensure_registered();
/// let graph: Graph = r#"graph(%x: float32[2, 3] = input) takes ((*,), {}) gives * {
///   %row: float32[3] = aten::select.int(%x, 0, 1)
///   %_: float32[3] = aten::add_.Tensor(%row, 1)
///   return %x
/// }"#.parse()?;
/// let graph = passes::functionalize(Archive::new(graph, [].into()))?.graph;
/// let targets: Vec<_> = graph.block.nodes.iter().map(|node| node.target.as_str()).collect();
/// assert_eq!(targets, ["aten::select.int", "aten::add.Tensor", "aten::select_scatter"]);
/// assert!(graph.to_string().contains(r#"return input "x" = %x_1, %x_1"#), "{graph}");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn functionalize(mut archive: Archive) -> Result<Archive> {
    crate::operators::ensure_registered()?;
    let dispatcher = Dispatcher::current();
    let sizes = assignments(&archive.graph.symbols, 0).swap_remove(0);
    let meta = Meta::new(&dispatcher, &archive.graph, &archive.tensors, sizes)?;
    let mut pass = Functionalizer::new(&dispatcher, meta, &archive.graph.block)?;
    let nodes = std::mem::take(&mut archive.graph.block.nodes);
    for node in nodes {
        pass.node(node)?;
    }
    for result in &mut archive.graph.block.results {
        pass.rewrite(result)?;
    }
    let written = pass.written_parameters();
    expect_unshared(&archive, &written)?;
    archive.graph.block.nodes = pass.nodes;
    let (mut results, mut kinds) = (Vec::new(), Vec::new());
    for (place, value) in written {
        let input = &mut archive.graph.inputs[place];
        let kind = match input.clone() {
            InputKind::Parameter(name) => OutputKind::ParameterMutation(name),
            InputKind::Buffer { name, .. } => OutputKind::BufferMutation(name),
            InputKind::Constant(name) => {
                *input = InputKind::Buffer { name: name.clone(), persistent: false };
                OutputKind::BufferMutation(name)
            }
            _ => OutputKind::InputMutation(archive.graph.block.parameters[place].name.clone()),
        };
        // What the program gave a new value at its end keeps that one.
        if !archive.graph.outputs.contains(&kind) {
            results.push(Argument::Value(value));
            kinds.push(kind);
        }
    }
    archive.graph.block.results.splice(0..0, results);
    archive.graph.outputs.splice(0..0, kinds);
    archive.graph = remove_dead_code(archive.graph)?;
    Ok(archive)
}

/// Makes sure that no written tensor shares memory with another one of the program.
fn expect_unshared(archive: &Archive, written: &[(usize, String)]) -> Result<()> {
    let tensor = |place: usize| {
        let name = archive.graph.inputs[place].stored_name()?;
        Some((name, archive.tensors.get(name)?))
    };
    for (place, _) in written {
        let Some((name, own)) = tensor(*place) else { continue };
        let others = (0..archive.graph.inputs.len()).filter(|other| other != place).filter_map(tensor);
        if let Some((other, _)) = others.into_iter().find(|(_, other)| shares_memory(own, other)) {
            return Err(error::unsupported(format!(
                "the program writes `{name}`, whose memory is that of `{other}`, too; expected tensors with memory of their own: \
                 clone one of them before the export"
            )));
        }
    }
    Ok(())
}

/// A value of the program that may share memory.
struct Entry {
    /// Its value in the new graph, which is outdated where the owner of its memory has another version.
    name: String,
    kind: ValueType,
    layout: Option<TensorLayout>,
    version: usize,
    origin: Origin,
}

/// How a tensor of the program lies in memory.
#[derive(Clone, PartialEq)]
struct TensorLayout {
    dtype: DType,
    geometry: Geometry,
}

enum Origin {
    /// It owns its memory.
    Own,
    /// It is a view of another value.
    View { of: usize, step: Box<Step> },
    /// It shares the memory of another value in a way that nobody knows.
    Shared { of: usize },
}

/// How a view is taken.
#[derive(Clone)]
struct Step {
    /// The call, whose arguments are values of the new graph.
    node: Node,
    /// Which argument is viewed.
    place: Place,
    /// Which result is the view, and which element where that is a list.
    result: (usize, Option<usize>),
    /// Whether the view is all of the value, as it lies.
    is_whole: bool,
}

/// The place of an argument, and of an element where that is a list.
#[derive(Clone)]
struct Place {
    name: Option<String>,
    index: usize,
    item: Option<usize>,
}

struct Functionalizer {
    dispatcher: Dispatcher,
    /// The values of the program as it is, without memory.
    original: Meta,
    /// The values of the new graph.
    pure: Meta,
    names: BTreeSet<String>,
    nodes: Vec<Node>,
    entries: Vec<Entry>,
    /// The entries of the program's values.
    known: BTreeMap<String, usize>,
    /// How many parameters the block has, and the entries of those that are tensors.
    parameters: Vec<Option<usize>>,
    /// Where the call stood that is rewritten.
    source: Source,
}

impl Functionalizer {
    /// The parameters of a block, whose values `meta` has.
    fn new(dispatcher: &Dispatcher, meta: Meta, block: &Block) -> Result<Self> {
        let results = block.nodes.iter().flat_map(Node::variables);
        let names = block.parameters.iter().chain(results).map(|variable| variable.name.clone()).collect();
        let mut pass = Self {
            dispatcher: dispatcher.clone(),
            pure: meta.clone(),
            original: meta,
            names,
            nodes: Vec::with_capacity(block.nodes.len()),
            entries: Vec::new(),
            known: BTreeMap::new(),
            parameters: Vec::with_capacity(block.parameters.len()),
            source: Source::default(),
        };
        for variable in &block.parameters {
            let is_tensor = matches!(variable.kind, ValueType::Tensor(_))
                || pass.original.tensor(&variable.name).is_some();
            let entry = is_tensor.then(|| pass.define(variable, Origin::Own));
            pass.parameters.push(entry);
        }
        Ok(pass)
    }

    /// Takes up a tensor of the program that has its own name in the new graph.
    fn define(&mut self, variable: &Variable, origin: Origin) -> usize {
        let version = match origin {
            Origin::Own => 0,
            Origin::View { of, .. } | Origin::Shared { of } => self.version(of),
        };
        let layout = self.layout(&variable.name);
        let (name, kind) = (variable.name.clone(), variable.kind.clone());
        self.entries.push(Entry { name, kind, layout, version, origin });
        self.known.insert(variable.name.clone(), self.entries.len() - 1);
        self.entries.len() - 1
    }

    fn layout(&self, name: &str) -> Option<TensorLayout> {
        let tensor = self.original.tensor(name)?;
        let spec = tensor.spec().ok()?;
        Some(TensorLayout { dtype: spec.dtype(), geometry: spec.geometry().clone() })
    }

    /// The entry that owns the memory.
    fn root(&self, mut entry: usize) -> usize {
        while let Origin::View { of, .. } | Origin::Shared { of } = self.entries[entry].origin {
            entry = of;
        }
        entry
    }

    /// How often the memory was written.
    fn version(&self, entry: usize) -> usize {
        self.entries[self.root(entry)].version
    }

    /// The parameters of the block that were written, with the names of their new values.
    fn written_parameters(&self) -> Vec<(usize, String)> {
        let entries = self.parameters.iter().enumerate();
        let written = entries.filter_map(|(place, entry)| {
            let entry = &self.entries[(*entry)?];
            (entry.version > 0).then(|| (place, entry.name.clone()))
        });
        written.collect()
    }

    /// A name that no value has.
    fn unique(&mut self, wanted: &str) -> String {
        let mut number = 1u64;
        loop {
            let name = format!("{wanted}_{number}");
            if self.names.insert(name.clone()) {
                return name;
            }
            number += 1;
        }
    }

    /// Adds a node to the new graph.
    fn push(&mut self, node: Node) {
        self.pure.run(&node);
        self.nodes.push(node);
    }

    /// Adds a call with one result, and gives the name of that.
    fn emit(&mut self, target: &str, positional: Vec<Argument>, wanted: &str, kind: ValueType) -> String {
        let name = self.unique(wanted);
        let results = vec![Outcome::One(Variable { name: name.clone(), kind })];
        let source = self.source.clone();
        self.push(Node { target: target.to_owned(), positional, named: Vec::new(), results, source });
        name
    }

    /// Lets an argument refer to the values that hold now.
    fn rewrite(&mut self, argument: &mut Argument) -> Result<()> {
        match argument {
            Argument::Value(name) => {
                if let Some(entry) = self.known.get(name.as_str()) {
                    *name = self.current(*entry)?;
                }
            }
            Argument::List(items) => items.iter_mut().try_for_each(|item| self.rewrite(item))?,
            _ => {}
        }
        Ok(())
    }

    /// The name of the value that an entry has now. Views are taken again where their memory was written.
    fn current(&mut self, entry: usize) -> Result<String> {
        let version = self.version(entry);
        let mut outdated = Vec::new();
        let mut at = entry;
        while self.entries[at].version != version {
            match &self.entries[at].origin {
                Origin::View { of, .. } => {
                    outdated.push(at);
                    at = *of;
                }
                // The owner always has the version of its memory.
                Origin::Own => break,
                Origin::Shared { .. } => return Err(shared(&self.entries[at].name)),
            }
        }
        let mut value = self.entries[at].name.clone();
        for entry in outdated.into_iter().rev() {
            if let Origin::View { step, .. } = &self.entries[entry].origin {
                value = self.view(&step.clone(), value);
            }
            let entry = &mut self.entries[entry];
            (entry.version, entry.name) = (version, value.clone());
        }
        Ok(value)
    }

    /// Gives an entry a new value: what it is a view of gets one in which the view has it.
    fn write(&mut self, entry: usize, value: String) -> Result<()> {
        let mut value = value;
        let mut changed = Vec::new();
        let mut at = entry;
        loop {
            changed.push((at, value.clone()));
            match &self.entries[at].origin {
                Origin::Own => break,
                Origin::Shared { .. } => return Err(shared(&self.entries[at].name)),
                Origin::View { of, step } => {
                    let (of, step) = (*of, step.clone());
                    if !step.is_whole {
                        let whole = self.current(of)?;
                        value = self.inverse(&step, at, of, &whole, value)?;
                        value = self.as_before(of, &whole, value);
                    }
                    at = of;
                }
            }
        }
        let version = self.entries[at].version + 1;
        for (entry, value) in changed {
            let entry = &mut self.entries[entry];
            (entry.version, entry.name) = (version, value);
        }
        Ok(())
    }

    /// The value in dtype, sizes and strides of the entry that gets it.
    fn as_before(&mut self, entry: usize, before: &str, value: String) -> String {
        let layout = self.entries[entry].layout.as_ref();
        let found = self.pure.tensor(&value).and_then(|tensor| tensor.spec().ok());
        let is_same = |layout: &TensorLayout| {
            found.is_some_and(|found| {
                found.dtype() == layout.dtype
                    && found.sizes() == layout.geometry.sizes()
                    && (found.strides() == layout.geometry.strides() || found.numel() == 0)
            })
        };
        if layout.is_some_and(is_same) {
            return value;
        }
        let kind = self.entries[entry].kind.clone();
        let given = vec![Argument::Value(before.to_owned()), Argument::Value(value.clone())];
        self.emit("aten::copy", given, &value, kind)
    }

    fn node(&mut self, mut node: Node) -> Result<()> {
        self.source = node.source.clone();
        let operator = match resolve(&self.dispatcher, &node.target)? {
            Target::Operator(operator) => operator,
            Target::Number(_) => {
                self.original.run(&node);
                node.arguments_mut().try_for_each(|argument| self.rewrite(argument))?;
                self.push(node);
                return Ok(());
            }
            Target::Higher(higher) => return self.higher(higher, node),
        };
        let subject = node.target.clone();
        let written = match statistics(&node, &operator)? {
            Some(node) => {
                let operator = self.dispatcher.find(&node.target)?;
                self.writing(node, &operator)
            }
            None if operator.schema()?.is_mutable() => self.writing(node, &operator),
            None => self.reading(node, &operator),
        };
        written.map_err(
            |error| if error.message().starts_with(&subject) { error } else { error.within(subject) },
        )
    }

    /// A call that writes nothing. Its results may be views.
    fn reading(&mut self, node: Node, operator: &OperatorHandle) -> Result<()> {
        let schema = operator.schema()?;
        let is_known = matches!(self.original.run(&node), crate::meta::Answer::Results(_));
        let mut pure = node.clone();
        pure.arguments_mut().try_for_each(|argument| self.rewrite(argument))?;
        self.push(pure.clone());
        let places = places(&node, &schema);
        for (index, outcome) in node.results.iter().enumerate() {
            let is_list = matches!(outcome, Outcome::List(_));
            for (item, variable) in outcome.variables().iter().enumerate() {
                let is_tensor = matches!(variable.kind, ValueType::Tensor(_))
                    || self.original.tensor(&variable.name).is_some();
                if !is_tensor {
                    continue;
                }
                let declared = schema.returns.get(index).and_then(|given| given.alias.as_ref());
                let is_declared = |place: &Place| {
                    let argument =
                        schema.arguments.get(place.index).and_then(|argument| argument.alias.as_ref());
                    argument
                        .zip(declared)
                        .is_some_and(|(a, b)| a.before.iter().any(|set| b.before.contains(set)))
                };
                let mut viewed: Vec<(&Place, usize)> = Vec::new();
                for (place, name) in &places {
                    let Some(entry) = self.known.get(*name) else { continue };
                    let is_shared = if is_known {
                        let tensors = self.original.tensor(name).zip(self.original.tensor(&variable.name));
                        tensors.is_some_and(|(a, b)| shares_memory(a, b))
                    } else {
                        is_declared(place)
                    };
                    if is_shared {
                        viewed.push((place, *entry));
                    }
                }
                let chosen = viewed.iter().find(|(place, _)| is_declared(place)).or(viewed.first());
                let origin = match chosen {
                    None => Origin::Own,
                    Some((place, of)) => {
                        let layout = self.layout(&variable.name);
                        let is_whole = layout.is_some() && layout == self.entries[*of].layout;
                        let result = (index, is_list.then_some(item));
                        let step = Step { node: pure.clone(), place: (*place).clone(), result, is_whole };
                        Origin::View { of: *of, step: Box::new(step) }
                    }
                };
                self.define(variable, origin);
            }
        }
        Ok(())
    }

    /// A call that writes arguments.
    fn writing(&mut self, node: Node, operator: &OperatorHandle) -> Result<()> {
        let schema = operator.schema()?;
        let form = match pure_form(&self.dispatcher, operator) {
            Ok(form) => form,
            // A composite calls others, which may have one.
            Err(error) => return if self.expand_composite(&node)? { Ok(()) } else { Err(error) },
        };
        let binder = operator.binder()?;
        let mut sources: Vec<Option<&Argument>> = vec![None; binder.count()];
        let named = node.named.iter().map(|(name, argument)| (name, argument));
        binder
            .place(node.positional.iter(), named, &mut sources)
            .map_err(|misplaced| binder.refusal(&misplaced))?;
        let written = written_places(&schema);
        let entries: Vec<Vec<usize>> = written
            .iter()
            .map(|index| sources[*index].map_or_else(|| Ok(Vec::new()), |given| self.entries_of(given)))
            .collect::<Result<_>>()?;
        // What is written twice has the second result of one after the other, which no call without writes gives.
        let roots: BTreeSet<usize> = entries.iter().flatten().map(|entry| self.root(*entry)).collect();
        if roots.len() < entries.iter().flatten().count() {
            if self.expand_composite(&node)? {
                return Ok(());
            }
            let message =
                format!("{} writes one memory twice; expected tensors with memory of their own", node.target);
            return Err(error::unsupported(message));
        }
        let before: Vec<Option<TensorLayout>> =
            entries.iter().flatten().map(|entry| self.entries[*entry].layout.clone()).collect();

        // The pure call takes what the written one took, as it is before.
        let mut pure = Node { target: form.target.clone(), source: node.source.clone(), ..Node::default() };
        for argument in &form.schema.arguments {
            let index = source(&schema, &form.schema, argument);
            let given = match index
                .map(|index| (sources[index], &schema.arguments[index], binder.default(index)))
            {
                Some((Some(given), ..)) => Some(given.clone()),
                Some((None, known, default)) if known.default != argument.default => Some(constant(default)?),
                Some(_) => None,
                None => (argument.name == "dtype")
                    .then(|| entries.iter().flatten().next())
                    .flatten()
                    .and_then(|entry| self.entries[*entry].layout.as_ref())
                    .map(|layout| Argument::DType(layout.dtype)),
            };
            let Some(mut given) = given else { continue };
            self.rewrite(&mut given)?;
            let is_next = !argument.kwarg_only
                && pure.named.is_empty()
                && form.schema.argument_index(&argument.name) == Some(pure.positional.len());
            if is_next {
                pure.positional.push(given);
            } else {
                pure.named.push((argument.name.clone(), given));
            }
        }
        let fresh: Vec<usize> = fresh(&schema).collect();
        let outcomes = fresh.iter().map(|index| node.results.get(*index).cloned().unwrap_or(Outcome::Unused));
        pure.results.extend(outcomes);
        let mut values: Vec<Vec<String>> = Vec::new();
        for (index, entries) in written.iter().zip(&entries) {
            let is_list = matches!(schema.arguments[*index].real_type.without_optional(), Type::List(_));
            let mut variables = Vec::with_capacity(entries.len());
            for entry in entries {
                let (wanted, kind) = (self.entries[*entry].name.clone(), self.entries[*entry].kind.clone());
                variables.push(Variable { name: self.unique(&wanted), kind });
            }
            values.push(variables.iter().map(|variable| variable.name.clone()).collect());
            pure.results.push(match variables.pop() {
                Some(variable) if !is_list => Outcome::One(variable),
                Some(last) => {
                    variables.push(last);
                    Outcome::List(variables)
                }
                None => Outcome::Unused,
            });
        }
        // The program's own call may change sizes and strides of what it writes.
        self.original.run(&node);
        self.in_dtype_of_outputs(&mut pure, &form.schema, &entries);
        self.declare_results(&mut pure);
        let step = pure.clone();
        self.push(pure);
        let after = entries.iter().flatten().zip(before);
        let is_reshaped = after.clone().any(|(entry, before)| {
            let value = self.known.iter().find(|(_, known)| *known == entry).map(|(name, _)| name.as_str());
            value.and_then(|name| self.layout(name)) != before
        });
        if is_reshaped || gives_views(&form.schema) {
            return self.reshaping(&node, step, &form.schema, &entries);
        }
        for (entry, value) in entries.iter().flatten().zip(values.into_iter().flatten()) {
            let before = self.current(*entry)?;
            let value = self.as_before(*entry, &before, value);
            self.write(*entry, value)?;
        }
        self.alias_results(&node, &schema, &sources);
        // Results beside the written ones are new.
        for index in fresh {
            let Some(outcome) = node.results.get(index) else { continue };
            for variable in outcome.variables() {
                self.define(variable, Origin::Own);
            }
        }
        Ok(())
    }

    /// Rewrites what a composite that writes calls; false where it is none, or depends on sizes that vary.
    fn expand_composite(&mut self, node: &Node) -> Result<bool> {
        let expanded =
            super::decompose::expand_composite(&self.dispatcher, &mut self.names, node, &self.original)?;
        let Some((nodes, others)) = expanded else { return Ok(false) };
        let known = numbers(node);
        if !self.original.sizes().is_empty() && nodes.iter().any(|inner| !numbers(inner).is_subset(&known)) {
            return Ok(false);
        }
        for inner in nodes {
            self.node(inner)?;
        }
        for (result, other) in others {
            if let Some(entry) = self.known.get(&other) {
                self.known.insert(result, *entry);
            }
        }
        Ok(true)
    }

    /// A call that gives a tensor other sizes or strides, as `unsqueeze_`: from here on the tensor is a view of what it was.
    fn reshaping(
        &mut self,
        node: &Node,
        step: Node,
        pure: &FunctionSchema,
        entries: &[Vec<usize>],
    ) -> Result<()> {
        let written = entries.concat();
        let ([of], true) = (written.as_slice(), gives_views(pure)) else {
            return Err(error::unsupported(format!(
                "{}: it changes the sizes or the memory of a tensor in place, expected a call that gives a new one",
                node.target
            )));
        };
        let of = *of;
        let [Outcome::One(taken)] = step.results.as_slice() else {
            return Err(error::unsupported(format!("{}: expected one result", node.target)));
        };
        let taken = taken.clone();
        let place = Place { name: None, index: 0, item: None };
        let step = Step { node: step, place, result: (0, None), is_whole: false };
        let names: Vec<String> =
            self.known.iter().filter(|(_, known)| **known == of).map(|(name, _)| name.clone()).collect();
        let layout = names.first().and_then(|name| self.layout(name));
        let version = self.version(of);
        let is_whole = layout == self.entries[of].layout;
        let origin = Origin::View { of, step: Box::new(Step { is_whole, ..step }) };
        self.entries.push(Entry { name: taken.name, kind: taken.kind, layout, version, origin });
        let entry = self.entries.len() - 1;
        for name in names {
            self.known.insert(name, entry);
        }
        for variable in node.variables() {
            self.known.insert(variable.name.clone(), entry);
        }
        Ok(())
    }

    /// Lets the results that are written arguments be those.
    fn alias_results(&mut self, node: &Node, schema: &FunctionSchema, sources: &[Option<&Argument>]) {
        for (given, outcome) in schema.returns.iter().zip(&node.results) {
            let alias = given.alias.as_ref().filter(|_| given.is_write());
            let place = alias.and_then(|alias| {
                schema.arguments.iter().position(|argument| argument.alias.as_ref() == Some(alias))
            });
            let Some(source) = place.and_then(|place| sources[place]) else { continue };
            for (variable, name) in outcome.variables().iter().zip(source.references()) {
                if let Some(entry) = self.known.get(name) {
                    self.known.insert(variable.name.clone(), *entry);
                }
            }
        }
    }

    /// What is computed for an output is computed in its dtype, where the pure call can be told.
    fn in_dtype_of_outputs(&mut self, pure: &mut Node, schema: &FunctionSchema, entries: &[Vec<usize>]) {
        let Some(wanted) =
            entries.iter().flatten().next().and_then(|entry| self.entries[*entry].layout.clone())
        else {
            return;
        };
        let Some(place) = schema.argument_index("dtype") else { return };
        let is_free = match (pure.positional.get(place), pure.named.iter().find(|(name, _)| name == "dtype"))
        {
            (Some(given), _) | (None, Some((_, given))) => *given == Argument::None,
            (None, None) => true,
        };
        let crate::meta::Answer::Results(results) = self.pure.call(pure) else { return };
        let Some(Value::Tensor(first)) = results.first() else { return };
        let found = Tensor::from_any_ref(first).map(Tensor::dtype);
        if !is_free || found == Some(wanted.dtype) {
            return;
        }
        pure.named.retain(|(name, _)| name != "dtype");
        match pure.positional.get_mut(place) {
            Some(given) => *given = Argument::DType(wanted.dtype),
            None => pure.named.push(("dtype".to_owned(), Argument::DType(wanted.dtype))),
        }
    }

    /// Says of the results of a call what they are, where they are not what they are named after.
    fn declare_results(&mut self, node: &mut Node) {
        let crate::meta::Answer::Results(results) = self.pure.call(node) else { return };
        let mut found: Vec<Option<ValueType>> = Vec::new();
        for (outcome, result) in node.results.iter().zip(results) {
            match (outcome, result) {
                (Outcome::One(variable), Value::Tensor(tensor)) => {
                    found.push(self.kind(&tensor, &variable.kind))
                }
                (Outcome::List(variables), Value::List(list)) => {
                    for (variable, value) in variables.iter().zip(list.values()) {
                        found.push(match value {
                            Value::Tensor(tensor) => self.kind(&tensor, &variable.kind),
                            _ => None,
                        });
                    }
                }
                (outcome, _) => found.extend(outcome.variables().iter().map(|_| None)),
            }
        }
        let variables = node.results.iter_mut().flat_map(Outcome::variables_mut);
        for (variable, kind) in variables.zip(found) {
            if let Some(kind) = kind {
                variable.kind = kind;
            }
        }
    }

    /// The type of a tensor that is declared to be another; nothing where it is the same one. Sizes that vary keep their symbols.
    fn kind(&self, found: &opgrid_core::AnyTensor, declared: &ValueType) -> Option<ValueType> {
        let found = Tensor::from_any_ref(found)?;
        let ValueType::Tensor(declared) = declared else { return Some(ValueType::from_tensor(found)) };
        let known: Option<Vec<i64>> = declared.sizes.iter().map(|size| self.original.size(size)).collect();
        if known.as_deref() == Some(found.sizes()) {
            let sizes = declared.sizes.clone();
            return (declared.dtype != found.dtype())
                .then(|| ValueType::Tensor(TensorType { dtype: found.dtype(), sizes }));
        }
        Some(ValueType::from_tensor(found))
    }

    /// The entries of the tensors that an argument names.
    fn entries_of(&self, argument: &Argument) -> Result<Vec<usize>> {
        let one = |name: &str| {
            self.known.get(name).copied().ok_or_else(|| {
                error::value(format!("it writes `%{name}`, which is no tensor that is defined before"))
            })
        };
        argument.references().into_iter().map(one).collect()
    }
}

/// The integers among the arguments of a node.
fn numbers(node: &Node) -> BTreeSet<i64> {
    let (mut numbers, mut left) = (BTreeSet::new(), node.arguments().collect::<Vec<_>>());
    while let Some(argument) = left.pop() {
        match argument {
            Argument::Number(Scalar::Int(value)) => {
                numbers.insert(*value);
            }
            Argument::List(items) => left.extend(items),
            _ => {}
        }
    }
    numbers
}

/// A default as an argument of a node.
fn constant(value: &Value) -> Result<Argument> {
    Ok(match value {
        Value::None => Argument::None,
        Value::Int(value) => (*value).into(),
        Value::Float(value) => Argument::Number(Scalar::Float(*value)),
        Value::Bool(value) => Argument::Number(Scalar::Bool(*value)),
        Value::Str(text) => Argument::Str(text.to_string()),
        Value::DType(dtype) => Argument::DType(*dtype),
        Value::MemoryFormat(format) => Argument::MemoryFormat(*format),
        Value::List(list) => Argument::List(list.values().iter().map(constant).collect::<Result<_>>()?),
        other => {
            return Err(error::unsupported(format!("found the default {other}, expected a plain value")));
        }
    })
}

/// The places of all tensors among the arguments, with their names.
fn places<'n>(node: &'n Node, schema: &FunctionSchema) -> Vec<(Place, &'n str)> {
    let mut all = Vec::new();
    let positional = node.positional.iter().enumerate().map(|(index, argument)| (None, index, argument));
    let named = node.named.iter().map(|(name, argument)| {
        (Some(name.clone()), schema.argument_index(name).unwrap_or(usize::MAX), argument)
    });
    for (name, index, argument) in positional.chain(named) {
        match argument {
            Argument::Value(value) => all.push((Place { name, index, item: None }, value.as_str())),
            Argument::List(items) => {
                for (item, argument) in items.iter().enumerate() {
                    if let Argument::Value(value) = argument {
                        all.push((Place { name: name.clone(), index, item: Some(item) }, value.as_str()));
                    }
                }
            }
            _ => {}
        }
    }
    all
}

/// Batch normalization that keeps statistics writes them, which its schema does not say; the call that says so instead.
///
/// # Errors
///
/// An instance normalization that keeps statistics.
fn statistics(node: &Node, operator: &OperatorHandle) -> Result<Option<Node>> {
    let is_kept = ["aten::batch_norm", "aten::native_batch_norm", "aten::instance_norm"]
        .contains(&node.target.as_str());
    if !is_kept {
        return Ok(None);
    }
    let schema = operator.schema()?;
    let given = |index: usize| {
        let name = &schema.arguments[index].name;
        let named = node.named.iter().find(|(other, _)| other == name).map(|(_, argument)| argument);
        node.positional.get(index).or(named).cloned().unwrap_or(Argument::None)
    };
    // input, weight, bias, running_mean, running_var, training, momentum, eps
    let trains = given(5) != Argument::Number(Scalar::Bool(false));
    if !trains || (given(3), given(4)) == (Argument::None, Argument::None) {
        return Ok(None);
    }
    if node.target == "aten::instance_norm" {
        let message = "it writes the running statistics, expected none; decompose the program first";
        return Err(error::unsupported(message));
    }
    let mut results = node.results.clone();
    results.resize(3, Outcome::Unused);
    Ok(Some(Node {
        target: "aten::_native_batch_norm_legit".to_owned(),
        positional: (0..8).map(given).collect(),
        named: Vec::new(),
        results,
        source: node.source.clone(),
    }))
}

#[cold]
fn shared(name: &str) -> opgrid_core::Error {
    error::unsupported(format!(
        "the memory of `%{name}`, which a block gives, is written; expected a block whose results have memory of their own: clone the \
         result in the block"
    ))
}
